"""The numbered chunks of a turn's output: what they say, and how readers put them together. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from activities.contracts import CommitTurn, ToolFacts
from activities.conversation import AssistantMessage, ErrorDetails, ModelUsage, ToolCall, ToolCallResult
from activities.json_values import encoded_size
from activities.output_parts import UICommand
from activities.sources import RagRetrievedChunk, excerpts
from activities.ui_commands import command_of
from activities.wire import Wire

ChunkType = Literal[
    "text_delta",
    "tool_call_request",
    "usage_update",
    "step_finished",
    "tool_result",
    "ui_command",
    "rag_sources_available",
    "error",
    "final_response_marker",
]
TEXT_CHARS = 4_000
VALUE_BYTES = 16_000
PREVIEW_CHARS = 1_000


class ChunkBody(Wire):
    """What a chunk says. `replaces` in the metadata of a text withdraws every `text_delta` of these numbers, both included."""

    content: Any = None
    finish_reason: str | None = None
    usage: ModelUsage | None = None
    error_details: ErrorDetails | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class GMIOutputChunk(ChunkBody):
    """One chunk of a turn's output. Source: GMIOutputChunk of AgentOS, plus its number in the turn, from 1 without a gap.

    Exactly one chunk of a turn `is_final`: its last.
    """

    sequence: int
    type: ChunkType
    chunk_id: str
    interaction_id: str
    timestamp: datetime
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A chunk that has no number yet. `row` is that of the message it belongs to, None when it belongs to the turn."""

    type: ChunkType
    body: ChunkBody
    row: int | None = None


@dataclass(slots=True)
class TextView:
    """The text of a turn as its chunks have told it so far: `add` each in order, then read `text`.

    A withdrawn part is gone. Texts of one reply follow each other, those of the next begin on a line of their own, as in
    `GMIOutput.response_text`.
    """

    _parts: dict[int, tuple[Any, str]] = field(default_factory=dict)

    def add(self, chunk: GMIOutputChunk) -> None:
        """Take the next chunk."""
        replaced = chunk.metadata.get("replaces")
        if isinstance(replaced, list | tuple) and [type(number) for number in replaced] == [int, int]:
            first, last = replaced
            self._parts = {number: part for number, part in self._parts.items() if not first <= number <= last}
        if chunk.type == "text_delta" and isinstance(chunk.content, str) and chunk.content:
            self._parts[chunk.sequence] = (chunk.metadata.get("row"), chunk.content)

    @property
    def text(self) -> str:
        """What a reader has in front of them."""
        replies: list[list[Any]] = []
        for row, content in self._parts.values():
            if replies and replies[-1][0] == row:
                replies[-1][1] += content
            else:
                replies.append([row, content])
        return "\n".join(content for _, content in replies if content.strip())


def text_of_chunks(chunks: Iterable[GMIOutputChunk]) -> str:
    """The text that chunks in order leave standing."""
    view = TextView()
    for chunk in chunks:
        view.add(chunk)
    return view.text


def text_drafts(text: str, row: int, **about: Any) -> list[Draft]:
    """Text in pieces of a bounded length."""
    metadata = {"row": row, **about}
    pieces = (text[start : start + TEXT_CHARS] for start in range(0, len(text), TEXT_CHARS))
    return [Draft("text_delta", ChunkBody(content=piece, metadata=metadata), row) for piece in pieces]


def reply_drafts(message: AssistantMessage, row: int, step: int | None, requests: Sequence[Draft]) -> list[Draft]:
    """What follows the text of a reply: the calls it asks for, what it used, and that it is over."""
    meta = message.meta or {}
    usage = ModelUsage.model_validate(meta["usage"]) if meta.get("usage") else None
    finish = meta.get("finishReason")
    told = {"stepIndex": step, "text": bounded(message.told_text), "finishReason": finish, "modelId": meta.get("model")}
    phase = (meta.get("choice") or {}).get("phase") or meta.get("phase")
    finished = {**told, "providerId": meta.get("provider"), **({"phase": phase} if phase else {})}
    drafts = list(requests)
    if usage is not None:
        content = usage.model_dump(by_alias=True, exclude_none=True)
        drafts.append(Draft("usage_update", ChunkBody(content=content, usage=usage, metadata={"row": row}), row))
    body = ChunkBody(content=finished, finish_reason=finish, usage=usage, metadata={"row": row})
    return [*drafts, Draft("step_finished", body, row)]


def request_drafts(calls: Sequence[tuple[ToolCall, ToolFacts | None]], row: int, rationale: str | None) -> list[Draft]:
    """The calls of a reply: those the worker deals with itself, then those it needs the host or a person for, then commands."""
    external = [call for call, facts in calls if facts is not None and _waits(facts)]
    internal = [call for call, facts in calls if facts is None or not _waits(facts)]
    drafts = []
    for mode, some in (("internal", internal), ("external", external)):
        if some:
            metadata = {"row": row, "executionMode": mode, "requiresExternalToolResult": mode == "external"}
            if mode == "external" and rationale:
                metadata["rationale"] = bounded(rationale)
            content = [bounded_call(call) for call in some]
            drafts.append(Draft("tool_call_request", ChunkBody(content=content, metadata=metadata), row))
    commands = [
        command_of(call.id, call.arguments) for call, facts in calls if facts is not None and facts.kind == "ui"
    ]
    return [*drafts, *command_drafts(commands, row)]


def pause_draft(pause_id: str, calls: Sequence[ToolCall]) -> Draft:
    """Calls that wait for the host and that no reply of the turn's model has: its own for more budget, those of sub-agents."""
    metadata = {"executionMode": "external", "requiresExternalToolResult": True, "pauseId": pause_id}
    return Draft("tool_call_request", ChunkBody(content=[bounded_call(call) for call in calls], metadata=metadata))


def command_drafts(commands: Sequence[UICommand], row: int) -> list[Draft]:
    """What the host's user interface is to do; nothing when there are no commands."""
    content = [command.model_dump(mode="json", by_alias=True) for command in commands]
    return [Draft("ui_command", ChunkBody(content=content, metadata={"row": row}), row)] if content else []


def result_draft(result: ToolCallResult, row: int) -> Draft:
    """The result of a call, at its row."""
    content = {
        "toolCallId": result.tool_call_id,
        "name": result.tool_name,
        "result": bounded(result.output),
        "isError": result.is_error,
    }
    if result.error_details is not None:
        details = result.error_details
        shown = details.model_dump(by_alias=True) if isinstance(details, ErrorDetails) else details
        content["errorDetails"] = bounded(shown)
    return Draft("tool_result", ChunkBody(content=content, metadata={"row": row}), row)


def sources_draft(sources: Sequence[RagRetrievedChunk]) -> Draft:
    """What a turn retrieved, each passage cut where all together are too long."""
    shown = [source.model_dump(mode="json", by_alias=True) for source in excerpts(sources, VALUE_BYTES)]
    return Draft("rag_sources_available", ChunkBody(content={"ragSources": shown}))


def closing_drafts(close: CommitTurn) -> list[Draft]:
    """The end of a turn: its error if there is one, then the terminal chunk."""
    used, error = close.usage, close.output.error
    usage = ModelUsage(
        prompt_tokens=used.prompt_tokens,
        completion_tokens=used.completion_tokens,
        total_tokens=used.total_tokens,
        cost_usd=used.total_cost_usd,
    )
    return ended_drafts(close.state, error, usage)


def ended_drafts(state: str, error: ErrorDetails | None, usage: ModelUsage | None = None) -> list[Draft]:
    """The last chunks of a turn that ended in this state."""
    drafts = []
    if error is not None:
        bounded_error = ErrorDetails(
            code=error.code, message=error.message[:TEXT_CHARS], details=bounded(error.details)
        )
        body = ChunkBody(content=bounded_error.message, error_details=bounded_error)
        drafts.append(Draft("error", body))
    drafts.append(Draft("final_response_marker", ChunkBody(usage=usage, metadata={"state": state})))
    return drafts


def bounded(value: Any) -> Any:
    """The value, or its beginning: the whole stands in the turn's rows."""
    if encoded_size(value) <= VALUE_BYTES:
        return value
    return {"preview": str(value)[:PREVIEW_CHARS], "cut": True}


def bounded_call(call: ToolCall) -> dict[str, Any]:
    """A call as ToolCallRequest of AgentOS, long arguments as a preview."""
    return {"id": call.id, "name": call.name, "arguments": bounded(call.arguments)}


def interaction_of(turn_key: str) -> str:
    """What its caller calls the turn that the store has under this key."""
    _, slash, turn_id = turn_key.partition("/")
    return turn_id if slash else turn_key.replace("%2F", "/").replace("%25", "%")


def _waits(facts: ToolFacts) -> bool:
    return facts.kind == "external" or facts.external or facts.needs_approval or facts.human_schema is not None
