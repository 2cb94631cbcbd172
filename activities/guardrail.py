"""A guardrail: a function of the app that judges text on its way into a turn, or out of it."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from activities.durations import parse_duration

Stage = Literal["input", "result", "output"]
GUARDRAIL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True, slots=True)
class Pass:
    """The text may go on as it is."""


@dataclass(frozen=True, slots=True)
class Sanitise:
    """`text` goes on in place of what was judged. `reason` is shown to people, so it must not repeat what was taken out."""

    text: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """The turn ends here. `reason` is the message of its error, so it must not repeat the text."""

    reason: str


Verdict = Pass | Sanitise | Block


@dataclass(frozen=True, slots=True)
class GuardContext:
    """Whose text is judged, and where. `tool` is set for the arguments of a call (stage `output`) and for a result."""

    stage: Stage
    turn_id: str
    conversation_id: str
    user_id: str
    organization_id: str | None
    persona_id: str
    tool: str | None = None


Judge = Callable[[str, GuardContext], Verdict | Awaitable[Verdict]]


@dataclass(frozen=True, slots=True)
class Guardrail:
    """One guardrail. `timeout` in seconds.

    A judge that raises, takes too long or gives back something else blocks the turn, unless `on_error` is `pass`. A
    `required` one runs for every persona, whichever guardrails that names.

    Raises:
        ValueError: name, stages or timeout cannot be used.
    """

    name: str
    judge: Judge
    stages: frozenset[Stage] = frozenset({"input", "output"})
    required: bool = False
    timeout: float = 10.0
    on_error: Literal["block", "pass"] = "block"

    def __post_init__(self) -> None:
        if GUARDRAIL_NAME.fullmatch(self.name) is None:
            raise ValueError(f"{self.name!r} cannot name a guardrail: {GUARDRAIL_NAME.pattern}")
        if not self.stages or not self.stages <= set(get_args(Stage)):
            raise ValueError(f"the stages of guardrail {self.name} are some of {', '.join(get_args(Stage))}")
        if not 0 < self.timeout <= 600:
            raise ValueError(
                f"the timeout of guardrail {self.name} must be up to 10 minutes, got {self.timeout} seconds"
            )
        if self.on_error not in ("block", "pass"):
            raise ValueError(f"on_error of guardrail {self.name} is 'block' or 'pass', not {self.on_error!r}")

    @property
    def is_async(self) -> bool:
        """Whether calling the judge only makes an awaitable, and blocks nothing."""
        called = getattr(type(self.judge), "__call__", None)  # noqa: B004 - the method itself is wanted
        return inspect.iscoroutinefunction(self.judge) or inspect.iscoroutinefunction(called)

    def __call__(self, text: str, context: GuardContext) -> Verdict | Awaitable[Verdict]:
        """Judge, as if the function had not been decorated."""
        return self.judge(text, context)


def guardrail(
    *,
    stages: Iterable[Stage] = ("input", "output"),
    required: bool = False,
    timeout: str = "PT10S",
    on_error: Literal["block", "pass"] = "block",
    name: str | None = None,
) -> Callable[[Judge], Guardrail]:
    """Make a guardrail of a function, sync or async, or of an object that can be called.

    A sync one runs in a thread, which nothing can interrupt: after its timeout it goes on unobserved.

    Args:
        stages: `input`: what the user says. `result`: results of tools and hosts, before the model reads them. `output`:
            what the model says, and the arguments of the calls it asks for.
        required: it runs for every persona, also for one that names others.
        timeout: how long one judgement may take, an ISO 8601 duration.
        on_error: what becomes of text that it could not judge.
        name: what personas and errors call it; the function's name unless given.

    Raises:
        ValueError: the name, the stages or the timeout cannot be used.
    """

    def make(judge: Judge) -> Guardrail:
        return Guardrail(
            name=name or str(getattr(judge, "__name__", type(judge).__name__)),
            judge=judge,
            stages=frozenset(stages),
            required=required,
            timeout=parse_duration(timeout).total_seconds(),
            on_error=on_error,
        )

    return make


def as_guardrail(given: Any) -> Guardrail:
    """The guardrail that somebody gave, or that a plain function makes."""
    if isinstance(given, Guardrail):
        return given
    if not callable(given):
        raise TypeError(f"a guardrail is a function of a text and a GuardContext, not a {type(given).__name__}")
    return guardrail()(given)
