"""Everything a benchmark runs on: a dev server, the model's process, the workers' process, and a client."""

import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

from benchmarks.app import app
from benchmarks.model_server import reply
from benchmarks.processes import Child, running
from worker.build import running_worker
from worker.client import TurnClient
from worker.dev_server import DevServer, dev_server
from worker.scripted_model import ScriptedModel
from worker.settings import Settings

KEY = "sk-of-the-benchmarks"
MODEL = "scripted-1"
APPROVAL = {"name": "approve", "description": "Ask a person.", "inputSchema": {"type": "object", "properties": {}}}
QUESTION = "Where is the parcel with my order 1042? It was promised for Monday."


@dataclass(frozen=True, slots=True)
class Stage:
    """The running parts. `environment` is that of a worker."""

    folder: Path
    server: DevServer
    client: Client
    turns: TurnClient
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class Size:
    """How long a history is: its events, and its bytes as the server counts them."""

    events: int
    bytes: int


@asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    """A server and a model; no worker yet."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="turnhold-bench-")))
        server = await stack.enter_async_context(dev_server(folder))
        model = await stack.enter_async_context(running("benchmarks.model_server", log=folder / "model.log"))
        environment = {
            "TEMPORAL_ADDRESS": server.address,
            "TURNHOLD_DATABASE_URL": f"sqlite:///{folder}/turnhold.db",
            "TURNHOLD_MODEL": MODEL,
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": model.said,
        }
        client = await server.connect()
        yield Stage(folder, server, client, TurnClient(client), environment)


@asynccontextmanager
async def both_workers(place: Stage) -> AsyncIterator[Child]:
    """The process with our worker and the bare one, whose request is the one our turn sends for `QUESTION`."""
    body = place.folder / "body.json"
    body.write_text(json.dumps(await _request_of_a_turn(place)))
    log = place.folder / "workers.log"
    async with running("benchmarks.workers", str(body), log=log, environment=place.environment) as child:
        yield child


async def size_of(handle: WorkflowHandle[Any, Any]) -> Size:
    """The size of a history."""
    info = (await handle.describe()).raw_description.workflow_execution_info
    return Size(info.history_length, info.history_size_bytes)


async def _request_of_a_turn(place: Stage) -> dict[str, Any]:
    """What a first turn sends to its model."""
    async with ScriptedModel(reply) as model:
        settings = Settings.model_validate(
            {
                "database_url": f"sqlite:///{place.folder}/probe.db",
                "task_queue": "probe",
                "model": MODEL,
                "openai_base_url": model.base_url,
                "openai_api_key": KEY,
            }
        )
        async with running_worker(place.client, app, settings):
            await (await TurnClient(place.client, "probe").start(QUESTION)).result()
        return model.requests[0]
