"""Where a turn stops by itself: what of its limits is used, and which one is reached. Pure; time is a parameter."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from activities import errors
from activities.conversation import CostAggregator, ErrorDetails
from activities.turn_input import TurnLimits

LimitName = Literal["maxToolRounds", "maxModelCalls", "maxTokens", "maxCostUSD", "deadline"]


@dataclass(slots=True)
class Progress:
    """How far a turn has come; what limits are measured against. `agent_calls` are the model calls of its sub-agents."""

    tool_rounds: int = 0
    model_calls: int = 0
    agent_calls: int = 0
    usage: CostAggregator = field(default_factory=CostAggregator)

    @property
    def calls(self) -> int:
        """All model calls, those of sub-agents among them."""
        return self.model_calls + self.agent_calls


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit that is reached: its name on the wire, what is used of it (an instant for the deadline), and its value."""

    limit: LimitName
    used: float | datetime
    value: float | datetime
    code: str
    what: str

    @property
    def error(self) -> ErrorDetails:
        """What the turn reports when it stops here."""
        return ErrorDetails(code=self.code, message=f"The turn stopped at a limit: {self.what}.")


def may_call_tools(limits: TurnLimits, progress: Progress) -> bool:
    """Whether the next model call is offered tools.

    The last one allowed is not, so that the turn ends in words; where the host may allow more, no call is the last one yet.
    """
    if progress.tool_rounds >= limits.max_tool_rounds:
        return False
    return limits.on_limit == "ask" or limits.max_model_calls is None or limits.max_model_calls - progress.calls > 1


def limit_reached(limits: TurnLimits, progress: Progress, now: datetime) -> Reached | None:
    """The limit that forbids another model call, or None."""
    calls, tokens, spent = progress.calls, progress.usage.total_tokens, progress.usage.total_cost_usd
    if limits.deadline is not None and now >= limits.deadline:
        return deadline_reached(limits.deadline, now)
    if (most := limits.max_model_calls) is not None and calls >= most:
        what = f"all {most} model calls of limits.maxModelCalls are used"
        return Reached("maxModelCalls", calls, most, errors.LIMIT_MODEL_CALLS, what)
    if (most := limits.max_tokens) is not None and tokens >= most:
        what = f"{tokens} tokens are used, limits.maxTokens is {most}"
        return Reached("maxTokens", tokens, most, errors.LIMIT_TOKENS, what)
    if limits.max_cost_usd is not None and spent is not None and spent >= limits.max_cost_usd:
        what = f"${spent:.6f} is spent, limits.maxCostUSD is {limits.max_cost_usd}"
        return Reached("maxCostUSD", spent, limits.max_cost_usd, errors.LIMIT_COST, what)
    return None


def rounds_used(limits: TurnLimits, progress: Progress) -> Reached | None:
    """The limit that forbids another round of tools, though not another model call; or None."""
    used, most = progress.tool_rounds, limits.max_tool_rounds
    if used < most:
        return None
    what = f"the turn used all {most} rounds of limits.maxToolRounds"
    return Reached("maxToolRounds", used, most, errors.LIMIT_TOOL_ROUNDS, what)


def deadline_reached(deadline: datetime, now: datetime) -> Reached:
    """The limit of a turn that ran into its own deadline."""
    what = f"limits.deadline {deadline.isoformat()} has passed"
    return Reached("deadline", now, deadline, errors.LIMIT_DEADLINE, what)


def forced_answer(limits: TurnLimits, progress: Progress) -> ErrorDetails:
    """Why the last model call was made without tools."""
    if reached := rounds_used(limits, progress):
        return reached.error
    most = limits.max_model_calls
    what = f"the last of {most} model calls was made without tools"
    return Reached("maxModelCalls", progress.calls, most or 0, errors.LIMIT_MODEL_CALLS, what).error
