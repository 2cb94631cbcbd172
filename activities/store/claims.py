"""Who holds a conversation: one open turn at a time, claimed by one workflow run.

Every step locks the conversation's row before it reads or writes turns of it, always in this order, so that racing workers
queue instead of deadlocking.
"""

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from activities.contracts import BeginTurn, MemoryPlan
from activities.conversation import Message, UserMessage
from activities.store import chunks, message_rows
from activities.store.bodies import to_text
from activities.store.errors import ConversationBusy, Holder, NotOwner, TurnAlreadyRan
from activities.store.records import Claimed
from activities.store.tables import conversations, storable, turns
from activities.turn_input import TurnInput

_LOCK_CONVERSATION = select(conversations).where(conversations.c.id == bindparam("conversation_id")).with_for_update()
_NEW_CONVERSATION = insert(conversations)
_USED = (
    update(conversations)
    .where(conversations.c.id == bindparam("conversation_id"))
    .values(next_position=bindparam("next"), updated_ms=bindparam("now"))
)
_TURN = select(turns).where(turns.c.id == bindparam("turn_id"))
_OPEN_TURN = select(turns.c.id, turns.c.workflow_id, turns.c.run_id, turns.c.first_run_id).where(
    turns.c.conversation_id == bindparam("conversation_id"), turns.c.state == "open"
)
_NEW_TURN = insert(turns)
_INPUT = select(turns.c.input).where(turns.c.id == bindparam("turn_id"))
_REPLACE_INPUT = update(turns).where(turns.c.id == bindparam("turn_id")).values(input=bindparam("new_input"))
_RESUME = (
    update(turns)
    .where(turns.c.id == bindparam("turn_id"))
    .values(
        state="open", workflow_id=bindparam("workflow"), run_id=bindparam("run"), ended_ms=None, output=None, usage=None
    )
)
_RESTART = (
    update(turns)
    .where(turns.c.id == bindparam("turn_id"))
    .values(
        state="open",
        workflow_id=bindparam("workflow"),
        run_id=bindparam("run"),
        first_run_id=bindparam("first_run"),
        persona_id=bindparam("persona"),
        input=bindparam("new_input"),
        streams=bindparam("now_streams"),
        memory_text=None,
        memory_plan=None,
        sources=None,
        output=None,
        usage=None,
        created_ms=bindparam("now"),
        ended_ms=None,
    )
)


@dataclass(frozen=True, slots=True)
class _Owner:
    organization_id: str | None
    user_id: str

    @classmethod
    def of(cls, turn_input: TurnInput) -> "_Owner":
        # As the columns keep them, or an id with a character that is stored cleaned would lock its user out.
        organization_id = storable(turn_input.organization_id) if turn_input.organization_id else None
        return cls(organization_id, storable(turn_input.user_id))


def claim(
    connection: Connection,
    begin: BeginTurn,
    persona_id: str,
    said: UserMessage,
    imported: list[list[Message]],
    imported_selection: str | None = None,
) -> Claimed:
    """Make the turn, whose row 0 is `said`, the open one of its conversation.

    A conversation that is new begins with what was imported.

    Raises:
        NotOwner, ConversationBusy, TurnAlreadyRan.
    """
    owner = _Owner.of(begin.input)
    next_position, is_new, selection = _lock_conversation(
        connection, begin, owner, persona_id, imported, imported_selection
    )
    turn = connection.execute(_TURN, {"turn_id": begin.turn_id}).one_or_none()
    if turn is not None:
        _check_may_run(turn, begin, owner)
    if not is_new:
        _check_free(connection, begin)
    if turn is None:
        if not is_new:
            used = {"conversation_id": begin.conversation_id, "next": next_position + 1, "now": begin.now_ms}
            connection.execute(_USED, used)
        claimed = _open(connection, begin, owner, persona_id, said, next_position)
    elif turn.first_run_id == storable(begin.first_run_id):
        claimed = _resume(connection, begin, turn)
    else:
        claimed = _restart(connection, begin, persona_id, said, turn)
    return replace(claimed, selection=selection)


def _lock_conversation(
    connection: Connection,
    begin: BeginTurn,
    owner: _Owner,
    persona_id: str,
    imported: list[list[Message]],
    imported_selection: str | None,
) -> tuple[int, bool, str | None]:
    """Lock the conversation, made if it is new, and say which position is next, whether it was made, what it has chosen."""
    found = connection.execute(_LOCK_CONVERSATION, {"conversation_id": begin.conversation_id}).one_or_none()
    if found is not None:
        _check_owner(found, owner, f"conversation {begin.conversation_id!r}")
        return int(found.next_position), False, found.selection
    connection.execute(
        _NEW_CONVERSATION,
        {
            "id": begin.conversation_id,
            "organization_id": owner.organization_id,
            "user_id": owner.user_id,
            "persona_id": persona_id,
            "session_id": begin.input.session_id,
            "created_ms": begin.now_ms,
            "updated_ms": begin.now_ms,
            "next_position": len(imported) + 1,
            "selection": imported_selection,
        },
    )
    for position, said in enumerate(imported):
        _import_turn(connection, begin, owner, persona_id, position, said)
    return len(imported), True, imported_selection


def _import_turn(
    connection: Connection, begin: BeginTurn, owner: _Owner, persona_id: str, position: int, said: list[Message]
) -> None:
    first = said[0]
    # The run's id is the server's: nobody can take these ids beforehand.
    turn_id = f"{begin.conversation_id}:{begin.first_run_id}:history:{position}"
    values = _turn_values(begin, owner, persona_id, position) | {
        "id": turn_id,
        "workflow_id": "",
        "run_id": "",
        "first_run_id": "",
        "state": "completed",
        "ended_ms": begin.now_ms,
        "streams": False,
        "input": to_text(
            TurnInput(
                content=first.content if isinstance(first, UserMessage) else "",
                conversation_id=begin.input.conversation_id,
                user_id=owner.user_id,
                organization_id=owner.organization_id,
            )
        ),
    }
    connection.execute(_NEW_TURN, values)
    message_rows.put(connection, turn_id, enumerate(said))


def _check_owner(row: Row[Any], owner: _Owner, what: str) -> None:
    if (row.organization_id, row.user_id) != (owner.organization_id, owner.user_id):
        raise NotOwner(f"{what} belongs to somebody else")


def _check_may_run(turn: Row[Any], begin: BeginTurn, owner: _Owner) -> None:
    _check_owner(turn, owner, f"turn {begin.turn_id!r}")
    elsewhere = turn.conversation_id != storable(begin.conversation_id)
    completed_by_another = turn.state == "completed" and turn.first_run_id != storable(begin.first_run_id)
    if elsewhere or completed_by_another:
        raise TurnAlreadyRan(begin.turn_id, turn.conversation_id)


def _check_free(connection: Connection, begin: BeginTurn) -> None:
    found = connection.execute(_OPEN_TURN, {"conversation_id": begin.conversation_id}).one_or_none()
    if found is None or (found.id == storable(begin.turn_id) and found.first_run_id == storable(begin.first_run_id)):
        return
    raise ConversationBusy(begin.conversation_id, Holder(found.id, found.workflow_id, found.run_id, found.first_run_id))


def _open(
    connection: Connection, begin: BeginTurn, owner: _Owner, persona_id: str, said: UserMessage, position: int
) -> Claimed:
    connection.execute(_NEW_TURN, _turn_values(begin, owner, persona_id, position))
    message_rows.begin(connection, begin.turn_id, said)
    return Claimed(position=position, rows=1, resumed=False, plan=None)


def _turn_values(begin: BeginTurn, owner: _Owner, persona_id: str, position: int) -> dict[str, Any]:
    return {
        "id": begin.turn_id,
        "conversation_id": begin.conversation_id,
        "position": position,
        "workflow_id": begin.workflow_id,
        "run_id": begin.run_id,
        "first_run_id": begin.first_run_id,
        "organization_id": owner.organization_id,
        "user_id": owner.user_id,
        "persona_id": persona_id,
        "state": "open",
        "input": _input_text(begin.input),
        "memory_text": None,
        "memory_plan": None,
        "output": None,
        "usage": None,
        "created_ms": begin.now_ms,
        "ended_ms": None,
        "streams": begin.input.options.stream,
    }


def _input_text(turn_input: TurnInput) -> str:
    # Histories stand as turns of their own; a second copy could be megabytes.
    return to_text(turn_input.model_copy(update={"histories": None}) if turn_input.histories else turn_input)


def _resume(connection: Connection, begin: BeginTurn, turn: Row[Any]) -> Claimed:
    """The same first run again: a retry of this very claim, or a run that was reset and goes on with what stands."""
    is_retry = turn.state == "open" and turn.run_id == storable(begin.run_id)
    if not is_retry:
        connection.execute(_RESUME, {"turn_id": begin.turn_id, "workflow": begin.workflow_id, "run": begin.run_id})
        if turn.streams and turn.state != "open":
            chunks.reopen(connection, begin.turn_id)
    return Claimed(
        position=turn.position,
        rows=message_rows.count(connection, begin.turn_id),
        # A retried claim answers as it did at first; the ids of the runs tell a reset run's from a first run's.
        resumed=not is_retry or begin.run_id != begin.first_run_id,
        plan=MemoryPlan.model_validate_json(turn.memory_plan) if turn.memory_plan else None,
    )


def _restart(connection: Connection, begin: BeginTurn, persona_id: str, said: UserMessage, turn: Row[Any]) -> Claimed:
    """A new first run of a turn that did not complete. The runs of its tools are kept: what was done stays done."""
    message_rows.forget(connection, begin.turn_id)
    if turn.streams:
        chunks.forget(connection, begin.turn_id)
    connection.execute(
        _RESTART,
        {
            "turn_id": begin.turn_id,
            "workflow": begin.workflow_id,
            "run": begin.run_id,
            "first_run": begin.first_run_id,
            "persona": persona_id,
            "new_input": _input_text(begin.input),
            "now_streams": begin.input.options.stream,
            "now": begin.now_ms,
        },
    )
    message_rows.begin(connection, begin.turn_id, said)
    return Claimed(position=turn.position, rows=1, resumed=False, plan=None)


def replace_input(connection: Connection, turn_id: str, message: UserMessage) -> None:
    """Put another message in the place of what the user said."""
    found = connection.execute(_INPUT, {"turn_id": turn_id}).scalar_one()
    given = TurnInput.model_validate_json(found).model_copy(update={"content": message.content})
    connection.execute(_REPLACE_INPUT, {"turn_id": turn_id, "new_input": to_text(given)})
    message_rows.replace_first(connection, turn_id, message)
