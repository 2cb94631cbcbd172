"""The errors this package raises.

    MemoryEngineError
    +-- SnapshotCorruptError      the bytes or the shape are not a snapshot; the engine keeps what it had
    +-- SnapshotVersionError      a newer program wrote it; it may be read, it may not be written

A wrong argument is a plain `ValueError` or `TypeError`.
"""

from __future__ import annotations


class MemoryEngineError(Exception):
    """Base of every error that tells about the memory itself."""


class SnapshotCorruptError(MemoryEngineError):
    """The snapshot cannot be trusted. The caller falls back to an earlier version, never to an empty memory."""


class SnapshotVersionError(MemoryEngineError):
    """Writing would lose what a newer program stored."""
