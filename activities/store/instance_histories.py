"""Conversations as an instance handles them: read in pages, replaced as a whole.

Nothing is deleted when a history is replaced. Its turns move to a conversation of their own, whose name ends in the key of
the request, so that what refers to them by their ids (what memory still has to learn, runs of tools) finds them there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, func, insert, or_, select, update

from activities.conversation import Message, UserMessage
from activities.store import message_rows
from activities.store.bodies import to_message, to_text
from activities.store.database import Database
from activities.store.errors import ConversationBusy, Holder, NotOwner
from activities.store.tables import conversations, messages, storable, turns
from activities.turn_input import TurnInput

PAGE_ROWS = 200
FIRST = (2**31 - 1, 2**31 - 1)

_OWNER = select(conversations).where(conversations.c.id == bindparam("conversation_id"))
_LOCK = select(conversations).where(conversations.c.id == bindparam("conversation_id")).with_for_update()
_PAGE = (
    select(turns.c.position, messages.c.row, turns.c.id, turns.c.created_ms, messages.c.body)
    .join_from(turns, messages, turns.c.id == messages.c.turn_id)
    .where(
        turns.c.conversation_id == bindparam("conversation_id"),
        or_(
            turns.c.position < bindparam("position"),
            and_(turns.c.position == bindparam("position"), messages.c.row < bindparam("row")),
        ),
    )
    .order_by(turns.c.position.desc(), messages.c.row.desc())
    .limit(PAGE_ROWS)
)
_PAGE_OF_TURN = _PAGE.where(turns.c.id == bindparam("turn_id"))
_OPEN = select(turns.c.id, turns.c.workflow_id, turns.c.run_id, turns.c.first_run_id).where(
    turns.c.conversation_id == bindparam("conversation_id"), turns.c.state == "open"
)
_COUNT = select(func.count()).select_from(turns).where(turns.c.conversation_id == bindparam("conversation_id"))
_HAS_TURN = select(turns.c.id).where(turns.c.id == bindparam("turn_id"))
_MOVE = (
    update(turns)
    .where(turns.c.conversation_id == bindparam("from_conversation"))
    .values(conversation_id=bindparam("to_conversation"))
)
_CHANGED = (
    update(conversations)
    .where(conversations.c.id == bindparam("conversation"))
    .values(next_position=bindparam("next"), updated_ms=bindparam("now"), selection=bindparam("chosen"))
)


@dataclass(frozen=True, slots=True)
class Owner:
    """Who may see and change a conversation."""

    organization_id: str | None
    user_id: str
    persona_id: str
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A message and its place: the turn's position in the conversation, and its row there."""

    position: int
    row: int
    turn_id: str
    created_ms: int
    message: Message


class InstanceHistories:
    """Conversations of instances. Blocking; safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(
        self, conversation_id: str, owner: Owner, before: tuple[int, int] = FIRST, turn_id: str | None = None
    ) -> list[PlacedRow]:
        """At most `PAGE_ROWS` messages before a place, the newest first; of one turn alone when it is named.

        Raises:
            NotOwner: the conversation is somebody else's.
        """
        wanted: dict[str, Any] = {"conversation_id": conversation_id, "position": before[0], "row": before[1]}
        with self._database.read() as connection:
            found = connection.execute(_OWNER, {"conversation_id": conversation_id}).one_or_none()
            if found is None:
                return []
            _check(found, owner)
            query = _PAGE if turn_id is None else _PAGE_OF_TURN
            rows = connection.execute(query, wanted if turn_id is None else {**wanted, "turn_id": turn_id})
            return [PlacedRow(place, row, turn, at, to_message(body)) for place, row, turn, at, body in rows]

    def replace(
        self,
        conversation_id: str,
        owner: Owner,
        said: Sequence[Sequence[Message]],
        key: str,
        now_ms: int,
        *,
        append: bool,
    ) -> None:
        """Make the turns `said` the whole conversation, or with `append` its end. Done once for a key.

        Raises:
            NotOwner: the conversation is somebody else's.
            ConversationBusy: a turn of it is open.
        """

        def work(connection: Connection) -> None:
            found = connection.execute(_LOCK, {"conversation_id": conversation_id}).one_or_none()
            if found is not None:
                _check(found, owner)
            if _is_done(connection, conversation_id, key):
                return
            position = 0 if found is None else int(found.next_position)
            if found is None:
                connection.execute(insert(conversations), _conversation(conversation_id, owner, now_ms))
            else:
                _check_free(connection, conversation_id)
                if not append and connection.execute(_COUNT, {"conversation_id": conversation_id}).scalar_one():
                    _set_aside(connection, conversation_id, owner, key, position, now_ms)
            for number, messages_of_turn in enumerate(said):
                _import(connection, conversation_id, owner, key, number, position + number, messages_of_turn, now_ms)
            changed = {"conversation": conversation_id, "next": position + len(said), "now": now_ms}
            chosen = found.selection if found is not None and append else None
            connection.execute(_CHANGED, {**changed, "chosen": chosen})

        self._database.transact(work)


def _check(found: Row[Any], owner: Owner) -> None:
    organization = storable(owner.organization_id) if owner.organization_id else None
    if (found.organization_id, found.user_id) != (organization, storable(owner.user_id)):
        raise NotOwner("the conversation belongs to somebody else")


def _check_free(connection: Connection, conversation_id: str) -> None:
    held = connection.execute(_OPEN, {"conversation_id": conversation_id}).one_or_none()
    if held is not None:
        raise ConversationBusy(conversation_id, Holder(held.id, held.workflow_id, held.run_id, held.first_run_id))


def _is_done(connection: Connection, conversation_id: str, key: str) -> bool:
    aside = connection.execute(_OWNER, {"conversation_id": _aside(conversation_id, key)}).one_or_none()
    turn = connection.execute(_HAS_TURN, {"turn_id": _turn_id(conversation_id, key, 0)}).one_or_none()
    return aside is not None or turn is not None


def _set_aside(
    connection: Connection, conversation_id: str, owner: Owner, key: str, position: int, now_ms: int
) -> None:
    aside = _aside(conversation_id, key)
    connection.execute(insert(conversations), {**_conversation(aside, owner, now_ms), "next_position": position})
    connection.execute(_MOVE, {"from_conversation": conversation_id, "to_conversation": aside})


def _import(
    connection: Connection,
    conversation_id: str,
    owner: Owner,
    key: str,
    number: int,
    position: int,
    said: Sequence[Message],
    now_ms: int,
) -> None:
    first, turn_id = said[0], _turn_id(conversation_id, key, number)
    content = first.content if isinstance(first, UserMessage) else ""
    values = {
        "id": turn_id,
        "conversation_id": conversation_id,
        "position": position,
        "workflow_id": "",
        "run_id": "",
        "first_run_id": "",
        "organization_id": storable(owner.organization_id) if owner.organization_id else None,
        "user_id": owner.user_id,
        "persona_id": owner.persona_id,
        "state": "completed",
        "input": to_text(TurnInput(content=content, user_id=owner.user_id, organization_id=owner.organization_id)),
        "created_ms": now_ms,
        "ended_ms": now_ms,
    }
    connection.execute(insert(turns), values)
    message_rows.put(connection, turn_id, enumerate(said))


def _conversation(conversation_id: str, owner: Owner, now_ms: int) -> dict[str, Any]:
    return {
        "id": conversation_id,
        "organization_id": storable(owner.organization_id) if owner.organization_id else None,
        "user_id": owner.user_id,
        "persona_id": owner.persona_id,
        "session_id": owner.session_id,
        "created_ms": now_ms,
        "updated_ms": now_ms,
        "next_position": 0,
    }


def _aside(conversation_id: str, key: str) -> str:
    return f"{conversation_id}~{key}"


def _turn_id(conversation_id: str, key: str, number: int) -> str:
    return f"{conversation_id}:{key}:history:{number}"
