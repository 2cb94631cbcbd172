"""The reasoning trace of an instance: a ring of entries, bounded in number, in length and in bytes. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from activities.json_values import clean_json, clean_text, encoded_size
from activities.personas import Persona
from workflows.gmi_contracts import InstanceConfig, TraceEntry

TRACE_BYTES = 240_000
DETAILS_BYTES = 8_000
# Source: the reasoning trace of AgentOS; what nobody sets, and the most that may be set.
DEFAULT_ENTRIES, DEFAULT_CHARS = 500, 1_000
MOST_ENTRIES, MOST_CHARS = 10_000, 100_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How many entries, and how many characters of a message. `ignored` names settings that could not be used."""

    entries: int
    chars: int
    ignored: tuple[str, ...] = ()


def limits_of(persona: Persona, config: InstanceConfig) -> Limits:
    """The persona's limits, else those of the config, else the defaults."""
    own = persona.reasoning_trace_config
    ignored: list[str] = []
    entries = _first(
        ignored,
        ("reasoningTraceConfig.maxEntries", own.max_entries if own else None),
        ("defaultReasoningTraceMaxEntries", config.default_reasoning_trace_max_entries),
    )
    chars = _first(
        ignored,
        ("reasoningTraceConfig.maxMessageLength", own.max_message_length if own else None),
        ("defaultReasoningTraceMaxMessageLength", config.default_reasoning_trace_max_message_length),
    )
    return Limits(
        min(entries or DEFAULT_ENTRIES, MOST_ENTRIES), min(chars or DEFAULT_CHARS, MOST_CHARS), tuple(ignored)
    )


def note(
    trace: list[TraceEntry],
    limits: Limits,
    kind: str,
    message: str,
    now: datetime,
    details: Any = None,
    turn_id: str | None = None,
) -> None:
    """Append an entry; the oldest ones give way."""
    details = clean_json(details)
    if details is not None and encoded_size(details) > DETAILS_BYTES:
        details = {"preview": str(details)[: DETAILS_BYTES // 8], "cut": True}
    text = clean_text(message)[: limits.chars]
    trace.append(TraceEntry(timestamp=now, type=kind, message=text, details=details, turn_id=turn_id))
    del trace[: max(0, len(trace) - limits.entries)]
    sizes = [encoded_size(entry) for entry in trace]
    total, drop = sum(sizes), 0
    while total > TRACE_BYTES and drop < len(sizes) - 1:
        total -= sizes[drop]
        drop += 1
    del trace[:drop]


def forget_turns(trace: list[TraceEntry], kept: Collection[str]) -> None:
    """Entries about turns that the history does not hold any more keep what happened and lose the details."""
    for place, entry in enumerate(trace):
        if entry.turn_id is not None and entry.turn_id not in kept:
            trace[place] = entry.model_copy(update={"details": None})


def _first(ignored: list[str], *candidates: tuple[str, Any]) -> int | None:
    for name, value in candidates:
        if value is None:
            continue
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        ignored.append(name)
    return None
