"""The step that has guardrails judge the user's message, in a turn whose persona has any for it."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    import workflows.steps as steps
    from activities.conversation import ErrorDetails
    from activities.guard_contracts import JudgeInput
    from workflows.turn_state import TurnState


async def judge_input(state: TurnState) -> ErrorDetails | None:
    """Have the message judged before any model reads it. The error of a block, or None."""
    judged = await steps.judge_input(JudgeInput(turn_id=state.key), state.claimed.input_guard_seconds or 0)
    state.transcript.user_judged(judged, workflow.now())
    return judged.error
