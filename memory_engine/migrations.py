"""Bringing an older snapshot to the present shape: one pure function per step, applied in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import SnapshotCorruptError

Json = dict[str, Any]


def _accept_typescript_shape(snapshot: Json) -> Json:
    """0 to 1: what the original TypeScript package writes is valid as it is."""
    return snapshot


MIGRATIONS: tuple[Callable[[Json], Json], ...] = (_accept_typescript_shape,)
"""The step at place n leads from version n to n + 1. A step never changes its argument."""

SCHEMA_VERSION = len(MIGRATIONS)


def migrated(snapshot: Json) -> Json:
    """The snapshot in the present shape; one from the future comes back as it is, to be read only."""
    ext = snapshot.get("ext")
    version = ext.get("schemaVersion", 0) if isinstance(ext, dict) else 0
    if isinstance(version, bool) or not isinstance(version, int) or version < 0:
        raise SnapshotCorruptError(f"ext.schemaVersion must be a whole number, got {version!r}")
    for step in MIGRATIONS[version:]:
        snapshot = step(snapshot)
    return snapshot
