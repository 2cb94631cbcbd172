"""Timing in CPU time, so that what else runs on a shared machine disturbs little, and a line that says how much it did."""

import gc
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU milliseconds of one operation: over all calls, and the spread of the medians of three rounds."""

    p50: float
    p99: float
    low: float
    high: float

    @property
    def shown(self) -> tuple[str, str, str]:
        """p50, p99 and the spread, for a table."""
        return f"{self.p50:.3f} ms", f"{self.p99:.3f} ms", f"{self.low:.3f} to {self.high:.3f}"


def spent(operation: Callable[[int], object], calls: int, *, every_thread: bool = False) -> Spent:
    """Calls an operation with 0, 1, 2 ... in three rounds; `every_thread` counts the threads it starts too."""
    clock = time.process_time_ns if every_thread else time.thread_time_ns
    per_round = max(1, calls // _ROUNDS)
    rounds: list[list[float]] = []
    for turn in range(_ROUNDS):
        gc.collect()
        times = []
        for at in range(turn * per_round, (turn + 1) * per_round):
            started = clock()
            operation(at)
            times.append((clock() - started) / 1e6)
        rounds.append(sorted(times))
    merged = sorted(value for times in rounds for value in times)
    medians = [times[len(times) // 2] for times in rounds]
    return Spent(
        merged[len(merged) // 2], merged[min(len(merged) - 1, len(merged) * 99 // 100)], min(medians), max(medians)
    )


def once(operation: Callable[[], object], times: int = 5) -> Spent:
    """For what takes long: the median and the worst of a few runs."""
    taken = []
    for _ in range(times):
        gc.collect()
        started = time.thread_time_ns()
        operation()
        taken.append((time.thread_time_ns() - started) / 1e6)
    taken.sort()
    return Spent(taken[len(taken) // 2], taken[-1], taken[0], taken[-1])


def machine() -> str:
    """Where and when, and how busy it was."""
    import numpy

    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} shared cores, {platform.machine()}, "
        f"Python {platform.python_version()}, numpy {numpy.__version__}, load average {load}"
    )
