"""Messages of a conversation as an agent's host knows them, and as the store keeps them. Pure.

Source: ConversationMessage of AgentOS. What the store has no role for becomes words of the user with a label: a summary, a
note of the system. Messages of the roles `error` and `thought` are the host's own and become nothing.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from activities.conversation import AssistantMessage, Message, ToolCall, ToolCallResult, ToolMessage, UserMessage
from activities.json_values import clean_json, encoded_size
from activities.pairing import pairing_fault
from activities.wire import Wire

MAX_MESSAGES = 500
MAX_MESSAGES_BYTES = 256_000
SHOWN_MESSAGE_BYTES = 64_000
PREVIEW_CHARS = 4_000

_LABELS = {"system": "(A note of the system)", "summary": "(A summary of the conversation so far)"}
_LEGAL_NAME = re.compile(r"[^A-Za-z0-9_-]")


class HistoryCall(Wire):
    """A call in an assistant's message."""

    id: str = Field(min_length=1, max_length=200)
    name: str = Field(min_length=1, max_length=200)
    arguments: dict[str, Any] = Field(default_factory=dict)


class ConversationMessage(Wire):
    """One message. `tool_calls` and `tool_call_id` are spelled as in the source. Times are milliseconds since 1970.

    `metadata.json` says that a tool's `content` is JSON, `metadata.cut` that only the beginning is here.
    """

    id: str | None = None
    role: Literal["system", "user", "assistant", "tool", "summary", "error", "thought"]
    content: str | tuple[dict[str, Any], ...] | None = None
    timestamp: int | float | None = None
    name: str | None = None
    tool_calls: tuple[HistoryCall, ...] | None = Field(default=None, alias="tool_calls")
    tool_call_id: str | None = Field(default=None, alias="tool_call_id")
    metadata: dict[str, Any] | None = None

    @model_serializer(mode="wrap")
    def _leave_out_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        kept = {name: value for name, value in handler(self).items() if value is not None}
        return {"content": None, **kept}


def read_messages(given: Any) -> list[Message]:
    """The messages of a history that a host sends.

    Raises:
        ValueError: a message is malformed, a call has no result, or a result no call; the text names the message.
    """
    if not isinstance(given, list | tuple):
        raise ValueError("messages: is not a list")
    if len(given) > MAX_MESSAGES:
        raise ValueError(f"messages: {len(given)} are more than {MAX_MESSAGES}; send the rest with `append`")
    if (size := encoded_size(given)) > MAX_MESSAGES_BYTES:
        raise ValueError(f"messages: {size:,} bytes are more than {MAX_MESSAGES_BYTES:,}; send the rest with `append`")
    read: list[Message] = []
    calls: dict[str, str] = {}
    for index, raw in enumerate(given):
        try:
            message = ConversationMessage.model_validate(clean_json(raw))
        except ValidationError as invalid:
            first = invalid.errors(include_url=False, include_input=False, include_context=False)[0]
            where = "".join(f".{part}" for part in first["loc"])
            raise ValueError(f"messages[{index}]{where[:100]}: {first['msg']}") from None
        for call in message.tool_calls or ():
            calls[call.id] = call.name
        read.extend(_stored(message, index, calls))
    if fault := pairing_fault(read):
        raise ValueError(f"messages: {fault}")
    return read


def split_turns(messages: Sequence[Message]) -> list[list[Message]]:
    """The messages as turns; what the user says begins one, and so does the first message."""
    turns: list[list[Message]] = []
    for message in messages:
        if isinstance(message, UserMessage) or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def shown(message: Message, place: str, timestamp: int) -> ConversationMessage:
    """A stored message for the host. `place` becomes its id; one too long for a page is cut, and says so."""
    told = _shown(message, place, timestamp)
    if encoded_size(told) <= SHOWN_MESSAGE_BYTES:
        return told
    text = told.content if isinstance(told.content, str) else json.dumps(told.content, ensure_ascii=False)
    calls = tuple(call.model_copy(update={"arguments": {}}) for call in told.tool_calls or ()) or None
    metadata = {**{key: value for key, value in (told.metadata or {}).items() if key != "json"}, "cut": True}
    return told.model_copy(update={"content": text[:PREVIEW_CHARS], "tool_calls": calls, "metadata": metadata})


def _stored(message: ConversationMessage, index: int, calls: dict[str, str]) -> list[Message]:
    text = _text(message.content)
    if message.tool_calls and message.role != "assistant":
        raise ValueError(f"messages[{index}].tool_calls: only an assistant's message has calls")
    match message.role:
        case "user":
            return [UserMessage(content=text)]
        case "system" | "summary":
            return [UserMessage(content=f"{_LABELS[message.role]}\n{text}")] if text else []
        case "assistant":
            made = tuple(
                ToolCall(id=call.id, name=_legal(call.name), arguments=call.arguments)
                for call in message.tool_calls or ()
            )
            return [AssistantMessage(content=text or None, tool_calls=made)] if text or made else []
        case "tool":
            return [ToolMessage(result=_result(message, text, index, calls))]
        case _:
            return []


def _result(message: ConversationMessage, text: str, index: int, calls: dict[str, str]) -> ToolCallResult:
    if not message.tool_call_id:
        raise ValueError(f"messages[{index}].tool_call_id: a result names its call")
    about = message.metadata or {}
    name = calls.get(message.tool_call_id) or message.name or "unknown"
    output: Any = text
    if about.get("json") is True:
        try:
            output = json.loads(text)
        except (ValueError, RecursionError):
            output = text
    return ToolCallResult(
        tool_call_id=message.tool_call_id,
        tool_name=_legal(name),
        output=clean_json(output),
        is_error=about.get("isError") is True,
        error_details=about.get("errorDetails"),
    )


def _shown(message: Message, place: str, timestamp: int) -> ConversationMessage:
    if isinstance(message, UserMessage):
        content: Any = message.content
        if not isinstance(content, str):
            content = tuple(part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in content)
        return ConversationMessage(id=place, role="user", content=content, timestamp=timestamp)
    if isinstance(message, AssistantMessage):
        calls = tuple(HistoryCall(id=call.id, name=call.name, arguments=call.arguments) for call in message.tool_calls)
        return ConversationMessage(
            id=place, role="assistant", content=message.content, tool_calls=calls or None, timestamp=timestamp
        )
    result = message.result
    is_text = isinstance(result.output, str)
    about = {"json": not is_text or None, "isError": result.is_error or None, "errorDetails": result.error_details}
    return ConversationMessage(
        id=place,
        role="tool",
        name=result.tool_name,
        tool_call_id=result.tool_call_id,
        content=result.output if is_text else json.dumps(result.output, ensure_ascii=False),
        timestamp=timestamp,
        metadata={key: value for key, value in about.items() if value is not None} or None,
    )


def _text(content: str | tuple[dict[str, Any], ...] | None) -> str:
    """The words; of parts those that have any. Pictures and sounds of a history are not kept."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))


def _legal(name: str) -> str:
    return _LEGAL_NAME.sub("_", name)[:64]
