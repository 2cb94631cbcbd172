"""Lets a few readers of one memory in at a time.

A reader waits in a thread while its memory is written. Without this, the readers of one busy memory would take all the threads,
and everybody else would wait with them.
"""

import asyncio
from weakref import WeakValueDictionary

from activities.store.records import Scope

MOST_READERS = 4


class Turnstile:
    """One gate for each memory that somebody is reading."""

    def __init__(self) -> None:
        self._gates: WeakValueDictionary[Scope, asyncio.Semaphore] = WeakValueDictionary()

    def gate(self, scope: Scope) -> asyncio.Semaphore:
        """Of all that read this memory now, so many go on at once. It lasts as long as anybody holds it."""
        gate = self._gates.get(scope)
        if gate is None:
            gate = self._gates[scope] = asyncio.Semaphore(MOST_READERS)
        return gate
