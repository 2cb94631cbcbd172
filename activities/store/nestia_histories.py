"""Histories of a Nestia agent as turns of a conversation.

Source: `INestiaAgentProps.histories`. `text` and `describe` become what was said, `execute` a call and its result; `select`
and `cancel` are that agent's own bookkeeping and become nothing. Headers of HTTP results are left out: they can hold cookies.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from activities.conversation import AssistantMessage, Message, ToolCall, ToolCallResult, ToolMessage, UserMessage
from activities.errors import TOOL_ERROR
from activities.json_values import clean_json
from activities.wire import Wire


class _Text(Wire):
    type: Literal["text"]
    role: Literal["user", "assistant"]
    text: str


class _Describe(Wire):
    # Its `executions` are copies of entries that stand on their own.
    type: Literal["describe"]
    text: str


class _Bookkeeping(Wire):
    type: Literal["select", "cancel"]


class _HttpValue(Wire):
    status: int
    body: Any = None


class _Execution(Wire):
    type: Literal["execute"]
    id: str | None = None
    name: str = Field(min_length=1)
    arguments: dict[str, Any]


class _HttpExecute(_Execution):
    protocol: Literal["http"]
    value: _HttpValue


class _ClassExecute(_Execution):
    protocol: Literal["class"]
    # A function that returned nothing left no key in its JSON.
    value: Any = None


_Execute = Annotated[_HttpExecute | _ClassExecute, Field(discriminator="protocol")]
_Entry = Annotated[_Text | _Describe | _Bookkeeping | _Execute, Field(discriminator="type")]
_entries: TypeAdapter[list[_Entry]] = TypeAdapter(list[_Entry])


def import_histories(histories: Sequence[dict[str, Any]], seed: str) -> list[list[Message]]:
    """The turns of the histories, oldest first; what the user says starts a turn, and so does the first entry.

    Ids of calls are hashes of `seed` and the entry's place: the same histories give the same ids, and each call has its
    result even where the original repeats or omits ids.

    Raises:
        ValueError: an entry is malformed; the message names its index and field.
    """
    imported: list[list[Message]] = []
    for index, entry in enumerate(_parse(histories)):
        said = _messages(entry, _call_id(seed, index))
        if said and (not imported or isinstance(said[0], UserMessage)):
            imported.append([])
        if said:
            imported[-1].extend(said)
    return imported


def _parse(histories: Sequence[dict[str, Any]]) -> Iterable[_Entry]:
    try:
        return _entries.validate_python(clean_json(list(histories)))
    except ValidationError as error:
        # The first fault is enough to act on; its input is left out, it may be anything.
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        index, *within = fault["loc"]
        # A location goes through the values of the discriminators, which are no fields: the type, and then the protocol.
        fields = within[2:] if within[:1] == ["execute"] else within[1:]
        named = "".join(f".{field}" for field in fields)
        raise ValueError(f"histories[{index}]{named}: {fault['msg']}") from None


def _messages(entry: _Entry, call_id: str) -> list[Message]:
    match entry:
        case _Text(role="user"):
            return [UserMessage(content=entry.text)]
        case _Text() | _Describe():
            # Providers refuse an assistant message that says nothing.
            return [AssistantMessage(content=entry.text)] if entry.text else []
        case _HttpExecute() | _ClassExecute():
            call = ToolCall(
                id=call_id, name=_legal_name(entry.name), arguments=entry.arguments, provider_id=entry.id or None
            )
            return [AssistantMessage(tool_calls=(call,)), ToolMessage(result=_result(entry, call))]
        case _:
            return []


def _result(entry: _HttpExecute | _ClassExecute, call: ToolCall) -> ToolCallResult:
    if isinstance(entry, _ClassExecute):
        return ToolCallResult(tool_call_id=call.id, tool_name=call.name, output=entry.value)
    failed = not 200 <= entry.value.status < 300
    return ToolCallResult(
        tool_call_id=call.id,
        tool_name=call.name,
        output={"status": entry.value.status, "body": entry.value.body},
        is_error=failed,
        error_details={"code": TOOL_ERROR, "message": f"HTTP status {entry.value.status}"} if failed else None,
    )


def _legal_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]


def _call_id(seed: str, index: int) -> str:
    number = int.from_bytes(hashlib.sha256(f"{seed}\0{index}".encode("utf-8", "replace")).digest()[:8])
    digits = ""
    for _ in range(9):
        number, digit = divmod(number, 36)
        digits += "0123456789abcdefghijklmnopqrstuvwxyz"[digit]
    return digits
