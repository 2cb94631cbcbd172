"""How a turn ends: by its own workflow, or by the next turn that found its holder gone."""

import json
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select, update

from activities.contracts import CommitTurn, TurnCommitted
from activities.conversation import ErrorDetails
from activities.errors import TURN_SUPERSEDED
from activities.store import chunks, message_rows
from activities.store.bodies import to_text, tool_message
from activities.store.errors import TurnClosed, TurnNotFound
from activities.store.records import TurnState
from activities.store.tables import conversations, storable, turns
from activities.streaming_chunks import closing_drafts, ended_drafts

_WHY_OPEN = {
    "completed": "The turn ended before this call was answered.",
    "failed": "The turn failed before this call was answered.",
    "cancelled": "The turn was cancelled before this call was answered.",
    "superseded": "The user moved on before this call was answered.",
}

# An update and not a select: it locks the conversation's row and says when it was last used, in one statement.
_TOUCH = (
    update(conversations).where(conversations.c.id == bindparam("conversation_id")).values(updated_ms=bindparam("now"))
)
_CHOSE = (
    update(conversations)
    .where(conversations.c.id == bindparam("conversation_id"))
    .values(selection=bindparam("new_selection"))
)
_LOCK_TURN = (
    select(turns.c.conversation_id, turns.c.position, turns.c.state, turns.c.streams)
    .where(turns.c.id == bindparam("turn_id"))
    .with_for_update()
)
_LOCK_HOLDER = (
    select(turns.c.streams)
    .where(
        turns.c.id == bindparam("turn_id"),
        turns.c.conversation_id == bindparam("conversation_id"),
        turns.c.run_id == bindparam("run"),
        turns.c.state == "open",
    )
    .with_for_update()
)
_CLOSE = (
    update(turns)
    .where(turns.c.id == bindparam("turn_id"))
    .values(
        state=bindparam("new_state"),
        output=bindparam("new_output"),
        usage=bindparam("new_usage"),
        ended_ms=bindparam("now"),
    )
)


@dataclass(frozen=True, slots=True)
class LockedTurn:
    """What a transaction knows of a turn that nobody else changes until it ends."""

    conversation_id: str
    position: int
    state: TurnState
    streams: bool


def lock_turn(connection: Connection, turn_id: str) -> LockedTurn:
    """Keep everybody else from changing the turn until this transaction ends.

    Raises:
        TurnNotFound: it was never claimed.
    """
    turn = connection.execute(_LOCK_TURN, {"turn_id": turn_id}).one_or_none()
    if turn is None:
        raise TurnNotFound(turn_id)
    return LockedTurn(*turn)


def lock_open_turn(connection: Connection, turn_id: str) -> LockedTurn:
    """As `lock_turn`, for a transaction that adds to the turn.

    Raises:
        TurnNotFound, TurnClosed.
    """
    turn = lock_turn(connection, turn_id)
    if turn.state != "open":
        raise TurnClosed(turn_id, turn.state)
    return turn


def commit(connection: Connection, close: CommitTurn) -> TurnCommitted:
    """Close the turn and free its conversation; a turn that is closed already stays as it is.

    Raises:
        TurnNotFound: no such turn in that conversation.
    """
    connection.execute(_TOUCH, {"conversation_id": close.conversation_id, "now": close.now_ms})
    turn = lock_turn(connection, close.turn_id)
    if turn.conversation_id != storable(close.conversation_id):
        raise TurnNotFound(close.turn_id)
    if turn.state != "open":
        return TurnCommitted(position=turn.position, rows=message_rows.count(connection, close.turn_id))
    rows = message_rows.close(
        connection,
        close.turn_id,
        _WHY_OPEN[close.state],
        # A reply that was stored while its turn was being cancelled stands after these: the workflow never saw it.
        upto=close.rows,
        placed=[(placed.row, tool_message(placed.result)) for placed in close.results],
    )
    connection.execute(
        _CLOSE,
        {
            "turn_id": close.turn_id,
            "new_state": close.state,
            "new_output": to_text(close.output),
            "new_usage": to_text(close.usage),
            "now": close.now_ms,
        },
    )
    if turn.streams:
        chunks.end(connection, close.turn_id, closing_drafts(close), close.now_ms)
    if close.selection is not None:
        chosen = {"conversation_id": close.conversation_id, "new_selection": json.dumps(close.selection)}
        connection.execute(_CHOSE, chosen)
    return TurnCommitted(position=turn.position, rows=rows)


def take_over(
    connection: Connection, conversation_id: str, holder_turn_id: str, holder_run_id: str, now_ms: int, reason: str
) -> bool:
    """Close a turn whose workflow is gone; False when the holder changed in the meantime and nothing was done."""
    connection.execute(_TOUCH, {"conversation_id": conversation_id, "now": now_ms})
    held = {"turn_id": holder_turn_id, "conversation_id": conversation_id, "run": holder_run_id}
    held_turn = connection.execute(_LOCK_HOLDER, held).one_or_none()
    if held_turn is None:
        return False
    message_rows.close(connection, holder_turn_id, reason)
    if held_turn.streams:
        error = ErrorDetails(code=TURN_SUPERSEDED, message=reason)
        chunks.end(connection, holder_turn_id, ended_drafts("abandoned", error), now_ms)
    connection.execute(
        _CLOSE,
        {"turn_id": holder_turn_id, "new_state": "abandoned", "new_output": None, "new_usage": None, "now": now_ms},
    )
    return True
