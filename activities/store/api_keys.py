"""Keys of the memory service and the limits of their organisations. Blocking; safe to share between threads."""

import json
from dataclasses import asdict, dataclass
from typing import Any, cast

from sqlalchemy import Row, bindparam, insert, select, update

from activities.store.database import Database
from activities.store.records import Scope
from activities.store.tables import api_keys, organizations

MOST_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What an organisation has in place of the service's own limits; None inherits."""

    max_total_tokens: int | None = None
    default_recall_limit: int | None = None
    max_index_items: int | None = None


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key as it is kept. `prefix` is its public half; of its secret there is only the SHA-256."""

    id: str
    prefix: str
    secret_sha256: str
    name: str
    scope: Scope
    scopes: tuple[str, ...]
    created_ms: int
    expires_ms: int | None = None
    revoked_ms: int | None = None
    last_used_ms: int | None = None

    def status(self, now_ms: int) -> str:
        """`active`, `expired` or `revoked`."""
        if self.revoked_ms is not None:
            return "revoked"
        return "expired" if self.expires_ms is not None and self.expires_ms <= now_ms else "active"


_BY_PREFIX = (
    select(
        api_keys,
        organizations.c.max_total_tokens,
        organizations.c.default_recall_limit,
        organizations.c.max_index_items,
    )
    .select_from(api_keys.outerjoin(organizations, organizations.c.id == api_keys.c.organization_id))
    .where(api_keys.c.prefix == bindparam("sought"))
)
_OF_ORGANIZATION = (
    select(api_keys)
    .where(api_keys.c.organization_id == bindparam("sought"))
    .order_by(api_keys.c.created_ms.desc(), api_keys.c.id)
    .limit(MOST_LISTED)
)
_BY_ID = select(api_keys).where(api_keys.c.id == bindparam("sought"))
_ADD = insert(api_keys)
_REVOKE = (
    update(api_keys)
    .where(api_keys.c.id == bindparam("sought"), api_keys.c.revoked_ms.is_(None))
    .values(revoked_ms=bindparam("now"))
)
_USED = update(api_keys).where(api_keys.c.id == bindparam("sought")).values(last_used_ms=bindparam("now"))
_LIMITS = select(organizations).where(organizations.c.id == bindparam("sought"))


class ApiKeyStore:
    """The keys of all organisations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, key: StoredKey) -> None:
        """Keep a new key."""
        with self._database.write() as connection:
            connection.execute(
                _ADD,
                {
                    "id": key.id,
                    "prefix": key.prefix,
                    "secret_sha256": key.secret_sha256,
                    "name": key.name,
                    "organization_id": key.scope.organization_id,
                    "user_id": key.scope.user_id,
                    "persona_id": key.scope.persona_id,
                    "scopes": json.dumps(key.scopes),
                    "created_ms": key.created_ms,
                    "expires_ms": key.expires_ms,
                    "revoked_ms": key.revoked_ms,
                    "last_used_ms": key.last_used_ms,
                },
            )

    def find(self, prefix: str) -> tuple[StoredKey, Limits] | None:
        """The key of this prefix, whatever its status, and its organisation's limits. Costs one small SELECT."""
        with self._database.read() as connection:
            row = connection.execute(_BY_PREFIX, {"sought": prefix}).one_or_none()
        return None if row is None else (_key(row), _limits(row))

    def of_organization(self, organization_id: str) -> list[StoredKey]:
        """The newest thousand keys of an organisation, the newest first."""
        with self._database.read() as connection:
            return [_key(row) for row in connection.execute(_OF_ORGANIZATION, {"sought": organization_id})]

    def revoke(self, key_id: str, organization_id: str | None, now_ms: int) -> int | None:
        """Close a key for good; the time at which it was closed first. None: the organisation has no such key.

        Without an organisation the key may be anybody's.
        """
        with self._database.write() as connection:
            row = connection.execute(_BY_ID, {"sought": key_id}).one_or_none()
            if row is None or organization_id not in (None, row.organization_id):
                return None
            connection.execute(_REVOKE, {"sought": key_id, "now": now_ms})
            return cast(int, now_ms if row.revoked_ms is None else row.revoked_ms)

    def note_use(self, key_id: str, now_ms: int) -> None:
        """Note when a key was used last."""
        with self._database.write() as connection:
            connection.execute(_USED, {"sought": key_id, "now": now_ms})

    def limits(self, organization_id: str) -> Limits:
        """An organisation's own limits."""
        with self._database.read() as connection:
            row = connection.execute(_LIMITS, {"sought": organization_id}).one_or_none()
        return Limits() if row is None else _limits(row)

    def set_limits(self, organization_id: str, limits: Limits) -> None:
        """Give an organisation limits of its own, in place of all it had."""
        values = asdict(limits)

        def put(connection: Any) -> None:
            changed = connection.execute(
                update(organizations).where(organizations.c.id == organization_id).values(**values)
            )
            if changed.rowcount == 0:
                connection.execute(insert(organizations).values(id=organization_id, **values))

        self._database.transact(put)


def _limits(row: Row[Any]) -> Limits:
    return Limits(row.max_total_tokens, row.default_recall_limit, row.max_index_items)


def _key(row: Row[Any]) -> StoredKey:
    return StoredKey(
        id=row.id,
        prefix=row.prefix,
        secret_sha256=row.secret_sha256,
        name=row.name,
        scope=Scope(row.organization_id, row.user_id, row.persona_id),
        scopes=tuple(json.loads(row.scopes)),
        created_ms=row.created_ms,
        expires_ms=row.expires_ms,
        revoked_ms=row.revoked_ms,
        last_used_ms=row.last_used_ms,
    )
