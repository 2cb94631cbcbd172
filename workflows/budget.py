"""Limits that ask: one that is reached becomes a call to the host, `raise_budget`. Pure; time is a parameter.

The call is nobody's in the model's history. An answer raises limits for the rest of the turn; anything else means no, and
then the turn ends where one that never asks would have ended.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from activities.call_ids import mint_call_id
from activities.conversation import ErrorDetails
from activities.json_schema import schema_fault
from activities.turn_input import MAX_TOOL_ROUNDS, TurnLimits
from workflows.answers import Approve, Edit, Failure, Output, Reject, Resolution
from workflows.contracts import PendingCall
from workflows.limits import LimitName, Progress, Reached, limit_reached, rounds_used

RAISE_BUDGET = "raise_budget"
# What an approval adds to a deadline that left no time from the start.
LEAST_TIME = timedelta(minutes=1)


@dataclass(slots=True)
class Budget:
    """The limits of a turn as they stand. `first` are those it began with; `refusal` is what the host said instead of more."""

    first: TurnLimits
    limits: TurnLimits
    asked: int = 0
    refusal: str | None = None

    @classmethod
    def of(cls, limits: TurnLimits) -> "Budget":
        """The budget of a turn that has used nothing."""
        return cls(limits, limits)

    def due(self, progress: Progress, now: datetime, *, for_tools: bool) -> Reached | None:
        """The limit that stands before the next model call, or None.

        Rounds used up forbid no call, only one that may call tools; a turn that does not ask makes it without them.
        """
        reached = limit_reached(self.limits, progress, now)
        if reached is None and for_tools and self.limits.on_limit == "ask":
            return rounds_used(self.limits, progress)
        return reached

    def ask(self, reached: Reached, progress: Progress, key: str, began: datetime, now: datetime) -> PendingCall:
        """The call that asks for more. Its id is the same on every replay, and no call of the model has it."""
        self.asked += 1
        return PendingCall(
            id=mint_call_id(key, progress.model_calls, -self.asked),
            name=RAISE_BUDGET,
            kind="budget",
            arguments={
                "limit": reached.limit,
                "used": _written(reached.used),
                "value": _written(reached.value),
                "message": f"The turn waits at a limit: {reached.what}. It goes on when you raise it, and else ends here.",
            },
            input_schema=self._schema(reached, progress, began, now),
        )

    def take(self, call: PendingCall, resolution: Resolution | None, began: datetime, now: datetime) -> str:
        """Raise the limits as the host said, or stop asking; what happened, in words."""
        limit: LimitName = call.arguments["limit"]
        if isinstance(resolution, Output | Approve):
            more = (
                resolution.value
                if isinstance(resolution, Output)
                else {limit: _again(self.first, limit, call.arguments["used"], began, now)}
            )
            self.limits = _raised(self.limits, more)
            return f"The host raised {', '.join(f'{name} to {value}' for name, value in more.items())}"
        self.limits = self.limits.model_copy(update={"on_limit": "stop"})
        self.refusal = _refusal(resolution)
        return f"The host did not raise {limit}" + (f": {self.refusal}" if self.refusal else "")

    def grow(self, call: PendingCall, resolution: Resolution | None) -> None:
        """A sub-agent got more than its share: so much more there is for the turn, or it would be at its own limit next."""
        limit: LimitName = call.arguments["limit"]
        value, has = call.arguments["value"], self.limits.model_dump(mode="json", by_alias=True, exclude_none=True)
        if limit == "maxToolRounds" or limit not in has or not isinstance(resolution, Output | Approve):
            return
        new = resolution.value[limit] if isinstance(resolution, Output) else suggested_raise(call)[limit]
        if limit == "deadline":
            later = max(datetime.fromisoformat(new), datetime.fromisoformat(has[limit])).isoformat()
            self.limits = _raised(self.limits, {limit: later})
        else:
            self.limits = _raised(self.limits, {limit: round(has[limit] + new - value, 9)})

    def explained(self, error: ErrorDetails | None) -> ErrorDetails | None:
        """The error of a limit with the reason for which the host did not raise it."""
        if error is None or self.refusal is None or not error.code.startswith("LIMIT_"):
            return error
        return error.model_copy(update={"message": f"{error.message} The host did not raise it: {self.refusal}"})

    def _schema(self, reached: Reached, progress: Progress, began: datetime, now: datetime) -> dict[str, Any]:
        used = {
            "maxToolRounds": progress.tool_rounds,
            "maxModelCalls": progress.calls,
            "maxTokens": progress.usage.total_tokens,
            "maxCostUSD": progress.usage.total_cost_usd or 0.0,
        }
        has = self.limits.model_dump(mode="json", by_alias=True, exclude_none=True)
        properties: dict[str, Any] = {
            name: {"type": "number" if name == "maxCostUSD" else "integer", "exclusiveMinimum": amount}
            for name, amount in used.items()
            if name in has
        }
        properties["maxToolRounds"]["maximum"] = MAX_TOOL_ROUNDS
        if "deadline" in has:
            properties["deadline"] = {
                "type": "string",
                "format": "date-time",
                "description": f"An instant with a time zone, after {now.isoformat()}",
            }
        suggested = _again(self.first, reached.limit, _written(reached.used), began, now)
        properties[reached.limit]["default"] = suggested
        return {
            "type": "object",
            "properties": properties,
            "required": [reached.limit],
            "additionalProperties": False,
        }


def raise_fault(call: PendingCall, resolution: Resolution) -> str | None:
    """Why this does not answer a call to `raise_budget`, in words that say what to send; None when it does."""
    limit, used, schema = call.arguments["limit"], call.arguments["used"], call.input_schema or {}
    suggested = schema["properties"][limit]["default"]
    how = f'send output {{"{limit}": {_json(suggested)}}} or another value above {used}, or decision "reject"'
    if isinstance(resolution, Edit):
        return f"asks for a limit, not for arguments; {how}"
    if isinstance(resolution, Approve):
        return None if limit == "deadline" or suggested > used else f"cannot be raised over {suggested}; reject it"
    if not isinstance(resolution, Output):
        return None
    if fault := schema_fault(schema, resolution.value, "output"):
        return f"does not raise the limit ({fault}); {how}"
    try:
        limits = TurnLimits.model_validate(resolution.value)
    except ValidationError as invalid:
        first = invalid.errors(include_input=False, include_url=False)[0]
        return f"does not raise the limit (output.{'.'.join(map(str, first['loc']))}: {first['msg']}); {how}"
    if limits.deadline is None:
        return None
    if limits.deadline.tzinfo is None:
        return f"has a deadline without a time zone; {how}"
    if limit == "deadline" and limits.deadline <= datetime.fromisoformat(used):
        return f"does not raise the limit (output.deadline has passed); {how}"
    return None


def suggested_raise(call: PendingCall) -> dict[str, Any]:
    """What a host that agrees may send as the output of the call."""
    limit = call.arguments["limit"]
    return {limit: ((call.input_schema or {}).get("properties") or {}).get(limit, {}).get("default")}


def _again(first: TurnLimits, limit: LimitName, used: Any, began: datetime, now: datetime) -> Any:
    """The limit that gives as much again as the turn had at first."""
    match limit:
        case "deadline":
            assert first.deadline is not None
            return _written(now + max(LEAST_TIME, first.deadline - began))
        case "maxToolRounds":
            return min(MAX_TOOL_ROUNDS, used + first.max_tool_rounds)
        case "maxModelCalls":
            return used + (first.max_model_calls or 0)
        case "maxTokens":
            return used + (first.max_tokens or 0)
        case "maxCostUSD":
            return round(used + (first.max_cost_usd or 0.0), 9)


def _raised(limits: TurnLimits, more: dict[str, Any]) -> TurnLimits:
    return TurnLimits.model_validate({**limits.model_dump(by_alias=True), **more})


def _refusal(resolution: Resolution | None) -> str | None:
    if isinstance(resolution, Reject):
        return resolution.reason
    return resolution.error.message if isinstance(resolution, Failure) else None


def _written(amount: float | datetime) -> Any:
    return amount.isoformat() if isinstance(amount, datetime) else amount


def _json(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
