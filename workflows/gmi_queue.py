"""The queue of an instance: which message is known already, which has room, and where it stands. Pure."""

from typing import Any

from activities import errors
from activities.conversation import GMIOutput
from activities.json_values import encoded_size
from workflows.gmi_contracts import OpenTurn, QueuedTurn
from workflows.gmi_message import Message
from workflows.gmi_refusal import Refused
from workflows.gmi_state import TASK_CONTEXT, USER_CONTEXT, InstanceState
from workflows.turn_state import turn_key

MAX_QUEUED, MAX_QUEUED_BYTES = 64, 256_000


def repeats(state: InstanceState, message: Message) -> bool:
    """Whether the message is known by its turn id already.

    Raises:
        Refused: the turn of that id says something else.
    """
    known = state.find(message.turn.turn_id)
    if known is None:
        return False
    if known.digest != message.turn.digest:
        raise Refused(
            f"interactionId: a turn {message.turn.turn_id!r} with another message runs or has run",
            errors.TURN_ALREADY_RAN,
        )
    return True


def check_place(state: InstanceState, message: Message) -> None:
    """Whether the instance takes one more message now.

    Raises:
        Refused: it is busy and the message would not wait, or too many wait already.
    """
    is_busy = state.open is not None or bool(state.queue)
    if is_busy and message.on_busy == "refuse":
        turn_id = state.open.turn_id if state.open else state.queue[0].turn_id
        raise Refused(
            f"the instance is busy with the turn {turn_id!r}; answer or cancel it, or send onBusy: wait or supersede",
            errors.SYS_INVALID_STATE,
            {"currentGMIState": state.prime_state, "turnId": turn_id},
        )
    # One message alone may be larger: it leaves the queue at once.
    is_full = len(state.queue) >= MAX_QUEUED or encoded_size([*state.queue, message.turn]) > MAX_QUEUED_BYTES
    if is_busy and is_full:
        raise Refused(f"{len(state.queue)} messages wait already; send it again later", errors.SYS_RATE_LIMIT_EXCEEDED)


def enqueue(state: InstanceState, turn: QueuedTurn) -> None:
    """Give the turn its place: the end, or before all that do not supersede."""
    place = sum(each.superseding for each in state.queue) if turn.superseding else len(state.queue)
    state.queue.insert(place, turn)


def remember_contexts(state: InstanceState, body: dict[str, Any]) -> None:
    """What the turn says of its user and task stays in working memory."""
    for key, name in ((USER_CONTEXT, "userContextOverride"), (TASK_CONTEXT, "taskContextOverride")):
        if body.get(name):
            state.remember(key, body[name])


def key_of(turn: QueuedTurn) -> str:
    """What the store calls the turn."""
    return turn_key(turn.conversation_id, turn.turn_id, turn.workflow_id)


def still_running(turn: QueuedTurn | OpenTurn) -> GMIOutput:
    """What a sender gets who does not wait any longer: the turn's id."""
    return GMIOutput(is_final=False, turn_id=turn.turn_id, conversation_id=turn.conversation_id)
