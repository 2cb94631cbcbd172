"""What a database driver's error means: busy, away for a while, or broken until a person acts.

Codes: https://www.sqlite.org/rescode.html and https://www.postgresql.org/docs/current/errcodes-appendix.html
"""

import sqlite3

import psycopg
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from activities.store.errors import Collision, StoreBusy, StoreUnavailable

_SQLITE_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_SQLITE_TAKEN = {sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY}
# code: (what it means, whether time may heal it)
_SQLITE: dict[int, tuple[str, bool]] = {
    sqlite3.SQLITE_READONLY: ("the database is read-only", False),
    sqlite3.SQLITE_FULL: ("the disk is full, or the database has reached its size limit", True),
    sqlite3.SQLITE_CANTOPEN: ("the database file cannot be opened", True),
    sqlite3.SQLITE_IOERR: ("the disk failed", True),
    sqlite3.SQLITE_NOTADB: ("the file is not a SQLite database", False),
    sqlite3.SQLITE_CORRUPT: ("the database file is damaged", False),
}

# Deadlock, serialization failure, lock timeout, statement timeout.
_POSTGRES_BUSY = {"40P01", "40001", "55P03", "57014"}
# The longest prefix of a SQLSTATE decides.
_POSTGRES: dict[str, tuple[str, bool]] = {
    "08": ("the connection to the database failed", True),
    "25006": ("the database is read-only", True),  # a standby says so in the middle of a failover
    "25P03": ("the transaction was idle for too long", True),
    "28": ("the database refuses this user", False),
    "3D": ("there is no such database", False),
    "42": ("the schema is not the expected one, or a permission is missing", False),
    "53": ("the database is out of resources", True),
    "53100": ("the disk is full", True),
    "53300": ("the database has no connection left", True),
    "57P": ("the database is shutting down or starting", True),
    "58": ("the disk failed", True),
    "XX": ("the database is damaged", False),
}
# libpq gives no code for an error before the connection stands, only the server's words.
_REFUSED = ("authentication failed", "no password supplied", "does not exist", "no pg_hba.conf entry", "not permitted")


def store_error(error: SQLAlchemyError) -> StoreUnavailable | None:
    """The error to raise in place of SQLAlchemy's; None when it is no driver error but a mistake in our own code.

    The statement's parameters are left out on purpose: they are what people said.
    """
    if isinstance(error, PoolTimeout):
        return StoreBusy("no connection to the database was free in time")
    if not isinstance(error, DBAPIError):
        return None
    match error.orig:
        case sqlite3.Error() as original:
            return _of_sqlite(original)
        case psycopg.Error() as original:
            return _of_postgres(original)
    return None


def _of_sqlite(error: sqlite3.Error) -> StoreUnavailable:
    extended: int | None = getattr(error, "sqlite_errorcode", None)
    code = extended & 0xFF if extended is not None else None
    if code in _SQLITE_BUSY:
        return StoreBusy("the database is locked by another writer")
    if extended in _SQLITE_TAKEN:
        return Collision("another transaction wrote the same key first")
    meaning, retryable = _SQLITE.get(code or 0, (f"the database refused: {error}", False))
    return StoreUnavailable(meaning, retryable=retryable)


def _of_postgres(error: psycopg.Error) -> StoreUnavailable:
    state = error.sqlstate
    if state is None:
        return _of_lost_connection(error)
    if state in _POSTGRES_BUSY:
        return StoreBusy(f"another transaction was in the way ({state})")
    if state == "23505":
        return Collision("another transaction wrote the same key first")
    for length in (5, 3, 2):
        if found := _POSTGRES.get(state[:length]):
            meaning, retryable = found
            return StoreUnavailable(f"{meaning} ({state})", retryable=retryable)
    # Only the primary message: DETAIL lines quote whole rows.
    return StoreUnavailable(f"the database refused: {error.diag.message_primary} ({state})", retryable=False)


def _of_lost_connection(error: psycopg.Error) -> StoreUnavailable:
    if not isinstance(error, psycopg.OperationalError):
        return StoreUnavailable(f"the database driver refused: {type(error).__name__}", retryable=False)
    words = str(error).strip().splitlines()
    if any(sign in line for line in words for sign in _REFUSED):
        return StoreUnavailable(f"the database refuses the connection: {words[0]}", retryable=False)
    return StoreUnavailable(f"the database cannot be reached: {words[0] if words else 'no reason given'}")
