"""Finding memories exactly, by keys of their text.

Working out keys takes most of the time of an index, and many a loaded memory is only planned from or saved again. So the
texts of a load are kept until the first question.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from threading import Lock

from .collector import collector_paused
from .holders import Holders

Keys = Callable[[str], Collection[str]]


class Lookup:
    """Key to ids, where a function of a memory's text gives the keys."""

    __slots__ = ("_filling", "_holders", "_keys", "_waiting")

    def __init__(self, keys: Keys, contents: Mapping[str, str] | None = None) -> None:
        self._keys = keys
        self._holders = Holders()
        self._waiting: dict[str, str] = dict(contents or {})
        self._filling = Lock()

    def add(self, memory_id: str, content: str) -> None:
        """Enters a memory that is not held."""
        if self._waiting:
            self._waiting[memory_id] = content
        else:
            self._enter(self._holders, memory_id, content)

    def remove(self, memory_id: str, content: str) -> None:
        """Takes a memory out; `content` is the text it was entered with."""
        if self._waiting.pop(memory_id, None) is None:
            for key in self._keys(content):
                self._holders.discard(key, memory_id)

    def of(self, key: str) -> list[str]:
        """The ids under a key, oldest entry first."""
        return list(self._filled().of(key))

    def count(self, keys: Iterable[str], newest: int) -> dict[str, int]:
        """For each id under any of the keys, under how many; of one key only the `newest` last ids are looked at."""
        return self._filled().count(keys, newest)

    def fork(self) -> Lookup:
        """A lookup of its own with the same entries."""
        with self._filling:
            other = Lookup(self._keys, self._waiting)
            other._holders = self._holders.fork()
        return other

    def _filled(self) -> Holders:
        if self._waiting:
            # Two threads may ask at once; the second must not read what is half filled.
            with self._filling, collector_paused():
                for memory_id, content in self._waiting.items():
                    self._enter(self._holders, memory_id, content)
                self._waiting = {}
        return self._holders

    def _enter(self, holders: Holders, memory_id: str, content: str) -> None:
        for key in self._keys(content):
            holders.add(key, memory_id)
