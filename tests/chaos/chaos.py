"""Kill workers and servers while turns run, and check that every promise was kept.

    python -m tests.chaos.chaos --seed 7 --turns 30 --worker-kills 20 --server-kills 5

The exit code is 1 when a promise was broken. The seed decides the turns and the kills, not how they interleave.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.client import Client, WorkflowHistory

from activities.conversation import GMIOutput
from activities.store.database import open_database
from activities.store.turn_store import TurnStore
from tests.chaos.audit import answer_breaches, effect_breaches, row_breaches, unknown_outcomes
from tests.chaos.effects import Effect, Ledger
from tests.chaos.host import Host
from tests.chaos.killer import Kill, Kills, carry_out, make_kills
from tests.chaos.model import Bill
from tests.chaos.moments import Moments
from tests.chaos.plans import FOLLOW_UP, STILL_HERE, Plan, make_plans
from tests.chaos.victims import Server, Worker
from worker.client import TurnClient
from worker.scripted_model import ScriptedModel
from workflows.names import turn_workflow_id

WATCH_SECONDS = 0.02
# A turn that is still open after that hangs.
SECONDS_A_KILL, SECONDS_AT_LEAST = 60.0, 120.0
# Failed workflow tasks that the server itself brings about when it comes back or when messages overtake a task.
HARMLESS = {
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_STICKY_TASK_QUEUE,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
}


@dataclass(slots=True)
class Report:
    """What happened, and the promises that were broken."""

    figures: dict[str, str] = field(default_factory=dict)
    breaches: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The table, and the breaches below it."""
        width = max(map(len, self.figures))
        lines = [f"{name:<{width}}  {figure}" for name, figure in self.figures.items()]
        return "\n".join([*lines, *(f"BROKEN: {breach}" for breach in self.breaches)])


async def run_chaos(folder: Path, plans: Sequence[Plan], kills: Sequence[Kill]) -> Report:
    """Run the turns through the kills, then look at what is left."""
    moments, began = Moments(), time.monotonic()
    bill, ledger = Bill(moments), Ledger(folder / "effects.db")
    async with ScriptedModel(bill.answer) as model, _server(folder) as server:
        worker = Worker(folder, server.running.address, model.base_url)
        await worker.start()
        try:
            client = await server.running.connect()
            host = Host(TurnClient(client), moments)
            async with _watching(ledger, moments):
                ended, done = await _play(host, plans, kills, moments, worker, server)
            after = await asyncio.gather(*(host.say(plan, FOLLOW_UP) for plan in plans))
            histories = [await _history(client, plan) for plan in plans]
        finally:
            await worker.stop()
    report = _audit(folder, plans, host, ended, after, histories, ledger.effects())
    _bill(report, bill, done)
    report.figures["wall"] = f"{time.monotonic() - began:.0f} s"
    return report


async def _play(
    host: Host, plans: Sequence[Plan], kills: Sequence[Kill], moments: Moments, worker: Worker, server: Server
) -> tuple[list[GMIOutput | str], Kills]:
    limit = SECONDS_AT_LEAST + SECONDS_A_KILL * len(kills)
    killing = asyncio.create_task(carry_out(kills, moments, worker, server))
    turns = [asyncio.create_task(host.run(plan)) for plan in plans]
    await asyncio.wait([killing, *turns], timeout=limit, return_when=asyncio.FIRST_EXCEPTION)
    if not killing.done() or killing.exception() is not None:
        for turn in turns:
            turn.cancel()
    done = await asyncio.wait_for(killing, 1)
    return [_outcome(turn) for turn in turns], done


def _outcome(turn: "asyncio.Task[GMIOutput | str]") -> GMIOutput | str:
    if turn.done():
        return turn.result()
    turn.cancel()
    return "it is still open"


def _audit(
    folder: Path,
    plans: Sequence[Plan],
    host: Host,
    ended: Sequence[GMIOutput | str],
    after: Sequence[GMIOutput | str],
    histories: Sequence[WorkflowHistory],
    effects: Sequence[Effect],
) -> Report:
    database = open_database(f"sqlite:///{folder}/turnhold.db")
    store, report, unknown = TurnStore(database), Report(), 0
    for plan, output, later, history in zip(plans, ended, after, histories, strict=True):
        rows = [message for _, message in store.rows(plan.stored_id)]
        acknowledged, signals = host.acknowledged.get(plan.name, {}), _signalled(history)
        own = [effect for effect in effects if effect.turn_id == plan.stored_id]
        report.breaches += [
            *_end_breaches(plan, output, plan.last_words),
            *_end_breaches(plan, later, STILL_HERE),
            *row_breaches(plan, rows),
            *answer_breaches(plan, rows, acknowledged, signals),
            *effect_breaches(plan, rows, own),
            *(f"{plan.name}: a workflow task failed: {cause}" for cause in _failed_tasks(history)),
        ]
        unknown += unknown_outcomes(rows)
    database.close()
    runs = Counter(effect.key for effect in effects)
    report.figures |= {
        "turns": f"{len(plans)}, {sum(isinstance(output, GMIOutput) for output in ended)} of them ended with an output",
        "answers acknowledged": str(sum(map(len, host.acknowledged.values()))),
        "effects by key": f"{len(runs)}, {sum(count > 1 for count in runs.values())} of them run more than once",
        "outcomes unknown": f"{unknown} runs that may not be repeated were cut off",
        "events of the longest history": str(max(len(history.events) for history in histories)),
    }
    return report


def _bill(report: Report, bill: Bill, done: Kills) -> None:
    explained, unexplained = bill.repeated(done.worker)
    report.breaches += [f"{step}: the model was billed twice, and no kill explains it" for step in unexplained]
    report.figures |= {
        "worker kills": str(len(done.worker)),
        "server kills": str(len(done.server)),
        "at": ", ".join(f"{count} x {moment}" for moment, count in sorted(Counter(done.moments).items())),
        "model calls": f"{bill.total}, {explained} of them again because a kill fell before the answer was stored",
    }


def _end_breaches(plan: Plan, output: GMIOutput | str, words: str) -> list[str]:
    if isinstance(output, str):
        return [f"{plan.name}: {output}"]
    if output.error is not None or output.response_text != words:
        return [f"{plan.name}: it said {output.response_text!r} with the error {output.error}, not {words!r}"]
    return []


def _signalled(history: WorkflowHistory) -> list[Any]:
    """Every result that came by signal."""
    results: list[Any] = []
    for event in history.events:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
            for payload in event.workflow_execution_signaled_event_attributes.input.payloads:
                results += json.loads(payload.data)["results"]
    return results


def _failed_tasks(history: WorkflowHistory) -> list[str]:
    return [
        WorkflowTaskFailedCause.Name(event.workflow_task_failed_event_attributes.cause)
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
        and event.workflow_task_failed_event_attributes.cause not in HARMLESS
    ]


async def _history(client: Client, plan: Plan) -> WorkflowHistory:
    return await client.get_workflow_handle(turn_workflow_id(plan.conversation_id, plan.name)).fetch_history()


@asynccontextmanager
async def _server(folder: Path) -> AsyncIterator[Server]:
    server = Server(folder)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def _watching(ledger: Ledger, moments: Moments) -> AsyncIterator[None]:
    """Tools run in another process: that one began is seen in the ledger."""

    async def watch() -> None:
        seen = 0
        while True:
            if (now := await asyncio.to_thread(ledger.count)) > seen:
                moments.note("tool", now - seen)
                seen = now
            await asyncio.sleep(WATCH_SECONDS)

    watcher = asyncio.create_task(watch())
    try:
        yield
    finally:
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher


def main() -> int:
    """Run it; the exit code says whether every promise was kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--worker-kills", type=int, default=20)
    parser.add_argument("--server-kills", type=int, default=5)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    plans = make_plans(chance, given.turns, given.worker_kills + given.server_kills)
    kills = make_kills(chance, given.worker_kills, given.server_kills)
    with tempfile.TemporaryDirectory(prefix="turnhold-chaos-") as folder:
        report = asyncio.run(run_chaos(Path(folder), plans, kills))
    sys.stdout.write(f"seed {given.seed}\n{report.text}\n")
    return 1 if report.breaches else 0


if __name__ == "__main__":
    sys.exit(main())
