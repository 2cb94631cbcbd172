"""What tests of whole turns share: a worker of one's own on the session's server, and ways to look at a history."""

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from google.protobuf.json_format import MessageToDict
from temporalio.client import Client, WorkflowHandle

from activities.conversation import GMIOutput
from activities.store.database import open_database
from activities.store.turn_store import TurnStore
from worker.app import AgentApp
from worker.build import build_worker
from worker.client import Turn, TurnClient
from worker.dev_server import DevServer
from worker.draining import draining
from worker.scripted_model import ScriptedModel
from worker.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
# The file in the folder of a harness.
DATABASE = "turnhold.db"


def external(name: str, **fields: Any) -> dict[str, Any]:
    """A tool of the host."""
    return {"name": name, "description": f"The host's {name}.", "inputSchema": {"type": "object"}, **fields}


@dataclass(slots=True)
class Harness:
    """A worker with a scripted model and a database of its own, on a task queue of its own."""

    client: Client
    server: DevServer
    model: ScriptedModel
    folder: Path
    stack: AsyncExitStack
    task_queue: str = field(default_factory=lambda: f"tq-{uuid4().hex[:12]}")
    app: AgentApp = field(default_factory=AgentApp)
    secrets: dict[str, str] = field(default_factory=dict)
    overrides: dict[str, Any] = field(default_factory=dict)
    workers: list["RunningWorker"] = field(default_factory=list)

    @property
    def turns(self) -> TurnClient:
        """A client for this task queue."""
        return TurnClient(self.client, self.task_queue)

    @property
    def settings(self) -> Settings:
        """Settings of the worker: this model, this database, no long waits."""
        return Settings.model_validate(
            {
                "database_url": f"sqlite:///{self.folder}/{DATABASE}",
                "task_queue": self.task_queue,
                "model": "scripted-1",
                "openai_base_url": self.model.base_url,
                "openai_api_key": "sk-test-key-of-the-tests",
                "model_timeout": 20.0,
                "shutdown_grace": 2.0,
                **self.overrides,
            }
        )

    async def work(self, app: AgentApp | None = None, *, cached: bool = True, **overrides: Any) -> "RunningWorker":
        """Start a worker that runs until the test ends, or until it is stopped. Not `cached`: it replays at every task."""
        if app is not None:
            self.app = app
        self.overrides |= overrides | ({} if cached else {"max_cached_workflows": 0})
        worker = RunningWorker(self)
        await self.stack.enter_async_context(worker.stack)
        await worker.start()
        self.workers.append(worker)
        return worker

    def work_apart(self, app: str | None = None, **environment: str) -> subprocess.Popen[bytes]:
        """`python -m worker` on this queue and database: a process that can be killed. It ends with the test."""
        settings = self.settings
        process = subprocess.Popen(
            [sys.executable, "-m", "worker", *([app] if app else [])],
            cwd=ROOT,
            env={
                **os.environ,
                "TEMPORAL_ADDRESS": self.server.address,
                "TEMPORAL_NAMESPACE": "default",
                "TURNHOLD_DATABASE_URL": settings.database_url,
                "TURNHOLD_TASK_QUEUE": self.task_queue,
                "TURNHOLD_MODEL": settings.model,
                "OPENAI_BASE_URL": self.model.base_url,
                "OPENAI_API_KEY": "sk-test-key-of-the-tests",
                **environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

        def end() -> None:
            process.kill()
            process.wait()

        self.stack.callback(end)
        return process

    def store(self) -> TurnStore:
        """The worker's store, for a look at what stands."""
        database = open_database(self.settings.database_url)
        self.stack.callback(database.close)
        return TurnStore(database)

    async def pause(self, turn: Turn) -> GMIOutput:
        """The turn's next stop, which must be a pause."""
        stop = await turn.next_stop(30)
        assert not stop.is_final, stop
        return stop


class RunningWorker:
    """One worker of a harness."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self.stack = AsyncExitStack()

    async def start(self) -> None:
        """Start polling."""
        harness = self._harness
        # A client of its own: a server tells workers of one queue apart by theirs.
        client = await harness.server.connect()
        worker = await build_worker(self.stack, client, harness.app, harness.settings, harness.secrets)
        await self.stack.enter_async_context(draining(worker, harness.settings.shutdown_grace))

    async def stop(self) -> None:
        """Drain and end."""
        await self.stack.aclose()


async def events_of(handle: WorkflowHandle[Any, Any]) -> list[dict[str, Any]]:
    """The history as JSON, payloads decoded to text."""
    history = await handle.fetch_history()
    return [_decoded(MessageToDict(event)) for event in history.events]


def event_types(events: Sequence[dict[str, Any]]) -> list[str]:
    """Names of the events, in order."""
    return [event["eventType"].removeprefix("EVENT_TYPE_") for event in events]


async def until(condition: Callable[[], Any], timeout: float = 20.0) -> Any:
    """The first true value of a condition, sync or async, asked again and again."""
    async with asyncio.timeout(timeout):
        while True:
            value = condition()
            if asyncio.iscoroutine(value):
                value = await value
            if value:
                return value
            await asyncio.sleep(0.02)


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        if isinstance(value.get("data"), str) and "metadata" in value:
            text = base64.b64decode(value["data"]).decode("utf-8", "replace")
            try:
                return json.loads(text)
            except ValueError:
                return text
        return {key: _decoded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    return value
