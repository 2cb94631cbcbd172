"""Turns that wait while their worker dies: `python -m benchmarks.paused_turns [--turns 1000]`.

All turns pause, the worker is killed and started again, every pause is answered by signal. None may be lost.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import psutil

from activities.conversation import GMIOutput
from benchmarks.processes import Child, start
from benchmarks.stage import APPROVAL, Stage, stage
from benchmarks.tables import Line, machine, table
from worker.client import Turn

AT_ONCE = 50
USERS = 50

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Paused:
    """A turn and the call it waits for."""

    turn: Turn
    call_id: str


async def measure(count: int) -> bool:
    """Everything, printed; whether every turn ended as it should."""
    print(f"# {count:,} paused turns\n\n{machine()}\n", flush=True)
    async with stage() as place:
        worker = await _worker(place)
        try:
            empty = _memory(worker)
            began = time.perf_counter()
            paused = await _spread(lambda number: _pause(place, number), range(count))
            starting = time.perf_counter() - began
            full = _memory(worker)

            worker.kill()
            killed = time.perf_counter()
            worker = await _worker(place)
            restarting = time.perf_counter() - killed
            answered = time.perf_counter()
            await _spread(_answer, paused)
            signalling = time.perf_counter() - answered
            outputs = await _spread(_result, paused)
            resuming = time.perf_counter() - answered
            after = _memory(worker)
        finally:
            worker.stop()
    lost = sum(not output.is_final or output.error is not None or not output.response_text for output in outputs)
    rows = [
        Line("started and paused", (f"{starting:.1f} s", f"{count / starting:.1f} turns/s")),
        Line("worker killed and started again", (f"{restarting:.1f} s", "")),
        Line("answers signalled", (f"{signalling:.1f} s", f"{count / signalling:.1f} signals/s")),
        Line("answered to ended, the signals included", (f"{resuming:.1f} s", f"{count / resuming:.1f} turns/s")),
        Line("resident memory of the worker, idle", (f"{empty:.0f} MB", "")),
        Line("with all turns paused", (f"{full:.0f} MB", f"{(full - empty) * 1000 / count:.0f} KB a turn")),
        Line("of the new worker after the last turn", (f"{after:.0f} MB", "")),
        Line("wall, kill and restart included", (f"{starting + restarting + resuming:.1f} s", "")),
        Line("turns lost", (f"{lost}", ""), "0", lost == 0),
    ]
    print(table("Paused, killed, answered", ("", "rate"), rows))
    print(machine())
    return lost == 0


async def _worker(place: Stage) -> Child:
    return await start("benchmarks.workers", log=place.folder / "worker.log", environment=place.environment)


async def _pause(place: Stage, number: int) -> Paused:
    turn = await place.turns.start("use approve 1 times", userId=f"user-{number % USERS}", externalTools=[APPROVAL])
    stop = await turn.next_stop(120)
    assert stop.tool_calls is not None, stop
    return Paused(turn, stop.tool_calls[0].id)


async def _answer(paused: Paused) -> None:
    await paused.turn.signal([{"toolCallId": paused.call_id, "output": {"approved": True}}])


async def _result(paused: Paused) -> GMIOutput:
    return await paused.turn.result()


async def _spread(work: Callable[[T], Awaitable[R]], items: Sequence[T]) -> list[R]:
    """`work` on each item, `AT_ONCE` at a time, results in order."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(item: T) -> R:
        async with slots:
            return await work(item)

    return await asyncio.gather(*(one(item) for item in items))


def _memory(worker: Child) -> float:
    return float(psutil.Process(worker.process.pid).memory_info().rss) / 1e6


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paused_turns", description=__doc__)
    parser.add_argument("--turns", type=int, default=1000)
    sys.exit(0 if asyncio.run(measure(parser.parse_args().turns)) else 1)
