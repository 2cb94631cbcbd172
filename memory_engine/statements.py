"""The statements of one turn, from the rules and from a model, with who says so and where each should land."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .domains import extract_domains
from .evaluation import ExtractionResult
from .extraction import Reading
from .grounding import ungrounded
from .options import CognitiveMemoryOptions
from .reports import RejectedStatement
from .self_model import domain_key
from .wire import MemorySource, MemoryTier

LONGEST_CONTENT = 600
"""How long a statement may be that was found in a turn."""
MOST_MODEL_MEMORIES = 24
"""At most so many statements of a model are taken from one turn."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Something to learn, with who says so and where it should land."""

    content: str
    domains: tuple[str, ...] = ()
    tier: MemoryTier = "L2"
    source: MemorySource = "rules"
    turn_id: str | None = None
    session_id: str | None = None
    is_correction: bool = False
    suspicion: str | None = None
    """What is suspicious about the sentence it was taken from."""


def rule_statements(
    reading: Reading, options: CognitiveMemoryOptions, turn_id: str | None, session_id: str | None
) -> list[Statement]:
    """What the rules found, in its order."""
    return [
        Statement(
            content=memory.content,
            domains=tuple(memory.domains),
            tier=options.extraction_tier,
            turn_id=turn_id,
            session_id=session_id,
            is_correction=memory.content in reading.corrections,
            suspicion=reading.suspicions.get(memory.content),
        )
        for memory in reading.memories
    ]


def model_statements(
    extraction: ExtractionResult,
    reading: Reading,
    options: CognitiveMemoryOptions,
    turn_id: str | None,
    session_id: str | None,
) -> tuple[list[Statement], list[RejectedStatement]]:
    """What a model found and the user said, and what it found that the user did not say."""
    said = "\n".join(reading.stated)
    kept: list[Statement] = []
    rejected: list[RejectedStatement] = []
    for memory in extraction.memories:
        content = memory.content.strip()
        reason = _refusal(content, said, len(kept))
        if reason:
            rejected.append(RejectedStatement(content=content, reason=reason))
            continue
        domains = _domains(memory.domains) or tuple(extract_domains(content))
        kept.append(Statement(content, domains, options.extraction_tier, "model", turn_id, session_id))
    return kept, rejected


def _refusal(content: str, said: str, taken: int) -> str | None:
    if taken >= MOST_MODEL_MEMORIES:
        return f"more than {MOST_MODEL_MEMORIES} statements of a model in one turn"
    if len(content) > LONGEST_CONTENT:
        return f"longer than {LONGEST_CONTENT} characters"
    missing = ungrounded(content, said)
    return f"the user did not state {', '.join(missing[:3])}" if missing else None


def _domains(named: Sequence[str]) -> tuple[str, ...]:
    keys = (domain_key(domain[:100]) for domain in named[:8])
    return tuple(dict.fromkeys(key for key in keys if key))
