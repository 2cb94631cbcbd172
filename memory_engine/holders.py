"""A dictionary from keys to the ids that hold them, made for many keys with one holder each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Holders:
    """Key to ids in the order in which they came. A single id is kept bare: most keys never have a second one."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[str, str | dict[str, None]] = {}

    def add(self, key: str, memory_id: str) -> None:
        """Enters an id under a key."""
        held = self._held.get(key)
        if held is None:
            self._held[key] = memory_id
        elif isinstance(held, dict):
            held[memory_id] = None
        elif held != memory_id:
            self._held[key] = {held: None, memory_id: None}

    def fork(self) -> Holders:
        """A dictionary of its own with the same entries."""
        other = Holders()
        other._held = {key: dict(held) if isinstance(held, dict) else held for key, held in self._held.items()}
        return other

    def discard(self, key: str, memory_id: str) -> None:
        """Takes an id out from under a key."""
        held = self._held.get(key)
        if isinstance(held, dict):
            held.pop(memory_id, None)
            if not held:
                del self._held[key]
        elif held == memory_id:
            del self._held[key]

    def of(self, key: str) -> Iterator[str]:
        """The ids under a key, oldest first."""
        held = self._held.get(key)
        return iter(()) if held is None else iter(held if isinstance(held, dict) else (held,))

    def count(self, keys: Iterable[str], newest: int) -> dict[str, int]:
        """For each id under any of the keys, under how many; of one key only the `newest` last ids are looked at."""
        counts: dict[str, int] = {}
        for key in keys:
            held = self._held.get(key)
            ids = () if held is None else reversed(held) if isinstance(held, dict) else (held,)
            for memory_id, _ in zip(ids, range(newest), strict=False):
                counts[memory_id] = counts.get(memory_id, 0) + 1
        return counts
