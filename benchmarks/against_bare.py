"""Our turn without tools against the bare workflow, on one server, in one process, with one model.

The two take turns, A B A B, so that whatever else the machine does meets both alike.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count

import psutil

from benchmarks.bare import BARE_TASK_QUEUE, BareWorkflow
from benchmarks.processes import Child
from benchmarks.stage import QUESTION, Stage
from benchmarks.tables import Line, milliseconds, table

WALL_TARGET = 1.3
THROUGHPUT_TARGET = 1.4
# Turns at a time; each is a user's with a memory of its own.
REST = 0.2
CONCURRENCY = 50

RunOne = Callable[[int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured: `singles` turns one at a time, then `crowds` times `crowd` turns at once."""

    singles: int
    crowd: int
    crowds: int


FULL = Extent(singles=100, crowd=150, crowds=4)
QUICK = Extent(singles=20, crowd=100, crowds=1)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two, and what was measured of it: seconds, turns per second, processor seconds for each turn."""

    run: RunOne
    walls: list[float] = field(default_factory=list)
    rested: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    worker_cpu: list[float] = field(default_factory=list)
    server_cpu: list[float] = field(default_factory=list)

    @property
    def wall(self) -> float:
        """The median."""
        return statistics.median(self.walls)

    @property
    def rate(self) -> float:
        """Over all crowds."""
        return statistics.harmonic_mean(self.rates)


async def compare(place: Stage, workers: Child, extent: Extent) -> str:
    """The table."""
    sides = ours, bare = Side(_our_turn(place)), Side(_bare_turn(place))
    for side in sides:
        # Connections are opened and every user's memory is made before anything is measured.
        await _crowd(side.run, 2 * CONCURRENCY)
    for _ in range(extent.singles):
        for side in sides:
            side.walls.append(await _timed(side.run(0)))
    for _ in range(extent.singles):
        for side in sides:
            # What the one before left to do (visibility, eviction from the cache) would count against this one.
            await asyncio.sleep(REST)
            side.rested.append(await _timed(side.run(0)))
    for _ in range(extent.crowds):
        for side in sides:
            before = _cpu_seconds(workers.process.pid), _cpu_seconds(place.server.process.pid)
            side.rates.append(await _crowd(side.run, extent.crowd))
            after = _cpu_seconds(workers.process.pid), _cpu_seconds(place.server.process.pid)
            side.worker_cpu.append((after[0] - before[0]) / extent.crowd)
            side.server_cpu.append((after[1] - before[1]) / extent.crowd)
    return table(
        "A turn without tools against a bare workflow", ("turnhold", "bare", "ratio"), _lines(ours, bare, extent)
    )


def _lines(ours: Side, bare: Side, extent: Extent) -> list[Line]:
    wall, slowness = ours.wall / bare.wall, bare.rate / ours.rate
    crowds = f"{extent.crowds} x {extent.crowd} turns, {CONCURRENCY} at a time"
    return [
        Line(
            f"wall of a turn, one at a time, p50 of {extent.singles}",
            (milliseconds(ours.wall), milliseconds(bare.wall), f"{wall:.2f}"),
            f"ratio ≤ {WALL_TARGET}",
            wall <= WALL_TARGET,
        ),
        _rested_line(ours, bare),
        Line("the same, p95", (_p95(ours), _p95(bare), "")),
        Line(
            f"turns per second, {crowds}",
            (f"{ours.rate:.1f}", f"{bare.rate:.1f}", f"{slowness:.2f}"),
            f"ratio ≤ {THROUGHPUT_TARGET}",
            slowness <= THROUGHPUT_TARGET,
        ),
        Line("the same, slowest to fastest", (_range(ours), _range(bare), "")),
        _cpu_line("processor time of the worker for one of these turns", ours.worker_cpu, bare.worker_cpu),
        _cpu_line("processor time of the server for one of these turns", ours.server_cpu, bare.server_cpu),
    ]


def _rested_line(ours: Side, bare: Side) -> Line:
    walls = statistics.median(ours.rested), statistics.median(bare.rested)
    ratio = walls[0] / walls[1]
    cells = (*map(milliseconds, walls), f"{ratio:.2f}")
    return Line(f"the same, each after {REST} s of rest", cells, f"ratio ≤ {WALL_TARGET}", ratio <= WALL_TARGET)


def _p95(side: Side) -> str:
    return milliseconds(statistics.quantiles(side.walls, n=20)[-1])


def _range(side: Side) -> str:
    return f"{min(side.rates):.1f} to {max(side.rates):.1f}"


def _cpu_line(name: str, ours: list[float], bare: list[float]) -> Line:
    figures = statistics.median(ours), statistics.median(bare)
    return Line(name, (*map(milliseconds, figures), f"{figures[0] / figures[1]:.2f}"))


def _our_turn(place: Stage) -> RunOne:
    numbers = count()

    async def run(user: int) -> None:
        turn = await place.turns.start(f"{QUESTION} ({next(numbers):05d})", userId=f"user-{user}")
        await turn.result()

    return run


def _bare_turn(place: Stage) -> RunOne:
    numbers = count()

    async def run(user: int) -> None:
        number = next(numbers)
        await place.client.execute_workflow(
            BareWorkflow.run, f"{QUESTION} ({number:05d})", id=f"bare-{number}", task_queue=BARE_TASK_QUEUE
        )

    return run


async def _crowd(run: RunOne, turns: int) -> float:
    """Turns per second, `CONCURRENCY` at a time; each user has one at a time."""
    left = iter(range(turns))

    async def user(number: int) -> None:
        for _ in left:
            await run(number)

    began = time.perf_counter()
    await asyncio.gather(*(user(number) for number in range(CONCURRENCY)))
    return turns / (time.perf_counter() - began)


def _cpu_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


async def _timed(work: Awaitable[None]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began
