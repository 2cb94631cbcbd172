"""Making very many objects at once without the garbage collector in between."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """While a memory is loaded hundreds of thousands of objects come to stay.

    The collector would walk through all of them time and again and find nothing; at 100,000 memories that takes longer than
    the load itself. What was unreachable before waits until after.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
