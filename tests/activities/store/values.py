"""Short ways to make the values that stores take."""

from typing import Any, Literal

from activities.contracts import BeginTurn, CommitTurn, PlacedResult
from activities.conversation import (
    AssistantMessage,
    CostAggregator,
    GMIOutput,
    ToolCall,
    ToolCallResult,
    ToolMessage,
    UserMessage,
)
from activities.turn_input import TurnInput


def begin(turn: str = "t1", run: str = "r1", *, first: str | None = None, at: str = "c1", **fields: Any) -> BeginTurn:
    """A claim of turn `turn` in conversation `at` by run `run`, which is a first run unless `first` names another."""
    return BeginTurn(
        turn_id=turn,
        workflow_id=f"turn-{turn}",
        run_id=run,
        first_run_id=first or run,
        conversation_id=at,
        input=TurnInput.model_validate({"content": f"question of {turn}"} | fields),
        now_ms=1_000,
    )


def commit(
    turn: str = "t1",
    state: Literal["completed", "failed", "cancelled", "superseded"] = "completed",
    *,
    at: str = "c1",
    results: tuple[PlacedResult, ...] = (),
    text: str = "done",
    rows: int = 1_000,
) -> CommitTurn:
    """The end of a turn that knows of `rows` rows."""
    return CommitTurn(
        turn_id=turn,
        conversation_id=at,
        rows=rows,
        results=results,
        state=state,
        output=GMIOutput(is_final=True, response_text=text),
        usage=CostAggregator(total_tokens=7),
        now_ms=2_000,
    )


def asked(text: str) -> UserMessage:
    """What a user said."""
    return UserMessage(content=text)


def said(text: str) -> AssistantMessage:
    """What a model said."""
    return AssistantMessage(content=text)


def calls(*ids: str) -> AssistantMessage:
    """A model's reply that calls tool `look` once for each id."""
    return AssistantMessage(tool_calls=tuple(ToolCall(id=call_id, name="look", arguments={"q": 1}) for call_id in ids))


def result(call_id: str, output: Any = "found") -> ToolCallResult:
    """The result of a call of tool `look`."""
    return ToolCallResult(tool_call_id=call_id, tool_name="look", output=output)


def answer(call_id: str, output: Any = "found") -> ToolMessage:
    """The row of a result."""
    return ToolMessage(result=result(call_id, output))
