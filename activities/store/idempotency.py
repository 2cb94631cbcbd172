"""Answers to requests that may be sent again, kept in the transaction that did what they asked.

A record that is stored means that the request was done, and a request that was done has its record: no crash comes between.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from activities.store.database import Database
from activities.store.records import Scope
from activities.store.tables import idempotency_records as records

KEPT_MS = 24 * 60 * 60 * 1000
_MOST_SWEPT = 500


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a request of a scope was answered. `fingerprint` tells the request from another under the same key.

    `body` is None when a memory that stood in it was removed since.
    """

    key: str
    fingerprint: str
    status: int
    body: str | None


_in_scope = (
    records.c.organization_id == bindparam("organization"),
    records.c.user_id == bindparam("user"),
    records.c.persona_id == bindparam("persona"),
)
_FIND = select(records.c.request_key, records.c.fingerprint, records.c.status, records.c.body).where(
    *_in_scope, records.c.request_key.in_(bindparam("keys", expanding=True)), records.c.expires_ms > bindparam("now")
)
_DROP_EXPIRED = delete(records).where(
    *_in_scope, records.c.request_key == bindparam("key"), records.c.expires_ms <= bindparam("now")
)
_ADD = insert(records)
_EXPIRED = (
    select(records.c.organization_id, records.c.user_id, records.c.persona_id, records.c.request_key)
    .where(records.c.expires_ms <= bindparam("now"))
    .limit(_MOST_SWEPT)
)
_SWEEP = delete(records).where(*_in_scope, records.c.request_key == bindparam("key"))


def find_records(database: Database, scope: Scope, keys: Iterable[str], now_ms: int) -> dict[str, Recorded]:
    """What was answered under these keys of the scope in the last 24 hours."""
    wanted = list(keys)
    if not wanted:
        return {}
    with database.read() as connection:
        rows = connection.execute(_FIND, {**_named(scope), "keys": wanted, "now": now_ms})
        return {row.request_key: Recorded(row.request_key, row.fingerprint, row.status, row.body) for row in rows}


def add_records(connection: Connection, scope: Scope, answers: Iterable[Recorded], now_ms: int) -> None:
    """Keep answers for 24 hours, in the caller's transaction. A key that is kept already ends the transaction."""
    for answer in answers:
        connection.execute(_DROP_EXPIRED, {**_named(scope), "key": answer.key, "now": now_ms})
        connection.execute(
            _ADD,
            {
                "organization_id": scope.organization_id,
                "user_id": scope.user_id,
                "persona_id": scope.persona_id,
                "request_key": answer.key,
                "fingerprint": answer.fingerprint,
                "status": answer.status,
                "body": answer.body,
                "expires_ms": now_ms + KEPT_MS,
            },
        )


def forget_in_records(connection: Connection, scope: Scope, words: Iterable[str]) -> None:
    """Take away the answers in which one of the words stands. That their requests were done stays known."""
    for word in words:
        shows = records.c.body.contains(word, autoescape=True)
        connection.execute(update(records).where(*_in_scope, shows).values(body=None), _named(scope))


def sweep_records(database: Database, now_ms: int) -> int:
    """Remove at most 500 records that are older than 24 hours; how many it were."""
    with database.write() as connection:
        expired = connection.execute(_EXPIRED, {"now": now_ms}).all()
        for row in expired:
            scope = Scope(row.organization_id, row.user_id, row.persona_id)
            connection.execute(_SWEEP, {**_named(scope), "key": row.request_key})
        return len(expired)


def _named(scope: Scope) -> dict[str, str]:
    return {"organization": scope.organization_id, "user": scope.user_id, "persona": scope.persona_id}
