"""What a turn retrieved: saved once, and told to who reads its stream."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, select, update

from activities.sources import RagRetrievedChunk, Sources
from activities.store import chunks, closing
from activities.store.bodies import to_text
from activities.store.tables import turns
from activities.streaming_chunks import sources_draft

_SOURCES = select(turns.c.sources).where(turns.c.id == bindparam("turn_id"))
_SAVE = update(turns).where(turns.c.id == bindparam("turn_id")).values(sources=bindparam("found"))


def save(connection: Connection, turn_id: str, found: Sequence[RagRetrievedChunk]) -> tuple[RagRetrievedChunk, ...]:
    """Keep the sources of an open turn; those that stand, which are the first that were saved.

    Raises:
        TurnNotFound, TurnClosed.
    """
    turn = closing.lock_open_turn(connection, turn_id)
    standing = read(connection.execute(_SOURCES, {"turn_id": turn_id}).scalar_one())
    if standing is not None:
        return standing
    connection.execute(_SAVE, {"turn_id": turn_id, "found": to_text(Sources(sources=tuple(found)))})
    if turn.streams:
        chunks.append(connection, turn_id, [sources_draft(found)])
    return tuple(found)


def read(column: str | None) -> tuple[RagRetrievedChunk, ...] | None:
    """The sources of a column, None when nobody looked for any."""
    return None if column is None else Sources.model_validate_json(column).sources
