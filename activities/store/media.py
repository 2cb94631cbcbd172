"""The bytes of sound and pictures, each stored in the transaction of the row or the run that has its address.

They live as long as their turn, and go with it. What is stored twice stands once.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, insert, select

from activities.media import MAX_TURN_BYTES, MediaItem, key_of
from activities.store import closing
from activities.store.database import Database
from activities.store.errors import MediaFull
from activities.store.tables import media, storable, turns

_STANDING = select(media.c.key).where(media.c.turn_id == bindparam("of_turn"))
_USED = select(func.coalesce(func.sum(media.c.size), 0)).where(media.c.turn_id == bindparam("of_turn"))
_INSERT = insert(media)
_ONE = (
    select(media, turns.c.organization_id, turns.c.user_id)
    .join_from(media, turns, media.c.turn_id == turns.c.id)
    .where(media.c.key == bindparam("key"))
)


@dataclass(frozen=True, slots=True)
class Media:
    """One sound or picture as it is kept. `created_ms` counts from 1970."""

    turn_id: str
    kind: str
    format: str
    mime: str
    size: int
    sha256: str
    data: bytes
    created_ms: int


def put(connection: Connection, turn_id: str, items: Sequence[MediaItem]) -> None:
    """Keep items of a turn that this transaction has locked; those that stand already are left.

    Raises:
        MediaFull: together they would take more than `MAX_TURN_BYTES`.
    """
    if not items:
        return
    standing = set(connection.execute(_STANDING, {"of_turn": turn_id}).scalars())
    fresh = {key: item for item in items if (key := item.key(turn_id)) not in standing}
    if not fresh:
        return
    used, more = int(connection.execute(_USED, {"of_turn": turn_id}).scalar_one()), sum(map(_size, fresh.values()))
    if used + more > MAX_TURN_BYTES:
        raise MediaFull(used, more, MAX_TURN_BYTES)
    now = time.time_ns() // 1_000_000
    rows = [
        {
            "key": key,
            "turn_id": turn_id,
            "kind": item.kind,
            "format": item.format,
            "mime": item.mime,
            "size": len(item.data),
            "sha256": item.sha256,
            "body": item.data,
            "created_ms": now,
        }
        for key, item in fresh.items()
    ]
    connection.execute(_INSERT, rows)


class MediaStore:
    """Sound and pictures by their addresses. Blocking; safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, turn_id: str, items: Sequence[MediaItem]) -> None:
        """Keep items of an open turn.

        Raises:
            MediaFull, TurnNotFound, TurnClosed, StoreUnavailable.
        """
        with self._database.write() as connection:
            closing.lock_open_turn(connection, turn_id)
            put(connection, turn_id, items)

    def of_user(self, url: str, organization_id: str | None, user_id: str) -> Media | None:
        """What is at an address, if it is this user's; else None.

        Raises:
            MediaInvalidError: it is no address.
            StoreUnavailable.
        """
        found, owner = self._find(url)
        asks = (storable(organization_id) if organization_id else None, storable(user_id))
        return found if owner == asks else None

    def of_turn(self, url: str, turn_id: str) -> Media | None:
        """What is at an address, if it is this turn's; else None. Raises as `of_user`."""
        found, _ = self._find(url)
        return found if found is not None and found.turn_id == storable(turn_id) else None

    def _find(self, url: str) -> tuple[Media | None, tuple[str | None, str] | None]:
        key = key_of(url)
        with self._database.read() as connection:
            row = connection.execute(_ONE, {"key": key}).one_or_none()
        if row is None:
            return None, None
        found = Media(
            row.turn_id, row.kind, row.format, row.mime, row.size, row.sha256, bytes(row.body), row.created_ms
        )
        return found, (row.organization_id, row.user_id)


def _size(item: MediaItem) -> int:
    return len(item.data)
