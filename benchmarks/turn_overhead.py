"""What a turn costs beside a bare workflow, and what its history holds: `python -m benchmarks.turn_overhead [--quick]`.

Both run in one process on one server and ask the same model process with the same bytes. They take turns, A B A B, so that
whatever else the machine does meets both alike.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import psutil
from temporalio.client import Client

from benchmarks.app import DUMP_BYTES
from benchmarks.bare import BARE_TASK_QUEUE, BareWorkflow
from benchmarks.processes import Child
from benchmarks.stage import Size, Stage, both_workers, size_of, stage
from benchmarks.tables import Line, kilobytes, machine, milliseconds, table
from worker.client import Turn

QUESTION = "Where is the parcel with my order 1042? It was promised for Monday."
APPROVAL = {"name": "approve", "description": "Ask a person.", "inputSchema": {"type": "object", "properties": {}}}

WALL_TARGET = 1.3
THROUGHPUT_TARGET = 1.4
PLAIN_EVENTS, PAUSE_EVENTS = 22, 40
GROWTH_TARGET = 0.10
ROUNDS = 40
LONG_TURN_BYTES = 6_000_000
USERS = 50

RunOne = Callable[[int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured."""

    singles: int
    crowd: int
    crowds: int
    turns: int


FULL = Extent(singles=100, crowd=150, crowds=4, turns=50)
QUICK = Extent(singles=20, crowd=100, crowds=1, turns=50)
CONCURRENCY = 50


async def measure(extent: Extent) -> None:
    """Everything, printed as it is found."""
    print(f"# Turn overhead\n\n{machine()}\n", flush=True)
    async with stage() as place, both_workers(place, QUESTION) as workers:
        print(await _against_bare(place, workers, extent), flush=True)
        print(await _histories(place), flush=True)
        print(await _long_conversation(place, extent.turns), flush=True)
        print(await _long_turn(place), flush=True)
    print(machine())


async def _against_bare(place: Stage, workers: Child, extent: Extent) -> str:
    sides = {"ours": _our_turn(place), "bare": _bare_turn(place.client)}
    walls: dict[str, list[float]] = {name: [] for name in sides}
    rates: dict[str, list[float]] = {name: [] for name in sides}
    burnt: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for run in sides.values():
        # Connections are opened and every user's memory is made before anything is measured.
        await _crowd(run, 2 * CONCURRENCY)
    for _ in range(extent.singles):
        for name, run in sides.items():
            walls[name].append(await _timed(run(0)))
    for _ in range(extent.crowds):
        for name, run in sides.items():
            before = _cpu_seconds(workers.process.pid), _cpu_seconds(place.server.process.pid)
            rates[name].append(await _crowd(run, extent.crowd))
            after = _cpu_seconds(workers.process.pid), _cpu_seconds(place.server.process.pid)
            burnt[name].append(((after[0] - before[0]) / extent.crowd, (after[1] - before[1]) / extent.crowd))
    wall = statistics.median(walls["ours"]) / statistics.median(walls["bare"])
    rate = statistics.harmonic_mean(rates["bare"]) / statistics.harmonic_mean(rates["ours"])
    lines = [
        Line(
            f"wall of a turn, one at a time, p50 of {extent.singles}",
            (*(milliseconds(statistics.median(each)) for each in walls.values()), f"{wall:.2f}"),
            f"ratio ≤ {WALL_TARGET}",
            wall <= WALL_TARGET,
        ),
        Line("the same, p95", (*(milliseconds(statistics.quantiles(each, n=20)[-1]) for each in walls.values()), "")),
        Line(
            f"turns per second, {CONCURRENCY} at a time, {extent.crowds} x {extent.crowd} turns",
            (*(f"{statistics.harmonic_mean(each):.1f}" for each in rates.values()), f"{rate:.2f}"),
            f"ratio ≤ {THROUGHPUT_TARGET}",
            rate <= THROUGHPUT_TARGET,
        ),
        Line(
            "the same, slowest to fastest run",
            (*(f"{min(each):.1f} to {max(each):.1f}" for each in rates.values()), ""),
        ),
    ]
    return table("A turn without tools against a bare workflow", ("turnhold", "bare", "ratio"), lines)


async def _histories(place: Stage) -> str:
    plain = await place.turns.start(QUESTION)
    await plain.result()
    with_tool = await place.turns.start("use stamp 1 times")
    await with_tool.result()
    by_signal = await _paused(place)
    await by_signal.signal(await _answers(by_signal))
    await by_signal.result()
    by_update = await _paused(place)
    await by_update.answer(await _answers(by_update))
    await by_update.result()
    lines = [
        _history_line("no tool", await size_of(plain.handle), PLAIN_EVENTS),
        _history_line("one worker tool", await size_of(with_tool.handle), None),
        _history_line("one pause, answered by signal", await size_of(by_signal.handle), PAUSE_EVENTS),
        _history_line("one pause, answered by update", await size_of(by_update.handle), PAUSE_EVENTS),
    ]
    return table("The history of one turn", ("events", "bytes"), lines)


async def _long_conversation(place: Stage, turns: int) -> str:
    sizes, conversation = [], f"long-{time.time_ns()}"
    for number in range(turns):
        turn = await place.turns.start(f"{QUESTION} ({number:02d})", conversationId=conversation, userId="long")
        await turn.result()
        sizes.append((await size_of(turn.handle)).bytes)
    growth = sizes[-1] / sizes[0] - 1
    line = Line(
        f"turn {turns} against turn 1",
        (kilobytes(sizes[0]), kilobytes(sizes[-1]), kilobytes(max(sizes)), f"{growth:+.1%}"),
        f"within {GROWTH_TARGET:.0%}",
        growth <= GROWTH_TARGET,
    )
    return table("History bytes along one conversation", ("turn 1", f"turn {turns}", "largest", "growth"), [line])


async def _long_turn(place: Stage) -> str:
    began = time.perf_counter()
    turn = await place.turns.start(f"use dump {ROUNDS} times", limits={"maxToolRounds": ROUNDS})
    output = await turn.result()
    wall = time.perf_counter() - began
    made = len(output.tool_calls or ())
    size = await size_of(turn.handle)
    line = Line(
        f"{made} rounds, each with {kilobytes(DUMP_BYTES)} of tool output",
        (f"{size.events}", kilobytes(size.bytes), f"{wall:.1f} s", milliseconds(wall / made)),
        f"< {kilobytes(LONG_TURN_BYTES)}",
        size.bytes < LONG_TURN_BYTES and made == ROUNDS,
    )
    return table("One turn of many rounds", ("events", "bytes", "wall", "wall a round"), [line])


def _our_turn(place: Stage) -> RunOne:
    numbers = count()

    async def run(user: int) -> None:
        number = next(numbers)
        turn = await place.turns.start(f"{QUESTION} ({number:05d})", userId=f"user-{user}")
        await turn.result()

    return run


def _bare_turn(client: Client) -> RunOne:
    numbers = count()

    async def run(user: int) -> None:
        number = next(numbers)
        await client.execute_workflow(
            BareWorkflow.run,
            f"{QUESTION} ({number:05d})",
            id=f"bare-{user}-{number}-{time.time_ns()}",
            task_queue=BARE_TASK_QUEUE,
        )

    return run


async def _crowd(run: RunOne, turns: int) -> float:
    """Turns per second, `CONCURRENCY` at a time; each user has one at a time."""
    left = iter(range(turns))

    async def user(number: int) -> None:
        for _ in left:
            await run(number)

    began = time.perf_counter()
    await asyncio.gather(*(user(number) for number in range(min(CONCURRENCY, turns))))
    return turns / (time.perf_counter() - began)


def _cpu_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def _cpu_line(name: str, sides: Sequence[Sequence[float]]) -> Line:
    ours, bare = (statistics.median(side) for side in sides)
    return Line(name, (milliseconds(ours), milliseconds(bare), f"{ours / bare:.2f}"))


async def _timed(work: Awaitable[None]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


async def _paused(place: Stage) -> Turn:
    turn = await place.turns.start("use approve 1 times", externalTools=[APPROVAL])
    await turn.next_stop()
    return turn


async def _answers(turn: Turn) -> list[dict[str, Any]]:
    pending = await turn.pending()
    assert pending is not None
    return [{"toolCallId": call.id, "output": {"approved": True}} for call in pending.tool_calls]


def _history_line(name: str, size: Size, most: int | None) -> Line:
    figures = (f"{size.events}", kilobytes(size.bytes))
    if most is None:
        return Line(name, figures)
    return Line(name, figures, f"≤ {most} events", size.events <= most)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_overhead", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer turns: half a minute, and noisier")
    asyncio.run(measure(QUICK if parser.parse_args().quick else FULL))
