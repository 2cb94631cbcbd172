"""The turns of an instance, as its state keeps book of them: begun, heard of, answered, ended, forgotten. Pure."""

from datetime import datetime

import workflows.gmi_adaptation as adaptation
import workflows.gmi_trace as tracing
from activities.conversation import ErrorDetails, GMIOutput
from activities.errors import SYS_NOT_INITIALIZED
from activities.json_values import encoded_size
from workflows.gmi_contracts import LastTurn, OpenTurn, QueuedTurn, TurnNotice, TurnOutcome
from workflows.gmi_state import InstanceState, digest_of, keep_newest
from workflows.usage import add_totals

# More than may wait at once: a sender whose wait was cut off by a new run asks again, and must find its turn.
KEPT_OUTCOMES, OUTCOME_BYTES = 128, 256_000
KEPT_TURNS = 64
PENDING_BYTES = 64_000
ERRORS_LOOKED_AT, MANY_ERRORS = 20, 2


def begin_turn(state: InstanceState, queued: QueuedTurn, key: str, now: datetime) -> None:
    """The turn is about to start."""
    state.open = OpenTurn(
        turn_id=queued.turn_id,
        conversation_id=queued.conversation_id,
        workflow_id=queued.workflow_id,
        key=key,
        digest=queued.digest,
        started_at=now,
    )
    said = queued.body.get("content")
    state.conversation_id, state.error = queued.conversation_id, None
    state.last_turn = LastTurn(
        turn_id=queued.turn_id,
        conversation_id=queued.conversation_id,
        key=key,
        said=digest_of(said),
        is_user_turn=queued.body.get("type", "text") in ("text", "multimodal_content"),
    )
    state.rag_sources, state.given_sources = state.given_sources, None
    state.held[queued.turn_id] = digest_of(said)
    while len(state.held) > KEPT_TURNS:
        del state.held[next(iter(state.held))]
    shown = said[:100] if isinstance(said, str) else "a message of several parts"
    state.note("INTERACTION_START", f"Turn {queued.turn_id}", now, {"input": shown}, queued.turn_id)


def heard(state: InstanceState, notice: TurnNotice, now: datetime) -> bool:
    """Take a notice of the open turn. False when it is another's, or an old one."""
    turn = state.open
    if turn is None or notice.workflow_id != turn.workflow_id or notice.number <= turn.number:
        return False
    if notice.output.rag_sources is not None:
        state.rag_sources = notice.output.rag_sources
    if notice.output.is_final:
        end_turn(state, notice.output, now)
        return True
    pending = notice.pending if encoded_size(notice.pending) <= PENDING_BYTES else None
    state.open = turn.model_copy(update={"number": notice.number, "output": notice.output, "pending": pending})
    names = ", ".join(call.name for call in notice.output.tool_calls or ())
    state.note("TOOL_CALL_REQUESTED", f"The turn waits for its host: {names}", now, turn_id=turn.turn_id)
    return True


def answered(state: InstanceState, turn: OpenTurn) -> None:
    """The host has answered the turn's pause: it goes on. By now it may have stopped again, or ended."""
    if state.open is not None and (state.open.workflow_id, state.open.number) == (turn.workflow_id, turn.number):
        state.open = state.open.model_copy(update={"output": None, "pending": None})


def end_turn(state: InstanceState, output: GMIOutput, now: datetime) -> None:
    """The open turn has ended."""
    turn = state.open
    assert turn is not None
    state.open = None
    keep_outcome(state, turn.turn_id, turn.conversation_id, turn.digest, output)
    state.turns += 1
    if output.usage is not None:
        state.usage = add_totals(state.usage, output.usage)
    failed = output.error
    if failed is not None:
        state.failed += 1
        state.error = failed
        state.note("ERROR", failed.message, now, {"code": failed.code}, turn.turn_id)
    state.note("INTERACTION_END", f"Turn {turn.turn_id} ended", now, turn_id=turn.turn_id)
    if failed is not None and sum(entry.type == "ERROR" for entry in state.trace[-ERRORS_LOOKED_AT:]) >= MANY_ERRORS:
        adaptation.raise_event(state, "error_threshold_exceeded")
    if failed is None:
        adaptation.reflect_when_due(state)


def refuse_turn(state: InstanceState, output: GMIOutput, now: datetime) -> None:
    """The turn that was about to start did not: its sender is told, and nothing else comes of it."""
    turn = state.open
    assert turn is not None
    state.open, state.last_turn = None, None
    state.held.pop(turn.turn_id, None)
    keep_outcome(state, turn.turn_id, turn.conversation_id, turn.digest, output)
    state.note("WARNING", output.error.message if output.error else "The turn did not start", now)


def keep_outcome(state: InstanceState, turn_id: str, conversation_id: str, digest: str, output: GMIOutput) -> None:
    """Keep how a turn ended, in place of the oldest."""
    state.outcomes.append(TurnOutcome(turn_id=turn_id, conversation_id=conversation_id, digest=digest, output=output))
    keep_newest(state.outcomes, KEPT_OUTCOMES, OUTCOME_BYTES)


def drop_queue(state: InstanceState) -> None:
    """Turns that will not run: their senders are told."""
    error = ErrorDetails(code=SYS_NOT_INITIALIZED, message="the instance was shut down before the turn could begin")
    for each in state.queue:
        output = GMIOutput(is_final=True, error=error, turn_id=each.turn_id, conversation_id=each.conversation_id)
        keep_outcome(state, each.turn_id, each.conversation_id, each.digest, output)
    state.queue = []


def forget_turns(state: InstanceState, kept_inputs: list[str]) -> None:
    """The history was replaced: of a turn whose message it does not hold any more, only that it ran is kept.

    One message keeps one turn, the newest first.
    """
    left = list(kept_inputs)
    held: dict[str, str] = {}
    for turn_id, said in reversed(list(state.held.items())):
        if said in left:
            left.remove(said)
            held[turn_id] = said
    state.held = dict(reversed(held.items()))
    tracing.forget_turns(state.trace, state.held)
    if state.last_turn is not None and state.last_turn.turn_id not in state.held:
        state.last_turn = None


def move_to(state: InstanceState, conversation_id: str) -> None:
    """Go on in another conversation: what was kept for the last turn of this one is dropped."""
    if conversation_id != state.conversation_id:
        state.conversation_id, state.last_turn = conversation_id, None
        state.rag_sources = state.given_sources = None
