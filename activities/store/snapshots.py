"""Snapshots of memory: versioned, checksummed, saved by compare-and-swap, the last ones kept."""

import hashlib
import logging
from collections.abc import Callable

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from activities.store.database import Database
from activities.store.errors import Collision, SnapshotConflict, SnapshotDamaged
from activities.store.records import LoadedSnapshot, Scope
from activities.store.tables import memory_snapshot_versions as versions
from activities.store.tables import memory_snapshots as heads

KEPT_VERSIONS = 8

_log = logging.getLogger(__name__)

_in_scope = (
    heads.c.organization_id == bindparam("organization"),
    heads.c.user_id == bindparam("user"),
    heads.c.persona_id == bindparam("persona"),
)
_kept_in_scope = (
    versions.c.organization_id == bindparam("organization"),
    versions.c.user_id == bindparam("user"),
    versions.c.persona_id == bindparam("persona"),
)
_HEAD = select(heads.c.version, heads.c.schema_version).where(*_in_scope)
_VERSION = select(heads.c.version).where(*_in_scope)
_ONE = select(versions.c.blob, versions.c.sha256).where(*_kept_in_scope, versions.c.version == bindparam("at_version"))
_OLDER = (
    select(versions.c.version)
    .where(*_kept_in_scope, versions.c.version < bindparam("below"))
    .order_by(versions.c.version.desc())
)
_FIRST_HEAD = insert(heads)
_SWAP = (
    update(heads)
    .where(
        *_in_scope,
        heads.c.version == bindparam("expected"),
        # An older version of the code may read what a newer one wrote, and must not replace it.
        heads.c.schema_version <= bindparam("schema"),
    )
    .values(version=bindparam("next"), schema_version=bindparam("schema"), updated_ms=bindparam("now"))
)
_KEEP = insert(versions)
_TRIM = delete(versions).where(*_kept_in_scope, versions.c.version <= bindparam("upto"))


class SnapshotStore:
    """The memory of each scope as one blob. Blocking; safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def version(self, scope: Scope) -> int:
        """The newest version, 0 when nothing was saved yet. Costs one small SELECT."""
        with self._database.read() as connection:
            return connection.execute(_VERSION, _parameters(scope)).scalar_one_or_none() or 0

    def load(self, scope: Scope) -> tuple[int, bytes | None]:
        """The version to expect at the next save, and the newest whole blob: (0, None) when nothing was saved yet.

        Raises:
            SnapshotDamaged: as for `read`.
        """
        loaded = self.read(scope)
        return loaded.version, loaded.blob

    def read(self, scope: Scope) -> LoadedSnapshot:
        """As `load`, and says when the newest version was damaged and an older one stands in for it.

        Raises:
            SnapshotDamaged: there are versions, and none of them matches its checksum. Memory must not start empty then.
        """
        with self._database.read() as connection:
            newest = connection.execute(_VERSION, _parameters(scope)).scalar_one_or_none()
            if newest is None:
                return LoadedSnapshot(0, None)
            blob = _whole_blob(connection, scope, newest)
            if blob is not None:
                return LoadedSnapshot(newest, blob)
            return _restore(connection, scope, newest)

    def save(
        self,
        scope: Scope,
        expected_version: int,
        blob: bytes,
        schema_version: int,
        now_ms: int,
        also: Callable[[Connection], None] | None = None,
    ) -> int:
        """Store a new version if the newest one is still `expected_version`, and return its number.

        What `also` writes is stored together with it, or not at all.

        Raises:
            SnapshotConflict: it is not, or it has a newer schema.
            ValueError: the blob is empty.
        """
        if not blob:
            raise ValueError("an empty snapshot is not stored: it would replace a memory by nothing")
        try:
            with self._database.write() as connection:
                _swap_head(connection, scope, expected_version, schema_version, now_ms)
                _keep(connection, scope, expected_version + 1, blob, schema_version, now_ms)
                if also is not None:
                    also(connection)
        except Collision:
            raise SnapshotConflict(expected_version, self.version(scope)) from None
        return expected_version + 1


def _parameters(scope: Scope) -> dict[str, str]:
    return {"organization": scope.organization_id, "user": scope.user_id, "persona": scope.persona_id}


def _whole_blob(connection: Connection, scope: Scope, version: int) -> bytes | None:
    found = connection.execute(_ONE, {**_parameters(scope), "at_version": version}).one_or_none()
    if found is None or hashlib.sha256(found.blob).hexdigest() != found.sha256:
        return None
    return bytes(found.blob)


def _restore(connection: Connection, scope: Scope, newest: int) -> LoadedSnapshot:
    older = connection.execute(_OLDER, {**_parameters(scope), "below": newest}).scalars().all()
    for version in older:
        blob = _whole_blob(connection, scope, version)
        if blob is not None:
            _log.warning("memory snapshot %s of %s is damaged: version %s stands in for it", newest, scope, version)
            return LoadedSnapshot(newest, blob, restored_from=version)
    raise SnapshotDamaged(f"the memory snapshot at version {newest} and the {len(older)} kept before it are damaged")


def _swap_head(connection: Connection, scope: Scope, expected: int, schema_version: int, now_ms: int) -> None:
    if expected == 0:
        connection.execute(
            _FIRST_HEAD,
            {
                "organization_id": scope.organization_id,
                "user_id": scope.user_id,
                "persona_id": scope.persona_id,
                "version": 1,
                "schema_version": schema_version,
                "updated_ms": now_ms,
            },
        )
        return
    swapped = connection.execute(
        _SWAP,
        {
            **_parameters(scope),
            "expected": expected,
            "next": expected + 1,
            "schema": schema_version,
            "now": now_ms,
        },
    )
    if swapped.rowcount == 0:
        found = connection.execute(_HEAD, _parameters(scope)).one_or_none()
        version = found.version if found else 0
        raise SnapshotConflict(expected, version, newer_schema=version == expected)


def _keep(connection: Connection, scope: Scope, version: int, blob: bytes, schema_version: int, now_ms: int) -> None:
    connection.execute(
        _KEEP,
        {
            "organization_id": scope.organization_id,
            "user_id": scope.user_id,
            "persona_id": scope.persona_id,
            "version": version,
            "schema_version": schema_version,
            "sha256": hashlib.sha256(blob).hexdigest(),
            "blob": blob,
            "saved_ms": now_ms,
        },
    )
    connection.execute(_TRIM, {**_parameters(scope), "upto": version - KEPT_VERSIONS})
