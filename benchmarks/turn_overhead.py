"""What a turn costs beside a bare workflow, and what its history holds: `python -m benchmarks.turn_overhead [--quick]`."""

import argparse
import asyncio
import time
from typing import Any

from benchmarks.against_bare import FULL, QUICK, Extent, compare
from benchmarks.app import DUMP_BYTES
from benchmarks.stage import APPROVAL, QUESTION, Size, Stage, both_workers, size_of, stage
from benchmarks.tables import Line, kilobytes, machine, milliseconds, table
from worker.client import Turn

PLAIN_EVENTS, PAUSE_EVENTS = 22, 40
CONVERSATION_TURNS = 50
GROWTH_TARGET = 0.10
ROUNDS = 40
LONG_TURN_BYTES = 6_000_000


async def measure(extent: Extent) -> None:
    """Everything, printed as it is found."""
    print(f"# Turn overhead\n\n{machine()}\n", flush=True)
    async with stage() as place, both_workers(place) as workers:
        print(await compare(place, workers, extent), flush=True)
        print(await _histories(place), flush=True)
        print(await _long_conversation(place), flush=True)
        print(await _long_turn(place), flush=True)
    print(machine())


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


async def _long_conversation(place: Stage) -> str:
    sizes, conversation = [], f"long-{time.time_ns()}"
    for number in range(CONVERSATION_TURNS):
        turn = await place.turns.start(f"{QUESTION} ({number:02d})", conversationId=conversation, userId="long")
        await turn.result()
        sizes.append((await size_of(turn.handle)).bytes)
    growth = sizes[-1] / sizes[0] - 1
    line = Line(
        f"turn {CONVERSATION_TURNS} against turn 1",
        (kilobytes(sizes[0]), kilobytes(sizes[-1]), kilobytes(max(sizes)), f"{growth:+.1%}"),
        f"within {GROWTH_TARGET:.0%}",
        growth <= GROWTH_TARGET,
    )
    return table(
        "History bytes along one conversation", ("turn 1", f"turn {CONVERSATION_TURNS}", "largest", "growth"), [line]
    )


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
