"""Memories from the most to the least recently used, kept sorted while they change."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from .records import Record

_Key = tuple[int, int, str]


class RecencyOrder:
    """A sorted list: a change costs one search and one shift, and reading the newest costs nothing."""

    __slots__ = ("_keys",)

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._keys: list[_Key] = sorted(map(_key, records))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        """Ids, most recently used first; ties by the order in which they were placed."""
        return (key[2] for key in self._keys)

    def oldest_first(self) -> Iterator[str]:
        """Ids, least recently used first; ties by the order in which they were placed."""
        end = len(self._keys)
        while end:
            start = bisect_left(self._keys, self._keys[end - 1][0], key=_time_of)
            for at in range(start, end):
                yield self._keys[at][2]
            end = start

    def fork(self) -> RecencyOrder:
        """An order of its own with the same entries."""
        other = RecencyOrder()
        other._keys = list(self._keys)
        return other

    def add(self, record: Record) -> None:
        """Enters a record by its present time of use."""
        insort(self._keys, _key(record))

    def remove(self, record: Record) -> None:
        """Takes a record out; its time of use must be the one it was entered with."""
        at = bisect_left(self._keys, _key(record))
        if at < len(self._keys) and self._keys[at][2] == record.id:
            del self._keys[at]


def _key(record: Record) -> _Key:
    return (-record.last_accessed_at, record.placed, record.id)


def _time_of(key: _Key) -> int:
    return key[0]
