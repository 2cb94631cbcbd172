"""Answers as JSON."""

import json

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError
from starlette.responses import Response

from activities.memory_service import Reply
from memory_engine import plain
from worker.memory_service.errors import ApiError

JSON = "application/json"


def encoded(value: BaseModel) -> str:
    """The wire form, without nulls."""
    try:
        return value.model_dump_json(by_alias=True, exclude_none=True)
    except PydanticSerializationError:
        # Half a surrogate pair, which a JavaScript peer may have stored, can be written escaped only.
        return json.dumps(plain(value), separators=(",", ":"), allow_nan=False)


def answer(text: str, status: int = 200) -> Response:
    """A success, with a JSON text."""
    return Response(text, status, media_type=JSON)


def stored_answer(reply: Reply) -> Response:
    """What a change was answered, now or when it was first made."""
    return answer(reply.body, reply.status)


def refusal(error: ApiError) -> Response:
    """The error envelope."""
    return Response(encoded(error.body), error.status, error.headers, media_type=JSON)
