"""Sequences of calls that agents need, in the order that makes them right.

Each takes the client first. With `AsyncCogmem` the result is awaited, and the functions it is given may be async.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, overload

from memory_engine import ContextReport, LearnResult, Memory, RecallHit, RecallResponse, RejectedStatement
from memory_engine.rendering import render_safe
from worker.cogmem import calls
from worker.cogmem.client import AsyncCogmem, Cogmem
from worker.cogmem.exchange import Run, Step, Story

P = ParamSpec("P")
T = TypeVar("T")

LEARNING_DISABLED = "learning disabled for this turn"
SHOWN_CONTENT_CHARS = 4_000
SHOWN_QUERY_CHARS = 200


@dataclass(slots=True)
class TurnOptions:
    """What a turn is about. `run` may still set what only it can know, such as `failure_pattern`: it is read after it.

    Attributes:
        session_id: The conversation that what is learned belongs to.
        domain: The field of work; with it, how the turn went is recorded.
        failure_pattern: What went wrong; without it the turn counts as a success.
        strategy: What worked.
        learn: False for a turn that nothing is to be learned from.
        on_learn: Receives what was learned. What it raises is a problem of the result, not of the turn.
        degrade: Run with an empty context when there is no other, instead of raising.
    """

    session_id: str | None = None
    domain: str | None = None
    failure_pattern: str | None = None
    strategy: str | None = None
    learn: bool = True
    on_learn: Callable[[LearnResult], object] | None = None
    degrade: bool = False


class RecallOrExplainOptions(TypedDict, total=False):
    """The keywords of `recall_or_explain`, for callers that keep them."""

    limit: int | None
    empty_message: str | None


class SeedOptions(TypedDict, total=False):
    """The keywords of `seed_memories`, for callers that keep them."""

    facts: Iterable[str]
    session_id: str | None


@dataclass(frozen=True, slots=True)
class RunTurnResult:
    """A turn. Where `learning` is None, `learning_skipped` says why; `problems` is what else memory could not do."""

    context: ContextReport
    response: str
    learning: LearnResult | None
    learning_skipped: str | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SeedResult:
    """What became of each fact."""

    stored: list[Memory]
    merged: list[Memory]
    rejected: list[RejectedStatement]


class Helper(Generic[P, T]):
    """A story as a function of either client."""

    def __init__(self, story: Callable[P, Story[T]]) -> None:
        functools.update_wrapper(self, story)
        self._story = story

    @overload
    def __call__(self, memory: Cogmem, *args: P.args, **kwargs: P.kwargs) -> T: ...
    @overload
    def __call__(self, memory: AsyncCogmem, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]: ...
    def __call__(self, memory: Cogmem | AsyncCogmem, *args: P.args, **kwargs: P.kwargs) -> Any:
        return memory.perform(self._story(*args, **kwargs))


@Helper
def run_turn(
    user_message: str, run: Callable[[str], str | Awaitable[str]], options: TurnOptions | None = None
) -> Story[RunTurnResult]:
    """Build the context, run the model with it, learn from the exchange, record how it went.

    What fails after the model has answered never costs the answer: it is told in the result.

    Raises:
        CognitiveMemoryError: there is no context; not with `degrade`.
        httpx.TransportError: the same.
    """
    options = options or TurnOptions()
    problems: list[str] = []
    context = yield from _context(user_message, options, problems)
    response: str = yield Run(lambda: run(context.text))
    learning, skipped = yield from _learned(user_message, response, options, problems)
    if options.domain:
        _, problem = yield from _attempt(lambda: _outcome(options))
        problems += _told("outcome not recorded", problem)
    return RunTurnResult(context, response, learning, skipped, tuple(problems))


@Helper
def recall_or_explain(query: str, limit: int | None = None, empty_message: str | None = None) -> Story[str]:
    """What is remembered about a query, as text for a prompt; where nothing is, text that keeps a model from guessing."""
    found: RecallResponse = yield calls.search(query, limit=limit)
    if found.results:
        count = len(found.results)
        lines = [f"Remembered ({count} {'match' if count == 1 else 'matches'}):", *map(_line, found.results)]
        return "\n".join(lines)
    if empty_message is not None:
        return empty_message
    asked = render_safe(query, SHOWN_QUERY_CHARS)
    return f'Nothing that was remembered matches "{asked}". Say that you were not told about it; do not guess.'


@Helper
def seed_memories(facts: Iterable[str], session_id: str | None = None) -> Story[SeedResult]:
    """Store facts in one call. What is already held comes back as `merged`, so that it may be run again."""
    request = calls.create_memories(facts, session_id=session_id)
    if not request.body["items"]:
        return SeedResult([], [], [])
    learned: LearnResult = yield request
    return SeedResult(learned.stored, learned.merged_into, learned.rejected)


def _context(user_message: str, options: TurnOptions, problems: list[str]) -> Story[ContextReport]:
    build = calls.build_context(user_message, session_id=options.session_id)
    if not options.degrade:
        report: ContextReport = yield build
        return report
    held, problem = yield from _attempt(lambda: build)
    problems += _told("no context", problem)
    return held or ContextReport(text="", entries=[], total_tokens=0, truncated=False)


def _learned(
    user_message: str, response: str, options: TurnOptions, problems: list[str]
) -> Story[tuple[LearnResult | None, str | None]]:
    if not options.learn:
        return None, LEARNING_DISABLED
    learning, skipped = yield from _attempt(lambda: calls.learn(user_message, response, session_id=options.session_id))
    if learning is not None and (on_learn := options.on_learn):
        _, problem = yield from _attempt(lambda: Run(lambda: on_learn(learning)))
        problems += _told("on_learn failed", problem)
    return learning, skipped


def _outcome(options: TurnOptions) -> Step:
    return calls.record_outcome(
        options.domain or "",
        options.failure_pattern is None,
        failure_pattern=options.failure_pattern,
        strategy=options.strategy,
    )


def _attempt(step: Callable[[], Step]) -> Story[tuple[Any, str | None]]:
    """What a step gave, or None and why it gave nothing."""
    try:
        return (yield step()), None
    except Exception as error:  # whatever it is, the model has answered, and memory only assists it
        return None, str(error) or type(error).__name__


def _told(what: str, reason: str | None) -> list[str]:
    return [f"{what}: {reason}"] if reason else []


def _line(hit: RecallHit) -> str:
    """One match as a line that stays data, whatever its text says."""
    memory = hit.memory
    domains = ", ".join(render_safe(domain) for domain in memory.domains)
    about = f" ({domains})" if domains else ""
    return f"- {render_safe(memory.content, SHOWN_CONTENT_CHARS)}{about} [{memory.tier}, relevance {hit.score:.2f}]"
