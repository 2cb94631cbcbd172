"""An API of orders on a real socket, its document, and looks at what a model was told of it."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from sqlalchemy import create_engine, inspect, text

from tests.activities.recording import Recorded, RecordingServer, answer
from tests.support import Harness
from worker.app import AgentApp, HttpController, Rule
from worker.client import Turn

ADDRESS_VARIABLE = "SHOP_URL"
ORDER = {
    "type": "object",
    "properties": {"article": {"type": "string", "minLength": 1}, "count": {"type": "integer", "minimum": 1}},
    "required": ["article"],
    "additionalProperties": False,
}
PAYMENT = {
    "type": "object",
    "properties": {
        "amount": {"type": "number"},
        "card": {
            "type": "object",
            "properties": {
                "number": {"type": "string", "format": "password", "minLength": 4},
                "holder": {"type": "string"},
            },
            "required": ["number", "holder"],
        },
    },
    "required": ["amount", "card"],
}
PHOTO = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}, "note": {"type": "string"}},
    "required": ["file"],
}
ORDER_ID = {"name": "orderId", "in": "path", "required": True, "schema": {"type": "string"}}

Answer = bytes | Callable[[Recorded], bytes | Awaitable[bytes]]


def operation(name: str, body: dict[str, Any] | None = None, media: str = "application/json") -> dict[str, Any]:
    """An operation of a document."""
    made: dict[str, Any] = {"operationId": name, "summary": f"{name}.", "responses": {"200": {"description": "ok"}}}
    if body is not None:
        made["requestBody"] = {"required": True, "content": {media: {"schema": body}}}
    return made


def document(paths: dict[str, Any] | None = None) -> dict[str, Any]:
    """The document of the orders' API, or of one with these paths."""
    own = {
        "/orders": {"post": operation("createOrder", ORDER)},
        "/orders/{orderId}": {
            "parameters": [ORDER_ID],
            "get": operation("readOrder"),
            "delete": operation("deleteOrder"),
        },
        "/orders/{orderId}/payment": {"parameters": [ORDER_ID], "post": operation("payOrder", PAYMENT)},
        "/orders/{orderId}/photo": {
            "parameters": [ORDER_ID],
            "post": operation("addPhoto", PHOTO, "multipart/form-data"),
        },
    }
    return {"openapi": "3.1.0", "info": {"title": "Shop", "version": "1"}, "paths": paths or own}


def is_password(schema: dict[str, Any]) -> bool:
    """What a person types in."""
    return schema.get("format") == "password"


def said(status: str, body: Any, *headers: str) -> bytes:
    """An answer in JSON."""
    return answer(status, json.dumps(body).encode(), "application/json", *headers)


class Shop(RecordingServer):
    """The server. Answers by operation (`POST /orders`), one after the other, the last one again and again."""

    def __init__(self, answers: dict[str, list[Answer]] | None = None) -> None:
        super().__init__(respond=self._next)
        self.answers = answers or {}

    def controller(self, **settings: Any) -> HttpController:
        """The controller of this server."""
        settings = {"allow_private_addresses": True, "names": "operationId", "document": document(), **settings}
        return HttpController(name="shop", connection={"host": self.url}, **settings)

    def calls(self, method: str) -> list[Recorded]:
        """The requests of a method."""
        return [each for each in self.requests if each.method == method]

    def _next(self, request: Recorded) -> bytes | Awaitable[bytes]:
        answers = self.answers.get(f"{request.method} {request.target}")
        if not answers:
            return said("200 OK", {"did": f"{request.method} {request.target}"})
        given = answers.pop(0) if len(answers) > 1 else answers[0]
        return given if isinstance(given, bytes) else given(request)


async def serve(harness: Harness, answers: dict[str, list[Answer]] | None = None, **settings: Any) -> Shop:
    """The server, and a worker whose app has its functions."""
    app = {name: settings.pop(name) for name in ("predicates", "executors", "tools") if name in settings}
    shop = await harness.stack.enter_async_context(Shop(answers))
    await harness.work(AgentApp(controllers=[shop.controller(**settings)], **app))
    return shop


async def ask(harness: Harness, *calls: tuple[str, Any], **fields: Any) -> Turn:
    """A turn whose model makes these calls, one a reply, and then says that it is done."""
    for call in calls:
        harness.model.call([call])
    harness.model.say("Done.")
    return await harness.turns.start(fields.pop("content", "Go"), **fields)


def results(harness: Harness) -> list[str]:
    """The results that the newest request shows to the model, in order."""
    return [each["content"] for each in harness.model.requests[-1]["messages"] if each["role"] == "tool"]


def offered(request: dict[str, Any]) -> list[str]:
    """The tools of a request, but for those of memory."""
    memory = {"search_memory", "remember", "forget", "resolve_tension", "record_outcome"}
    names = [each["function"]["name"] for each in request.get("tools", [])]
    return [name for name in names if name not in memory]


def let_run(*names: str) -> list[Rule]:
    """Rules by which these functions run without approval."""
    return [Rule("run", name=name) for name in names]


def everything_stored(harness: Harness) -> str:
    """All rows of all tables, as one text."""
    engine = create_engine(f"sqlite:///{harness.folder}/turnhold.db")
    with engine.connect() as connection:
        names = inspect(engine).get_table_names()
        rows = [[tuple(row) for row in connection.execute(text(f'SELECT * FROM "{name}"'))] for name in names]
    engine.dispose()
    return repr(rows)


def assert_told_to_nobody(harness: Harness, secret: str) -> None:
    """Neither the model nor the store ever had it."""
    assert secret not in json.dumps(harness.model.requests)
    assert secret not in everything_stored(harness)
