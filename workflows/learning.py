"""What memory learns from a committed turn: up to three questions to a model, each a step of its own, then the learning itself.

Nothing in here fails a turn. A question that gets no answer ends the asking, so that a model that is away costs its time once;
rules then do without it, and the report says so.
"""

from dataclasses import dataclass, field
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    import workflows.steps as steps
    from activities.contracts import MemoryAsk, MemoryStage, Patience, PostTurn, PostTurnReport, TurnBegun
    from activities.conversation import CostAggregator
    from workflows.failures import failure_of
    from workflows.usage import add_usage

PROBLEM_CHARS = 500


@dataclass(slots=True)
class _Asked:
    """What the models said so far, what it cost, and why there is no more of it."""

    answers: dict[str, Any] = field(default_factory=dict)
    usage: CostAggregator | None = None
    problems: tuple[str, ...] = ()


async def learn(turn_id: str, now_ms: int, begun: TurnBegun) -> PostTurnReport:
    """Let memory learn from the turn, and report what came of it."""
    if not begun.remembers:
        return PostTurnReport(skipped="the persona keeps no memory")
    asked = await _ask_model(turn_id, now_ms, begun.patience) if begun.memory_model else _Asked()
    try:
        report = await steps.post_turn(PostTurn(turn_id=turn_id, now_ms=now_ms, answers=asked.answers))
    except ActivityError as fault:
        report = PostTurnReport(skipped="the memory step failed", problems=(failure_of(fault).message,))
    return report.model_copy(update={"usage": asked.usage, "problems": (*asked.problems, *report.problems)})


async def _ask_model(turn_id: str, now_ms: int, patience: Patience) -> _Asked:
    asked = _Asked()
    stage: MemoryStage | None = "extract"
    while stage is not None:
        request = MemoryAsk(turn_id=turn_id, now_ms=now_ms, answers=asked.answers)
        try:
            answered = await steps.ask_memory_model(stage, request, patience)
        except ActivityError as fault:
            asked.problems = (f"{stage}: {failure_of(fault).message}"[:PROBLEM_CHARS],)
            return asked
        asked.answers = answered.answers
        if answered.asked:
            total = asked.usage or CostAggregator()
            asked.usage = add_usage(total, answered.usage, answered.provider, answered.model)
        stage = answered.next_stage
    return asked
