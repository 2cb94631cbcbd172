"""Which memories stand beside each other in the conversation they come from."""

from __future__ import annotations

from bisect import bisect_left, insort

from .records import Record

_Entry = tuple[int, int, str]


class Sessions:
    """For each session its memories by time, those of one moment in the order in which they were entered."""

    __slots__ = ("_entered", "_entries", "_entry_of")

    def __init__(self) -> None:
        self._entries: dict[str, list[_Entry]] = {}
        self._entry_of: dict[str, tuple[str, _Entry]] = {}
        self._entered = 0

    def add(self, record: Record) -> None:
        """Enters a memory that names its session; others have no neighbours."""
        if record.source_session_id is None:
            return
        self._entered += 1
        entry = (record.created_at, self._entered, record.id)
        insort(self._entries.setdefault(record.source_session_id, []), entry)
        self._entry_of[record.id] = (record.source_session_id, entry)

    def remove(self, memory_id: str) -> None:
        """Takes a memory out."""
        session, entry = self._entry_of.pop(memory_id, ("", (0, 0, "")))
        entries = self._entries.get(session, [])
        at = bisect_left(entries, entry)
        if at < len(entries) and entries[at] == entry:
            del entries[at]
            if not entries:
                del self._entries[session]

    def beside(self, memory_id: str, reach: int) -> list[tuple[str, int]]:
        """(id, distance) of the memories at most `reach` places before or after one, in their order."""
        if memory_id not in self._entry_of:
            return []
        session, entry = self._entry_of[memory_id]
        entries = self._entries[session]
        at = bisect_left(entries, entry)
        around = range(max(0, at - reach), min(len(entries), at + reach + 1))
        return [(entries[place][2], abs(place - at)) for place in around if place != at]

    def fork(self) -> Sessions:
        """Sessions of their own with the same entries."""
        other = Sessions()
        other._entries = {session: list(entries) for session, entries in self._entries.items()}
        other._entry_of = dict(self._entry_of)
        other._entered = self._entered
        return other
