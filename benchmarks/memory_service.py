"""The memory service over loopback: `python -m benchmarks.memory_service [--kills]`.

The service is a process of its own with one database file; the caller, in this process, writes and reads bytes of sockets, so
that little of what is measured is its own. With `--kills`: 64 writers for 30 seconds while the service is killed twice.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Callable

from benchmarks.memory_clock import machine
from benchmarks.memory_corpus import Row, memories, messages, questions
from benchmarks.memory_service_process import Body, Caller, Refused, Service, running_service
from benchmarks.tables import Line, milliseconds, table

CALLS = 1_000
CONNECTIONS = 16
WRITERS = 64
KILL_SECONDS = 30.0
KILLED_AFTER = (8.0, 18.0)
Asked = Callable[[int], Body | None]
"""The body of each call; None for a GET."""

COLUMNS = ("p50", "p99", "a second")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", action="store_true", help="kill the service while 64 writers write")
    asyncio.run(_kills() if parser.parse_args().kills else _speed())


async def _speed() -> None:
    print(f"# The memory service\n\n{machine()}\n", flush=True)
    for size, most in ((200, {"recall": 5.0, "context": 3.0}), (10_000, {"recall": 10.0, "context": 10.0})):
        async with running_service(beside=1) as service:
            caller = await service.caller()
            rows = memories(size)
            await _fill(caller, rows)
            lines = [
                await _one_after_another(caller, "recall", rows, most["recall"]),
                await _one_after_another(caller, "context", rows, most["context"]),
                await _one_after_another(caller, "stats", rows, 10.0),
                await _one_after_another(caller, "memories", rows, 10.0),
                await _at_once([service.port], caller.key, rows),
                await _at_once([service.port, *service.others], caller.key, rows),
            ]
            print(table(f"{size:,} memories", COLUMNS, lines), flush=True)


async def _one_after_another(caller: Caller, name: str, rows: list[Row], most: float) -> Line:
    asked = _asked(name, rows)
    seconds = await _timed(caller, name, asked, CALLS // 10) and await _timed(caller, name, asked, CALLS)
    p50, p99 = _percentiles(seconds)
    return Line(
        f"{name}, one caller",
        (milliseconds(p50), milliseconds(p99), f"{len(seconds) / sum(seconds):,.0f}"),
        f"p50 under {most:g} ms",
        p50 * 1000 < most,
    )


async def _at_once(ports: list[int], key: str, rows: list[Row]) -> Line:
    callers = [await Caller.connected(ports[number % len(ports)], key) for number in range(CONNECTIONS)]
    asked = _asked("recall", rows)
    await asyncio.gather(*(_timed(each, "recall", asked, 10) for each in callers))
    began = time.perf_counter()
    rounds = await asyncio.gather(*(_timed(each, "recall", asked, CALLS // 4) for each in callers))
    passed = time.perf_counter() - began
    seconds = [second for each in rounds for second in each]
    p50, p99 = _percentiles(seconds)
    rate = len(seconds) / passed
    return Line(
        f"recall, {CONNECTIONS} callers at once, {'one process' if len(ports) == 1 else f'{len(ports)} processes'}",
        (milliseconds(p50), milliseconds(p99), f"{rate:,.0f}"),
        "1,000 a second, p99 under 50 ms",
        rate >= 1_000 and p99 < 0.05,
    )


async def _timed(caller: Caller, name: str, asked: Asked, calls: int) -> list[float]:
    seconds = []
    for number in range(calls):
        began = time.perf_counter()
        body = asked(number)
        await caller.send("GET" if body is None else "POST", f"/{name}", body)
        seconds.append(time.perf_counter() - began)
    return seconds


def _asked(name: str, rows: list[Row]) -> Asked:
    if name in ("stats", "memories"):
        return lambda number: None
    field, texts = ("query", questions(rows)) if name == "recall" else ("userMessage", messages(rows))
    return lambda number: {field: texts[number % len(texts)]}


async def _fill(caller: Caller, rows: list[Row]) -> None:
    for start in range(0, len(rows), 500):
        items = [{"content": row.text} for row in rows[start : start + 500]]
        await caller.post("/memories", {"items": items})


def _percentiles(seconds: list[float]) -> tuple[float, float]:
    ordered = sorted(seconds)
    return statistics.median(ordered), ordered[int(len(ordered) * 0.99)]


async def _kills() -> None:
    """Every acknowledged fact is there once, and every acknowledged outcome counted once."""
    async with running_service() as service:
        key = (await service.caller()).key
        end = time.monotonic() + KILL_SECONDS
        written = [0] * WRITERS

        async def write(writer: int) -> None:
            while time.monotonic() < end:
                number = written[writer]
                fact = {"items": [{"content": f"Berth {writer}-{number} of the harbour has {number + 3} cranes"}]}
                await _until_answered(service, key, "/memories", fact, f"fact-{writer}-{number}")
                outcome = {"domain": "harbour", "success": True}
                await _until_answered(service, key, "/self-model/outcome", outcome, f"outcome-{writer}-{number}")
                written[writer] += 1

        async def kill() -> None:
            for pause in (KILLED_AFTER[0], KILLED_AFTER[1] - KILLED_AFTER[0]):
                await asyncio.sleep(pause)
                await service.restart()

        await asyncio.gather(kill(), *(write(writer) for writer in range(WRITERS)))
        caller = await Caller.connected(service.port, key)
        counted = (await caller.send("GET", "/self-model"))["domains"]["harbour"]["sampleCount"]
        total = (await caller.send("GET", "/stats"))["memories"]["total"]
    acknowledged = sum(written)
    print(
        f"{WRITERS} writers, {KILL_SECONDS:.0f} s, killed twice: {acknowledged} facts acknowledged, {total} held, "
        f"{acknowledged} outcomes acknowledged, {counted} counted"
    )
    if (total, counted) != (acknowledged, acknowledged):
        sys.exit(1)


async def _until_answered(service: Service, key: str, path: str, body: Body, request: str) -> None:
    while True:
        try:
            caller = service.idle.pop() if service.idle else await Caller.connected(service.port, key)
            await caller.post(path, body, request)
        except (OSError, asyncio.IncompleteReadError, Refused):
            await asyncio.sleep(0.05)
        else:
            service.idle.append(caller)
            return


if __name__ == "__main__":
    main()
