"""What a turn gives back and shows of itself: its output, now and at the end, and where it stands. Pure."""

from collections.abc import Sequence

from activities.conversation import ErrorDetails, GMIOutput, ToolCall
from activities.json_values import encoded_size
from workflows.contracts import AgentStatus, TurnPhase, TurnStatus
from workflows.turn_state import TurnState

FINAL_CALLS_BYTES = 500_000
OUTPUT_TRACE_BYTES = 16_000

# Source: GMIPrimeState of AgentOS.
GMI_STATES: dict[TurnPhase, str] = {
    "starting": "initializing",
    "running": "processing",
    "waiting": "awaiting_tool_result",
    "closing": "processing",
    "completed": "ready",
    "superseded": "ready",
    "cancelled": "ready",
    "failed": "errored",
}


def final_output(state: TurnState, error: ErrorDetails | None) -> GMIOutput:
    """The final output as far as the turn has come."""
    return GMIOutput(
        is_final=True,
        response_text=state.text or None,
        text_ref=state.text_ref,
        tool_calls=_bounded(list(state.own_calls.values())) or None,
        usage=state.progress.usage,
        error=error,
        rag_sources=state.sources,
        structured_output=state.structured,
        conversation_id=state.conversation_id,
        turn_id=state.turn_id,
        model_calls=state.progress.calls if state.given.delegation is not None else None,
        **state.parts.fields(),
    )


def current_output(state: TurnState) -> GMIOutput:
    """The output now: final after the end, else with the calls that wait for the host."""
    if state.output is not None:
        return state.output
    open_calls = state.inbox.pause.open_calls if state.inbox.pause else []
    waiting = tuple(ToolCall(id=call.id, name=call.name, arguments=call.arguments) for call in open_calls)
    told = {"is_final": False, "tool_calls": waiting or None, "structured_output": None}
    return final_output(state, None).model_copy(update=told)


def traced_output(state: TurnState) -> GMIOutput:
    """The output now with the newest of the trace, for whoever asks."""
    newest = state.transcript.trace.page(room=OUTPUT_TRACE_BYTES).entries
    return current_output(state).model_copy(update={"reasoning_trace": newest})


def published_output(state: TurnState) -> GMIOutput:
    """The output of a turn that has ended, as its history carries it: with the trace only where that was asked for."""
    return traced_output(state) if state.given.options.reasoning_trace else current_output(state)


def status(state: TurnState) -> TurnStatus:
    """Phase, counters, what is waited for."""
    pause = state.inbox.pause
    return TurnStatus(
        turn_id=state.turn_id,
        conversation_id=state.conversation_id,
        persona_id=state.begun.persona_id if state.begun else None,
        user_id=state.given.user_id,
        phase=state.phase,
        state=GMI_STATES[state.phase],
        round=state.progress.tool_rounds,
        model_calls=state.progress.model_calls,
        waiting_for=tuple(call.id for call in pause.open_calls) if pause else (),
        error=state.output.error if state.output else None,
        memory=state.begun.memory.model_dump(by_alias=True, exclude_none=True) if state.begun else None,
        rejected_answers=state.inbox.rejected_count,
        limits=state.limits,
        agents=tuple(
            AgentStatus(
                call_id=agent.call_id,
                persona_id=agent.persona_id,
                workflow_id=agent.workflow_id,
                waiting_for=tuple(call.id for call in agent.pending),
            )
            for agent in state.agents.at_work.values()
        ),
    )


def _bounded(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """The calls, with arguments as long as all together stay small; the newest keep theirs."""
    room = FINAL_CALLS_BYTES
    bounded = []
    for call in reversed(calls):
        room -= encoded_size(call)
        bounded.append(call if room >= 0 else call.model_copy(update={"arguments": {}}))
    return tuple(reversed(bounded))
