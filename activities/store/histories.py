"""Stored histories: a conversation that began elsewhere, too large for a turn's input, kept until a turn names it."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, insert, select

from activities.store.database import Database
from activities.store.nestia_histories import import_histories
from activities.store.tables import stored_histories

History = Sequence[dict[str, Any]]

_ONE = select(stored_histories).where(stored_histories.c.ref == bindparam("ref"))
_KEEP = insert(stored_histories)


class HistoryStore:
    """Histories by name. Blocking; safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, history: History, organization_id: str | None, user_id: str, now_ms: int) -> str:
        """Keep a history and give its name, which is the same for the same owner and content.

        Raises:
            ValueError: an entry is malformed; the message names its index and field.
        """
        import_histories(history, "check")
        body = json.dumps(list(history))
        ref = hashlib.sha256(json.dumps([organization_id, user_id, body]).encode()).hexdigest()[:32]
        with self._database.write() as connection:
            if connection.execute(_ONE, {"ref": ref}).one_or_none() is None:
                owner = {"organization_id": organization_id, "user_id": user_id}
                connection.execute(_KEEP, {"ref": ref, "body": body, "created_ms": now_ms, **owner})
        return ref

    def get(self, ref: str, organization_id: str | None, user_id: str) -> tuple[dict[str, Any], ...] | None:
        """The owner's history of that name, or None."""
        with self._database.read() as connection:
            found = connection.execute(_ONE, {"ref": ref}).one_or_none()
        if found is None or (found.organization_id, found.user_id) != (organization_id, user_id):
            return None
        return tuple(json.loads(found.body))
