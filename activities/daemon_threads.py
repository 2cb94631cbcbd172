"""A bounded number of threads that never keep a process alive.

The interpreter waits at its exit for every thread of a `ThreadPoolExecutor`; one tool that hangs would keep a worker from
ever stopping.
"""

import contextvars
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class DaemonThreads:
    """Runs work in at most `limit` threads, the oldest first. A thread ends when nothing waits."""

    def __init__(self, name: str, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"limit must be at least 1, got {limit}")
        self._name = name
        self._limit = limit
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._running = 0

    def submit(self, work: Callable[..., Any], *args: Any) -> Future[Any]:
        """The future of `work(*args)`, run with the caller's context variables; cancellable until a thread takes it up."""
        future: Future[Any] = Future()
        context = contextvars.copy_context()
        with self._lock:
            self._waiting.append((future, lambda: context.run(work, *args)))
            is_room = self._running < self._limit
            self._running += is_room
        if is_room:
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return future

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            future, work = taken
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
            # A thread that waits for its next work must not keep the last result alive.
            del taken, future, work

    def _take(self) -> tuple[Future[Any], Callable[[], Any]] | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._running -= 1
            return None
