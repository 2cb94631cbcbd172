"""Histories of a Nestia agent as turns of a conversation.

Source: `INestiaAgentProps.histories`. `text` and `describe` become what was said, `execute` a call and its result; `select`
and `cancel` are bookkeeping, of which follows what still waits to be called. Headers of HTTP results are left out: they can
hold cookies.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from activities.call_ids import mint_call_id
from activities.conversation import AssistantMessage, Message, ToolCall, ToolCallResult, ToolMessage, UserMessage
from activities.errors import TOOL_ERROR
from activities.json_values import clean_json
from activities.selection import Selection, StackEntry
from activities.wire import Wire

MAX_RESTORED = 200
# What the seed writes for a function that ran: the entry only repeats its `execute`.
_COMPLETED = ("complete", "completed")


class _Text(Wire):
    type: Literal["text"]
    role: Literal["user", "assistant"]
    text: str


class _Describe(Wire):
    # Its `executions` are copies of entries that stand on their own.
    type: Literal["describe"]
    text: str


class _Operation(Wire):
    name: str = Field(min_length=1)
    controller: str | None = None
    function: str | None = None
    protocol: str | None = None
    reason: str = ""


class _Bookkeeping(Wire):
    type: Literal["select", "cancel"]
    operations: tuple[_Operation, ...] = ()


class _HttpValue(Wire):
    status: int
    body: Any = None


class _Execution(Wire):
    type: Literal["execute"]
    id: str | None = None
    name: str = Field(min_length=1)
    controller: str | None = None
    function: str | None = None
    arguments: dict[str, Any]


class _HttpExecute(_Execution):
    protocol: Literal["http"]
    value: _HttpValue


class _ClassExecute(_Execution):
    # Later agents of this kind know functions of MCP servers too; their values are as free.
    protocol: Literal["class", "mcp"]
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


def import_selection(histories: Sequence[dict[str, Any]], seed: str) -> Selection | None:
    """What the histories say was selected and did not run since; None where nothing was ever selected or run.

    A function that ran waits once less, whether or not a `cancel` with the reason `complete` follows: edited histories may
    lack it.

    Raises:
        ValueError: as `import_histories`.
    """
    waiting: list[_Operation] = []
    ready = False
    for entry in _parse(histories):
        ready = ready or not isinstance(entry, _Text | _Describe)
        match entry:
            case _Bookkeeping(type="select"):
                waiting += entry.operations
            case _Bookkeeping():
                for each in entry.operations:
                    _drop(waiting, each if each.reason not in _COMPLETED else None)
            case _HttpExecute() | _ClassExecute():
                _drop(waiting, entry)
    if not ready:
        return None
    stack = [
        StackEntry(id=mint_call_id(f"{seed}/restored", 0, place), **each.model_dump())
        for place, each in enumerate(waiting[-MAX_RESTORED:])
    ]
    return Selection(ready=True, stack=tuple(stack))


def _drop(waiting: list[_Operation], done: _Operation | _Execution | None) -> None:
    """Take away the oldest entry of the same function."""
    held = next((each for each in waiting if done is not None and _identity(each) == _identity(done)), None)
    if held is not None:
        waiting.remove(held)


def _identity(each: _Operation | _Execution) -> tuple[str, ...]:
    if each.controller is None or each.function is None:
        return (each.name,)
    return each.controller, each.function


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
