"""One agent instance that lives long: `python -m benchmarks.instance [--turns 5000] [--seconds 780]`.

Turns come one after the other, every twenty-fifth waits for its host. Each run of the instance is bounded, so the last turn of a
run waits while the instance continues as new. What must not grow: the history of a run, the state that a run hands to the next,
the worker's memory. With `--seconds` it stops there, and says how far it came.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil
from temporalio.client import Client

from activities.persona_memory import ConversationContext
from activities.personas import Persona
from benchmarks.processes import running
from benchmarks.stage import APPROVAL, Size, size_of, stage
from benchmarks.tables import Line, kilobytes, machine, table
from worker.gmi import GMI
from workflows.gmi_state import CARRIED_BYTES
from workflows.names import gmi_workflow_id

# Without a bound every prompt would hold 32,000 tokens of the one conversation, and reading it would be most of a turn.
PERSONA = Persona(id="long", conversation_context_config=ConversationContext(max_tokens=1_000))
PAUSE_EVERY = 25
TURNS_PER_RUN = 100
PARTS = 10
# A run of a hundred turns may have so many events; the server's own limit is 51,200.
MOST_EVENTS = 4_000
PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Part:
    """What was seen at the end of a part of the turns. `state` is what the present run was started with, in bytes."""

    turns: int
    rate: float
    state: int
    resident: float


@dataclass(slots=True)
class Life:
    """What an instance went through."""

    parts: list[Part] = field(default_factory=list)
    turns: int = 0
    wrong: int = 0
    pauses: int = 0
    moved_while_paused: int = 0


async def live(
    client: Client,
    gmi: GMI,
    turns: int,
    *,
    turns_per_run: int = TURNS_PER_RUN,
    pause_every: int = PAUSE_EVERY,
    seconds: float = 600.0,
    resident: Callable[[], float] = lambda: 0.0,
) -> Life:
    """Let the instance take so many turns, or as many as the seconds allow."""
    await gmi.initialize(PERSONA, {"externalTools": [APPROVAL], "turnsPerRun": turns_per_run})
    life, began = Life(), time.perf_counter()
    part_began, size = began, max(1, turns // PARTS)
    while life.turns < turns and time.perf_counter() - began < seconds:
        number = life.turns + 1
        pauses = number % pause_every == 0
        stop = await gmi.process_turn(f"use approve 1 times, please, number {number}" if pauses else f"word {number}")
        if pauses and not stop.is_final:
            life.pauses += 1
            life.moved_while_paused += number % turns_per_run == 0 and await _has_moved(
                client, gmi, number // turns_per_run
            )
            [call] = stop.tool_calls or ()
            stop = await gmi.handle_tool_results([{"toolCallId": call.id, "output": {"approved": True}}], "local")
        life.wrong += not stop.is_final or stop.error is not None or not stop.response_text
        life.turns = number
        if number % size == 0:
            now = time.perf_counter()
            life.parts.append(Part(number, size / (now - part_began), await _state_bytes(client, gmi), resident()))
            part_began = now
    return life


async def runs_of(client: Client, gmi_id: str, at_least: int = 1) -> list[str]:
    """The ids of the runs of an instance, once the server lists so many."""
    found: list[str] = []
    async with asyncio.timeout(PATIENCE):
        while len(found) < at_least:
            listed = client.list_workflows(f"WorkflowId = '{gmi_workflow_id(gmi_id)}'")
            found = [each.run_id async for each in listed]
            await asyncio.sleep(0.2)
    return found


async def measure(count: int, seconds: float) -> bool:
    """Everything, printed; whether nothing grew and every turn ended as it should."""
    print(f"# An instance of {count:,} turns\n\n{machine()}\n", flush=True)
    async with stage() as place:
        log = place.folder / "worker.log"
        async with running("benchmarks.workers", log=log, environment=place.environment) as worker:
            gmi, process = GMI(place.client, "long"), psutil.Process(worker.process.pid)
            life = await live(
                place.client, gmi, count, seconds=seconds, resident=lambda: process.memory_info().rss / 1e6
            )
            ids = await runs_of(place.client, gmi.gmi_id, max(1, life.turns // TURNS_PER_RUN))
            handles = [place.client.get_workflow_handle(gmi_workflow_id(gmi.gmi_id), run_id=each) for each in ids]
            ran, status = [await size_of(handle) for handle in handles], await gmi.get_status()
    return _report(life, ran, status.turns)


def _report(life: Life, ran: list[Size], counted: int) -> bool:
    parts = [
        Line(f"turn {part.turns:,}", (f"{part.rate:.1f}", kilobytes(part.state), f"{part.resident:.0f} MB"))
        for part in life.parts
    ]
    print(table("As it lives", ("turns/s", "state of the run", "memory of the worker"), parts))
    events, size = max(each.events for each in ran), max(each.bytes for each in ran)
    states = [part.state for part in life.parts] or [0]
    memory = [part.resident for part in life.parts] or [0.0]
    half, boundaries = memory[len(memory) // 2], life.turns // TURNS_PER_RUN
    lines = [
        Line("turns", (f"{life.turns:,}",), f"{counted:,} counted by it", life.turns == counted),
        Line("turns that did not end as they should", (f"{life.wrong}",), "0", life.wrong == 0),
        Line("runs of the instance", (f"{len(ran)}",), f"{boundaries + 1} or one less", len(ran) >= boundaries),
        Line("longest history of a run", (f"{events:,} events",), f"{MOST_EVENTS:,}", events <= MOST_EVENTS),
        Line("largest history of a run", (kilobytes(size),)),
        Line(
            "largest state handed on", (kilobytes(max(states)),), kilobytes(CARRIED_BYTES), max(states) < CARRIED_BYTES
        ),
        Line("pauses", (f"{life.pauses}",)),
        Line(
            "continued as new with a pause open",
            (f"{life.moved_while_paused}",),
            f"{boundaries}",
            life.moved_while_paused == boundaries,
        ),
        Line("memory of the worker, at half and at the end", (f"{half:.0f} MB, {memory[-1]:.0f} MB",)),
    ]
    print(table("What must not grow", ("",), lines))
    print(machine())
    return all(line.met is not False for line in lines)


async def _has_moved(client: Client, gmi: GMI, runs: int) -> bool:
    """Whether the instance goes on in a new run, its turn still paused."""
    try:
        await runs_of(client, gmi.gmi_id, runs + 1)
    except TimeoutError:
        return False
    return await gmi.get_current_state() == "awaiting_tool_result"


async def _state_bytes(client: Client, gmi: GMI) -> int:
    """How large the state is that the present run was started with."""
    handle = client.get_workflow_handle(gmi_workflow_id(gmi.gmi_id))
    async for event in handle.fetch_history_events(page_size=1):
        payloads = event.workflow_execution_started_event_attributes.input.payloads
        return sum(len(payload.data) for payload in payloads)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instance", description=__doc__)
    parser.add_argument("--turns", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=780.0)
    arguments = parser.parse_args()
    sys.exit(0 if asyncio.run(measure(arguments.turns, arguments.seconds)) else 1)
