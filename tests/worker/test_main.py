"""`python -m worker` as a process: it says what is wrong within ten seconds, and drains on SIGTERM."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.support import Harness, until
from worker.dev_server import DevServer, free_port
from worker.pollers import has_worker

ROOT = Path(__file__).resolve().parents[2]


async def start(folder: Path, *arguments: str, **environment: str) -> asyncio.subprocess.Process:
    """A worker process with this environment and nothing of the tests' own."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "TURNHOLD_", "TEMPORAL_"))
    }
    clean |= {"TURNHOLD_DATABASE_URL": f"sqlite:///{folder}/turnhold.db", **environment}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "worker", *arguments),
        cwd=ROOT,
        env=clean,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def refusal(process: asyncio.subprocess.Process) -> str:
    """What a worker that cannot start says, within ten seconds."""
    started = time.monotonic()
    _, err = await asyncio.wait_for(process.communicate(), 30)

    assert time.monotonic() - started < 10
    assert process.returncode == 1
    text = err.decode()
    assert "Traceback" not in text
    return text


async def test_a_wrong_address_is_named(tmp_path: Path) -> None:
    """Nothing listens there."""
    address = f"127.0.0.1:{free_port()}"

    assert address in await refusal(await start(tmp_path, TEMPORAL_ADDRESS=address))


async def test_a_server_that_never_answers_is_named(tmp_path: Path) -> None:
    """Something listens, but it is no Temporal."""
    silent = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    address = f"127.0.0.1:{silent.sockets[0].getsockname()[1]}"
    try:
        assert address in await refusal(await start(tmp_path, TEMPORAL_ADDRESS=address))
    finally:
        silent.close()


async def test_a_wrong_namespace_is_named(tmp_path: Path, temporal_server: DevServer) -> None:
    """The address is right."""
    process = await start(tmp_path, TEMPORAL_ADDRESS=temporal_server.address, TEMPORAL_NAMESPACE="nowhere")

    assert "no namespace 'nowhere'" in await refusal(process)


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (["nosuch:app"], {}, "nosuch"),
        (["worker.demo_app:nothing"], {}, "no 'nothing'"),
        (["worker.demo_app"], {}, "module:attribute"),
        (["worker.demo_app:ORDERS"], {}, "not an AgentApp"),
        ([], {"TURNHOLD_MODEL_TIMEOUT": "-1"}, "TURNHOLD_MODEL_TIMEOUT"),
        ([], {"TURNHOLD_MODEL_PRICES": "{"}, "MODEL_PRICES"),
        ([], {"TURNHOLD_DATABASE_URL": "sqlite:////proc/nowhere/x.db"}, "database"),
        ([], {"TURNHOLD_DATABASE_URL": "mysql://x"}, "mysql"),
        ([], {"TEMPORAL_PROFILE": "nosuch", "TEMPORAL_CONFIG_FILE": "/dev/null"}, "configuration"),
    ],
)
async def test_a_wrong_setting_is_named(
    tmp_path: Path, temporal_server: DevServer, arguments: list[str], environment: dict[str, str], said: str
) -> None:
    """App, settings, database, profile."""
    process = await start(tmp_path, *arguments, TEMPORAL_ADDRESS=temporal_server.address, **environment)

    assert said in await refusal(process)


async def test_it_drains_on_sigterm(harness: Harness, tmp_path: Path) -> None:
    """Exit code 0; a model call in flight is finished, and the turn ends with another worker's help."""
    process = await start(
        tmp_path,
        "worker.demo_app:app",
        TEMPORAL_ADDRESS=harness.server.address,
        TURNHOLD_TASK_QUEUE=harness.task_queue,
        OPENAI_BASE_URL=harness.model.base_url,
        TURNHOLD_MAX_CACHED_WORKFLOWS="1",
    )

    async def polling() -> bool:
        return await has_worker(harness.client, harness.task_queue)

    await until(polling)
    harness.model.say("Patience.", delay=1.0)
    turn = await harness.turns.start("Go", personaId="support")
    await harness.model.wait_for_requests(1)
    process.send_signal(signal.SIGTERM)
    _, log = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 0
    assert b"draining" in log
    assert b"MAX_CACHED_WORKFLOWS is 1: turns that run at the same time hold each other up" in log

    second = await start(
        tmp_path,
        "worker.demo_app:app",
        TEMPORAL_ADDRESS=harness.server.address,
        TURNHOLD_TASK_QUEUE=harness.task_queue,
        OPENAI_BASE_URL=harness.model.base_url,
    )
    try:
        assert (await turn.result()).response_text == "Patience."
        assert len(harness.model.requests) == 1
    finally:
        second.terminate()
        await second.communicate()
