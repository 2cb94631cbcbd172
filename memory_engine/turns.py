"""What happens after a turn, in order: count it, extract, compare and keep, then let the arbiter move what is hot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from .adjudication import open_items
from .arbiter import evaluate_turn
from .asks import Extracted, PostTurnAnswers, Reconciled
from .budgets import enforce_budgets
from .claims import raise_tensions
from .decisions import apply_evaluation, unknown_ids
from .evaluation import ArbiterEvaluationResult, DetectedTension, ReconcileItem
from .extraction import Reading, read_message
from .gate import run_fast_gate
from .learning import learn
from .lesson import Lesson
from .options import CognitiveMemoryOptions
from .reports import PostTurnResult
from .rulings import Ruling, rulings_by_candidate
from .self_model import activate, domain_key
from .state import State
from .statements import LONGEST_CONTENT, Statement, model_statements, rule_statements
from .text import normalise
from .trajectory import keep_prediction, predict, score_prediction
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


@dataclass(frozen=True, slots=True)
class Heard:
    """What rules make of a turn before the memory is looked at; `skipped` says why it teaches nothing, if so."""

    turn: Turn
    domains: tuple[str, ...]
    reading: Reading
    skipped: str | None


def hear(turn: Turn, options: CognitiveMemoryOptions) -> Heard:
    """Reads a turn. Depends on its words and the options alone."""
    named = turn.detected_domains
    if named is None:
        named = run_fast_gate(turn.user_message, options.profile).detected_domains or ()
    domains = tuple(dict.fromkeys(filter(None, map(domain_key, named))))
    if not options.auto_extract_memories:
        return Heard(turn, domains, Reading(), "learning is switched off")
    reading = read_message(turn.user_message, allow_secrets=options.allow_secrets, profile=options.profile)
    is_question = reading.is_lookup or (reading.question_count and not options.learn_mixed_turns)
    return Heard(turn, domains, reading, "question" if is_question else None)


def statements_of(
    heard: Heard, options: CognitiveMemoryOptions, extracted: Extracted | None
) -> tuple[list[Statement], list[tuple[str, str]]]:
    """The statements of a turn, the user's own words first, and the (content, reason) of those refused already."""
    refused = [(entry.content, entry.reason) for entry in heard.reading.rejected]
    if heard.skipped:
        return [], refused
    turn = heard.turn
    statements = rule_statements(heard.reading, options, turn.turn_id, turn.session_id)
    if extracted is not None and extracted.result is not None:
        more, ungrounded = model_statements(extracted.result, heard.reading, options, turn.turn_id, turn.session_id)
        statements += more
        refused += [(entry.content, entry.reason) for entry in ungrounded]
    return statements, refused


def new_lesson(state: State, options: CognitiveMemoryOptions, turn: Turn) -> Lesson:
    """An empty lesson on a state, for a turn that is being counted or is about to be."""
    name = turn.turn_id or f"#{state.stats.total_turns_processed}"
    return _lesson(state, options, name, turn.now, LONGEST_CONTENT)


def take_in(state: State, options: CognitiveMemoryOptions, heard: Heard, answers: PostTurnAnswers) -> Lesson:
    """Counts a turn and learns its statements: everything before the arbiter."""
    turn = heard.turn
    state.stats.total_turns_processed += 1
    score_prediction(state, turn.user_message, heard.domains)
    activate(state.self_model, heard.domains)
    lesson = new_lesson(state, options, turn)
    lesson.result.errors += [f"extract: {problem}" for problem in (answers.extract or Extracted()).problems]
    statements, refused = statements_of(heard, options, answers.extract)
    for content, reason in refused:
        lesson.reject(content, reason)
    rulings = _rulings(lesson, answers.reconcile)
    for statement in statements:
        learn(lesson, statement, rulings.get(normalise(statement.content)))
    if heard.skipped or not lesson.result.facts:
        lesson.result.learning_skipped = heard.skipped or "no lasting statement in the user's message"
    if answers.extract is not None and answers.extract.result is not None and not heard.skipped:
        _raise_tensions(state, lesson, answers.extract.result.tensions or [], heard, "extract")
    return lesson


def _raise_tensions(
    state: State, lesson: Lesson, detected: Iterable[DetectedTension], heard: Heard, stage: str
) -> None:
    new, problems = raise_tensions(state, detected, "\n".join(heard.reading.stated), heard.turn.now)
    lesson.result.counts.tensions += new
    lesson.result.errors += [f"{stage}: {problem}" for problem in problems]


def learn_turn(state: State, options: CognitiveMemoryOptions, heard: Heard, answers: PostTurnAnswers) -> PostTurnResult:
    """Learns from a turn that was not learned before, with whatever a model answered about it."""
    turn = heard.turn
    lesson = take_in(state, options, heard, answers)
    # After extraction, so that what was just learned can be in the next prompt.
    evaluation = _evaluation(state, turn, lesson, answers)
    prediction = evaluation.trajectory_prediction or predict(
        state, turn.user_message, turn.assistant_response, heard.domains, evaluation
    )
    moves = evaluation.model_copy(update={"detected_tensions": []})
    lesson.result.counts.promoted = apply_evaluation(state, moves, turn.now, keep=lesson.fresh)
    _raise_tensions(state, lesson, evaluation.detected_tensions, heard, "arbitrate")
    keep_prediction(state, prediction, heard.domains)
    enforce_budgets(state.store, options, lesson.fresh)
    return _finish(state, lesson, turn.turn_id)


def _evaluation(state: State, turn: Turn, lesson: Lesson, answers: PostTurnAnswers) -> ArbiterEvaluationResult:
    if answers.arbitrate is not None:
        lesson.result.errors += [f"arbitrate: {problem}" for problem in answers.arbitrate.problems]
        if answers.arbitrate.result is not None:
            unknown = unknown_ids(state, answers.arbitrate.result)
            if unknown:
                lesson.result.errors.append(f"arbitrate: there is no memory {', '.join(unknown[:5])}; ignored")
            return answers.arbitrate.result
    return evaluate_turn(state.store, turn.user_message, turn.assistant_response, lesson.fresh)


def remember(
    state: State,
    options: CognitiveMemoryOptions,
    statements: Iterable[tuple[str, Sequence[str]]],
    tier: MemoryTier,
    request_id: str | None,
    now: int,
    session_id: str | None,
    reconciled: Reconciled | None = None,
) -> PostTurnResult:
    """Takes in (text, domains) pairs that a caller vouches for."""
    lesson = _lesson(state, options, request_id or f"@{now}", now, LONGEST_REMEMBERED)
    rulings = _rulings(lesson, reconciled)
    for content, domains in statements:
        learn(
            lesson, Statement(content, tuple(domains), tier, "api", None, session_id), rulings.get(normalise(content))
        )
    enforce_budgets(state.store, options, lesson.fresh)
    return _finish(state, lesson, request_id)


def doubtful(state: State, options: CognitiveMemoryOptions, contents: Iterable[str], now: int) -> list[ReconcileItem]:
    """Which of these statements rules alone cannot judge, with the held ones they resemble. Changes nothing."""
    lesson = _lesson(state, options, "", now, LONGEST_REMEMBERED)
    return open_items(lesson, [Statement(content, (), "L1", "api") for content in contents])


def _rulings(lesson: Lesson, reconciled: Reconciled | None) -> dict[str, Ruling]:
    """The rulings by normalised statement; what was wrong with the verdicts is noted."""
    if reconciled is None:
        return {}
    rulings, problems = rulings_by_candidate(reconciled)
    lesson.result.errors += [f"reconcile: {problem}" for problem in (*reconciled.problems, *problems)]
    return rulings


def remember_strategy(
    state: State, options: CognitiveMemoryOptions, content: str, domains: tuple[str, ...], now: int
) -> PostTurnResult:
    """Keeps a way of deciding that worked as a memory that is marked as one."""
    lesson = _lesson(state, options, f"strategy @{now}", now, LONGEST_CONTENT)
    learn(lesson, Statement(content, domains, options.extraction_tier, "api"))
    for memory in (*lesson.result.stored, *lesson.result.merged_into):
        record = state.store.get(memory.id)
        if record is not None:
            state.store.mark_strategy(record)
    return _finish(state, lesson, None)


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
