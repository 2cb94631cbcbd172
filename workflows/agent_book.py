"""The sub-agents of a turn, as its state keeps book of them: started, asking, answered, ended. Pure; time is a parameter."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from activities.conversation import GMIOutput
from workflows.agent_input import agent_input
from workflows.agents import Agent, agent_result
from workflows.contracts import PendingCall
from workflows.pause import Pause, agent_of
from workflows.rounds import Delegate, PlannedCall
from workflows.turn_state import TurnState
from workflows.usage import add_totals


def start_agent(
    state: TurnState, planned: PlannedCall, task: Delegate, workflow_id: str
) -> tuple[Agent, dict[str, Any]]:
    """A sub-agent is about to start; the input of its turn."""
    state.note_own_call(planned)
    call_id = planned.call.id
    agent = state.agents.start(call_id, task.persona_id, workflow_id, state.given.external_tools)
    return agent, agent_input(state.given, state.conversation_id, call_id, task, state.share)


def end_agent(state: TurnState, planned: PlannedCall, agent: Agent, output: GMIOutput, now: datetime) -> None:
    """A sub-agent has ended: its words are the result of the call, and what it used counts."""
    _count(state, agent, output)
    state.set_result(planned, agent_result(planned, output), now)


def lose_agent(state: TurnState, agent: Agent) -> None:
    """A sub-agent was stopped with this turn; what it told at its end counts."""
    if agent.call_id in state.agents.at_work:
        _count(state, agent, agent.output)


def _count(state: TurnState, agent: Agent, output: GMIOutput | None) -> None:
    state.agents.end(agent)
    if output is not None and output.usage is not None:
        state.progress.usage = add_totals(state.progress.usage, output.usage)
        state.progress.agent_calls += output.model_calls or 0


def open_agents_pause(state: TurnState, workflow_id: str, now: datetime) -> Pause:
    """The round's calls are under way, and sub-agents among them wait for the host."""
    state.agents.pauses += 1
    calls, deadlines = state.agents.new_calls, state.agents.deadlines
    state.agents.asked |= {call.id for call in calls}
    name = f"{state.progress.model_calls - 1}.{state.agents.pauses}"
    return state.pause_for(name, calls, set(), None, workflow_id, now, *deadlines)


def join_pause(state: TurnState, pause: Pause, now: datetime) -> list[PendingCall]:
    """What sub-agents newly wait for joins the pause, what they gave up is closed. The calls that joined."""
    state.note_filled(pause.fill_some(state.agents.gone(pause), "moved_on"), now)
    added = state.agents.new_calls
    state.agents.asked |= {call.id for call in added}
    pause.add(added)
    if added and state.request is not None:
        state.transcript.pause_opened(state.request.model_copy(update={"tool_calls": tuple(added)}), now)
    return added


def pass_on(state: TurnState, pause: Pause, call_ids: Sequence[str]) -> None:
    """What the host said of calls of sub-agents is for them to hear; a raise of their share is one of the turn's budget."""
    slots = [pause.slot(call_id) for call_id in call_ids]
    state.agents.pass_on(slots)
    for slot in slots:
        if slot.call.kind == "budget" and agent_of(slot.call.id) is not None:
            state.budget.grow(slot.call, slot.resolution)
