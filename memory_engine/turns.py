"""What happens after a turn, in order: count it, extract, compare and keep, then let the arbiter move what is hot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from .arbiter import evaluate_turn
from .decisions import apply_evaluation
from .extraction import read_message
from .gate import run_fast_gate
from .learning import LONGEST_CONTENT, Lesson, Statement
from .options import CognitiveMemoryOptions
from .reports import PostTurnResult
from .self_model import activate, domain_key
from .state import State
from .wire import MemoryTier

LONGEST_REMEMBERED = 4_000
"""How long a statement may be that a caller asks to remember; one found in a turn may have 600 characters."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A finished exchange; `now` is in milliseconds, and `turn_id` makes a repetition recognisable."""

    user_message: str
    assistant_response: str
    detected_domains: Sequence[str] | None
    turn_id: str | None
    now: int
    session_id: str | None


def learn_turn(state: State, options: CognitiveMemoryOptions, turn: Turn) -> PostTurnResult:
    """Learns from a turn that was not learned before."""
    state.stats.total_turns_processed += 1
    domains = turn.detected_domains
    if domains is None:
        domains = run_fast_gate(turn.user_message, options.profile).detected_domains or ()
    activate(state.self_model, filter(None, map(domain_key, domains)))
    name = turn.turn_id or f"#{state.stats.total_turns_processed}"
    lesson = _lesson(state, options, name, turn.now, LONGEST_CONTENT)
    if options.auto_extract_memories:
        _extract(lesson, options, turn)
    else:
        lesson.result.learning_skipped = "learning is switched off"
    # After extraction, so that what was just learned can be in the next prompt.
    evaluation = evaluate_turn(state.store, turn.user_message, turn.assistant_response, lesson.fresh)
    lesson.result.counts.promoted = apply_evaluation(state, evaluation, turn.now)
    return _finish(state, lesson, turn.turn_id)


def remember(
    state: State,
    options: CognitiveMemoryOptions,
    statements: Iterable[tuple[str, Sequence[str]]],
    tier: MemoryTier,
    request_id: str | None,
    now: int,
    session_id: str | None,
) -> PostTurnResult:
    """Takes in (text, domains) pairs that a caller vouches for."""
    lesson = _lesson(state, options, request_id or f"@{now}", now, LONGEST_REMEMBERED)
    for content, domains in statements:
        lesson.learn(Statement(content, tuple(domains), tier, "api", None, session_id))
    return _finish(state, lesson, request_id)


def _extract(lesson: Lesson, options: CognitiveMemoryOptions, turn: Turn) -> None:
    reading = read_message(turn.user_message, allow_secrets=options.allow_secrets, profile=options.profile)
    for refused in reading.rejected:
        lesson.reject(refused.content, refused.reason)
    if reading.is_lookup or (reading.question_count and not options.learn_mixed_turns):
        lesson.result.learning_skipped = "question"
        return
    for memory in reading.memories:
        statement = Statement(
            content=memory.content,
            domains=tuple(memory.domains),
            tier=options.extraction_tier,
            turn_id=turn.turn_id,
            session_id=turn.session_id,
            is_correction=memory.content in reading.corrections,
            suspicion=reading.suspicions.get(memory.content),
        )
        lesson.learn(statement)
    if not lesson.result.facts:
        lesson.result.learning_skipped = "no lasting statement in the user's message"


def _lesson(state: State, options: CognitiveMemoryOptions, turn: str, now: int, longest: int) -> Lesson:
    make_id = _id_maker(options, turn)
    return Lesson(state.store, state.tensions, state.self_model, make_id, now, options.allow_secrets, longest)


def _finish(state: State, lesson: Lesson, ledger_id: str | None) -> PostTurnResult:
    state.stats.tensions_detected += lesson.new_tensions
    result = lesson.finish()
    if ledger_id is not None:
        state.ledger.record(ledger_id, result)
    return result


def _id_maker(options: CognitiveMemoryOptions, turn: str) -> Callable[[str, int], str]:
    make = options.new_id
    if make is not None:
        return lambda content, counter: make(content, turn, counter)
    return lambda content, counter: _default_id(options.seed, content, turn, counter)


def _default_id(seed: int, content: str, turn: str, counter: int) -> str:
    """The same for the same statement of the same turn, so that a step that is run again makes no second row."""
    material = f"{seed}\0{turn}\0{counter}\0{content}".encode("utf-8", "surrogatepass")
    return "mem_" + blake2b(material, digest_size=10).hexdigest()
