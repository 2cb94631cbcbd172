"""What a turn tells about itself: its messages, its output chunks, its reasoning trace. Pure and bounded.

Texts are the excerpts that crossed the history; whole ones stand in the store. A page is the newest entries that fit, with a
cursor to older ones, since an answer of several megabytes would be refused by the server.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import Field

from activities.contracts import ModelReply, SourcesRetrieved
from activities.conversation import Content, ToolCallResult
from activities.guard_contracts import GuardNote, InputJudged
from activities.json_values import encoded_size
from activities.output_parts import UICommand
from activities.selection import ChoicePhase, ChoiceReply
from activities.streaming_chunks import ChunkType
from activities.wire import Wire
from workflows.contracts import PendingRequest

PAGE_BYTES = 256_000
KEPT_BYTES = 4_000_000
TRACE_MESSAGE_CHARS = 1_000
PREVIEWED_BYTES = 20_000


class Chunk(Wire):
    """One chunk of a turn's output. Source: GMIOutputChunk of AgentOS, plus its number in the turn."""

    sequence: int
    type: ChunkType
    content: Any = None
    interaction_id: str
    timestamp: datetime
    is_final: bool = False
    metadata: dict[str, Any] = Field(default_factory=dict)


class Page(Wire):
    """The newest `entries` before the cursor asked for. `cursor` is what to ask for next, None when nothing older is kept."""

    entries: tuple[Any, ...]
    total: int
    cursor: int | None = None


@dataclass(slots=True)
class Journal:
    """Entries in order, the oldest dropped once they take more than `KEPT_BYTES`."""

    _entries: deque[tuple[int, Any]] = field(default_factory=deque)
    _bytes: int = 0
    total: int = 0

    def add(self, entry: Any) -> None:
        """Append an entry. One larger than a page is cut, since no page could ever show it."""
        size = encoded_size(entry)
        if size > PAGE_BYTES:
            entry = _cut(entry)
            size = encoded_size(entry)
        self._entries.append((size, entry))
        self._bytes += size
        self.total += 1
        while self._bytes > KEPT_BYTES:
            self._bytes -= self._entries.popleft()[0]

    def replace_first(self, entry: Any) -> None:
        """Put another entry in the place of the first, while it is the only one."""
        self._entries.clear()
        self._bytes, self.total = 0, 0
        self.add(entry)

    def page(self, before: int | None = None, room: int = PAGE_BYTES) -> Page:
        """Entries up to (not including) number `before`, the newest that fit into `room` bytes."""
        first_kept = self.total - len(self._entries)
        end = self.total if before is None else max(first_kept, min(before, self.total))
        start = end
        while start > first_kept and room - self._entries[start - 1 - first_kept][0] >= 0:
            start -= 1
            room -= self._entries[start - first_kept][0]
        entries = tuple(self._entries[index - first_kept][1] for index in range(start, end))
        return Page(entries=entries, total=self.total, cursor=start if start > first_kept else None)


@dataclass(slots=True)
class Transcript:
    """Everything a turn tells, told step by step."""

    turn_id: str
    messages: Journal = field(default_factory=Journal)
    chunks: Journal = field(default_factory=Journal)
    trace: Journal = field(default_factory=Journal)

    def user_said(self, content: Content, now: datetime) -> None:
        """The turn's input."""
        text = content if isinstance(content, str) else [part.model_dump(by_alias=True) for part in content]
        self.messages.add(
            {"role": "user", "content": text[: TRACE_MESSAGE_CHARS * 8] if isinstance(text, str) else text}
        )
        self.note("INTERACTION_START", "The user's message", now)

    def user_judged(self, judged: InputJudged, now: datetime) -> None:
        """Guardrails judged the turn's input, before anything else was said."""
        if judged.text is not None:
            self.messages.replace_first({"role": "user", "content": judged.text})
        self._judged(judged.notes, now)

    def retrieved(self, found: SourcesRetrieved, now: datetime) -> None:
        """What the turn's answer may rest on, and which look-ups failed."""
        shown = [source.model_dump(mode="json", by_alias=True) for source in found.sources]
        self._chunk("rag_sources_available", {"ragSources": shown}, now)
        scores = {source.id: source.relevance_score for source in found.sources}
        self.note("RAG_QUERY_RESULT", f"{len(shown)} passages", now, {"passages": scores})
        for failure in found.failures:
            self.note("WARNING", failure, now)

    def model_replied(self, reply: ModelReply, step: int, now: datetime) -> None:
        """One reply of the model: its text, its calls, what it used."""
        text = reply.text.text if reply.text else None
        read = reply.structured
        if read is not None and not read.valid:
            issues = "; ".join(read.issues)
            self.note("WARNING", f"The answer does not fit its schema (attempt {read.attempt}): {issues}", now)
        is_discarded = read is not None and read.discarded
        text = None if is_discarded else text
        calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.calls]
        if reply.stored and not is_discarded:
            self.messages.add({"role": "assistant", "content": text, "toolCalls": calls})
        if text:
            self._chunk("text_delta", text, now, {"row": reply.row})
        if reply.usage is not None:
            self._chunk("usage_update", reply.usage.model_dump(by_alias=True), now)
        finished = {"stepIndex": step, "text": text, "finishReason": reply.finish_reason, "modelId": reply.model}
        self._chunk("step_finished", finished, now)
        details = {"model": reply.model, "finishReason": reply.finish_reason, "calls": [call["name"] for call in calls]}
        self.note("LLM_CALL_COMPLETE", f"The model replied ({reply.finish_reason})", now, details)
        if reply.hint:
            self.note("WARNING", reply.hint, now)
        self._judged(reply.guardrails or (), now)

    def chose(self, phase: ChoicePhase, reply: ChoiceReply, step: int, now: datetime) -> None:
        """One reply of the model about which functions it wants."""
        text = reply.text.text if reply.text else None
        names = [each.name for each in reply.chosen]
        if text:
            self.messages.add({"role": "assistant", "content": text, "toolCalls": []})
            self._chunk("text_delta", text, now, {"row": reply.row})
        if reply.usage is not None:
            self._chunk("usage_update", reply.usage.model_dump(by_alias=True), now)
        finished = {"stepIndex": step, "phase": phase, "text": text, "chosen": names, "modelId": reply.model}
        self._chunk("step_finished", finished, now)
        reasons = {each.name: each.reason for each in reply.chosen}
        details = {"model": reply.model, "phase": phase, "chosen": reasons, "faults": list(reply.faults)}
        self.note("LLM_CALL_COMPLETE", f"{phase}: {', '.join(names) or 'nothing'}", now, details)
        if reply.hint:
            self.note("WARNING", reply.hint, now)
        self._judged(reply.guardrails or (), now)

    def pause_opened(self, request: PendingRequest, now: datetime) -> None:
        """The turn waits for its host."""
        calls = [call.model_dump(mode="json", by_alias=True) for call in request.tool_calls]
        metadata = {"executionMode": "external", "requiresExternalToolResult": True, "rationale": request.rationale}
        self._chunk("tool_call_request", calls, now, metadata)
        self.note("TOOL_CALL_REQUESTED", f"Waiting for the host: {', '.join(call['name'] for call in calls)}", now)

    def got_result(self, result: ToolCallResult, now: datetime, *, by_host: bool) -> None:
        """A call has its result."""
        said = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.messages.add({"role": "tool", **said})
        self._chunk("tool_result", said, now, {"byHost": by_host})
        self.note("TOOL_EXECUTION_RESULT", f"{result.tool_name}: {'error' if result.is_error else 'done'}", now)

    def showed(self, commands: Sequence[UICommand], now: datetime) -> None:
        """The host's user interface is to do something."""
        self._chunk("ui_command", [command.model_dump(mode="json", by_alias=True) for command in commands], now)

    def ended(self, output: Any, now: datetime) -> None:
        """The last chunks: an error if there is one, then the one terminal chunk."""
        if output.error is not None:
            self._chunk("error", output.error.message, now, {"code": output.error.code})
            self.note("ERROR", output.error.message, now, {"code": output.error.code})
        self._chunk("final_response_marker", None, now, final=True)
        self.note("INTERACTION_END", "The turn ended", now)

    def note(self, kind: str, message: str, now: datetime, details: dict[str, Any] | None = None) -> None:
        """One entry of the reasoning trace. Source: ReasoningTraceEntry of AgentOS."""
        entry = {"timestamp": now.isoformat(), "type": kind, "message": message[:TRACE_MESSAGE_CHARS]}
        self.trace.add(entry if details is None else {**entry, "details": details})

    def _judged(self, notes: Sequence[GuardNote], now: datetime) -> None:
        for each in notes:
            message = f"Guardrail {each.guardrail}, {each.stage}: {each.verdict}. {each.reason}".rstrip()
            self.note("WARNING", message, now, each.model_dump(by_alias=True))

    def _chunk(
        self,
        kind: ChunkType,
        content: Any,
        now: datetime,
        metadata: dict[str, Any] | None = None,
        *,
        final: bool = False,
    ) -> None:
        self.chunks.add(
            Chunk(
                sequence=self.chunks.total,
                type=kind,
                content=content,
                interaction_id=self.turn_id,
                timestamp=now,
                is_final=final,
                metadata=metadata or {},
            )
        )


def _cut(entry: Any) -> Any:
    """The entry with each large field as a preview."""
    if isinstance(entry, Chunk):
        return entry.model_copy(update=_previews(entry.__dict__))
    return {**entry, **_previews(entry)} if isinstance(entry, dict) else _preview(entry)


def _previews(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: _preview(value) for name, value in fields.items() if encoded_size(value) > PREVIEWED_BYTES}


def _preview(value: Any) -> dict[str, Any]:
    return {"preview": str(value)[:TRACE_MESSAGE_CHARS], "cut": True}


def read_cursor(arguments: Sequence[Any]) -> int | None:
    """The cursor of a query: a number, or {"before": number}; anything else asks for the newest page."""
    given = arguments[0] if arguments else None
    if isinstance(given, dict):
        given = given.get("before")
    return given if isinstance(given, int) and not isinstance(given, bool) and given >= 0 else None
