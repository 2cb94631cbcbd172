"""Many writers of one memory: nothing that was acknowledged is lost or stored twice, whoever is killed."""

import asyncio
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from activities.memory_service import Change, Reply
from activities.store.records import Scope
from memory_engine import CognitiveMemory
from tests.support import until
from tests.worker.memory_service.calls import ADMIN, API, Running, running
from worker.dev_server import free_port

ROOT = Path(__file__).resolve().parents[3]
WRITERS = 64
SCOPE = Scope("acme", "local", "default")


async def test_writers_that_wait_together_are_stored_together(at: Running) -> None:
    submit = at.service.writers.submit
    told = await asyncio.gather(*(submit(SCOPE, storing(number)) for number in range(200)))
    assert [each.body for each in told] == [str(number) for number in range(200)]
    assert at.service.keeper.read(SCOPE, len) == 200
    assert at.service.keeper.version(SCOPE) <= 2


async def test_two_processes_lose_nothing_to_each_other(at: Running) -> None:
    caller = await at.caller()
    async with running(at.service.settings) as other:
        both = [caller, other.with_key(caller.key)]
        await asyncio.gather(
            *(
                both[number % 2].remember(f"Berth {number} of the harbour has {number + 3} cranes")
                for number in range(60)
            )
        )
        for each in both:
            assert (await each.get("/stats"))["memories"]["total"] == 60


async def test_a_change_with_a_fault_costs_the_others_nothing(at: Running) -> None:
    def breaks(engine: CognitiveMemory, now_ms: int) -> Reply:
        engine.remember(["Half of what was begun stands here"], now=now_ms)
        raise ZeroDivisionError

    submit = at.service.writers.submit
    changes = [storing(1), storing(2), Change(breaks), storing(3)]
    outcomes = await asyncio.gather(*(submit(SCOPE, each) for each in changes), return_exceptions=True)
    assert isinstance(outcomes[2], ZeroDivisionError)
    assert [each.body for each in outcomes if isinstance(each, Reply)] == ["1", "2", "3"]
    held = at.service.keeper.read(SCOPE, lambda engine: [item.content for item in engine.memories()])
    assert len(held) == 3
    assert not [content for content in held if content.startswith("Half")]


async def test_readers_of_a_memory_that_is_written_do_not_hold_up_others(at: Running) -> None:
    entered, leave = threading.Event(), threading.Event()

    def takes_long(engine: CognitiveMemory, now_ms: int) -> Reply:
        entered.set()
        assert leave.wait(60)
        return Reply(200, "{}", changed=False)

    busy, other = await at.caller("acme"), await at.caller("other")
    writing = asyncio.create_task(at.service.writers.submit(SCOPE, Change(takes_long)))
    await until(entered.is_set)
    reading = [asyncio.create_task(busy.recalled("harbour")) for _ in range(40)]
    try:
        async with asyncio.timeout(20):
            assert await other.recalled("harbour") == []
        assert not any(task.done() for task in reading)
    finally:
        leave.set()
    await writing
    assert await asyncio.gather(*reading) == [[]] * 40


async def test_what_a_context_showed_is_counted_later(at: Running) -> None:
    caller = await at.caller()
    await caller.remember("Our staging host is blue-7")
    await caller.post("/context", {"userMessage": "look at blue-7"})
    assert (await caller.get("/memories"))["memories"][0]["accessCount"] == 0
    await at.service.writers.flush()
    assert (await caller.get("/memories"))["memories"][0]["accessCount"] == 1


async def test_a_service_that_stops_stores_what_it_owes(at: Running) -> None:
    async with running(at.service.settings) as other:
        caller = await other.caller()
        await caller.remember("Our staging host is blue-7")
        await caller.post("/context", {})
    listed = await at.with_key(caller.key).get("/memories")
    assert listed["memories"][0]["accessCount"] == 1


def storing(number: int) -> Change:
    """A change that stores one fact."""

    def work(engine: CognitiveMemory, now_ms: int) -> Reply:
        engine.remember([f"Berth {number} of the harbour has {number + 3} cranes"], now=now_ms)
        return Reply(201, str(number))

    return Change(work)


@dataclass
class Process:
    """A service in a process of its own, which is killed and started again on the same port."""

    url: str
    environment: dict[str, str]
    process: asyncio.subprocess.Process | None = None

    @classmethod
    def on(cls, database_url: str) -> "Process":
        own = {"TURNHOLD_DATABASE_URL": database_url, "TURNHOLD_ADMIN_TOKEN": ADMIN, "TURNHOLD_MEMORY_RATE": "100000"}
        own |= {"TURNHOLD_MEMORY_BURST": "100000", "PYTHONPATH": str(ROOT)}
        return cls(f"http://127.0.0.1:{free_port()}", {**os.environ, **own})

    async def start(self) -> None:
        command = [sys.executable, "-m", "worker.memory_service", "--port", self.url.rpartition(":")[2]]
        self.process = await asyncio.create_subprocess_exec(
            *command, env=self.environment, stdout=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(60), httpx.AsyncClient() as http:
            while True:
                try:
                    if (await http.get(f"{self.url}/ready")).is_success:
                        return
                except httpx.TransportError:
                    assert self.process.returncode is None
                    await asyncio.sleep(0.05)

    async def stop(self, number: signal.Signals) -> int:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(number)
        async with asyncio.timeout(30):
            return await self.process.wait()


async def test_a_server_that_is_killed_twice_loses_and_doubles_nothing(database_url: str) -> None:
    server = Process.on(database_url)
    await server.start()
    try:
        async with httpx.AsyncClient(base_url=f"{server.url}{API}", timeout=60) as http:
            admin = {"authorization": f"Bearer {ADMIN}"}
            made = await http.post("/keys", json={"name": "x", "organizationId": "acme"}, headers=admin)
            headers = {"authorization": f"Bearer {made.json()['key']}"}
            acknowledged: list[str] = []

            async def write(writer: int) -> None:
                for number in range(3):
                    fact = f"Berth {writer}-{number} of the harbour has {writer + 3} cranes"
                    own = {**headers, "idempotency-key": f"fact-{writer}-{number}"}
                    await until_answered(http, "/memories", {"items": [{"content": fact}]}, own)
                    acknowledged.append(fact)
                    own = {**headers, "idempotency-key": f"outcome-{writer}-{number}"}
                    await until_answered(http, "/self-model/outcome", {"domain": "harbour", "success": True}, own)

            async def kill_when(count: int) -> None:
                await until(lambda: len(acknowledged) >= count, 60)
                await server.stop(signal.SIGKILL)
                await server.start()

            async def kill_twice() -> None:
                await kill_when(20)
                await kill_when(110)

            await asyncio.gather(kill_twice(), *(write(writer) for writer in range(WRITERS)))
            listed = (await http.get("/memories?limit=500", headers=headers)).json()["memories"]
            model = (await http.get("/self-model", headers=headers)).json()
            assert sorted(memory["content"] for memory in listed) == sorted(acknowledged)
            assert len(acknowledged) == WRITERS * 3
            assert model["domains"]["harbour"]["sampleCount"] == WRITERS * 3
    finally:
        code = await server.stop(signal.SIGTERM)
    assert code == 0


async def until_answered(http: httpx.AsyncClient, path: str, body: object, headers: dict[str, str]) -> None:
    """Send a request again until somebody answers it."""
    async with asyncio.timeout(60):
        while True:
            try:
                answer = await http.post(path, json=body, headers=headers)
            except httpx.TransportError:
                await asyncio.sleep(0.05)
                continue
            if answer.is_success:
                return
            assert answer.status_code in (409, 429, 500, 503), answer.text


@pytest.mark.parametrize("arguments", [["--port", "70000"], ["--host", "192.0.2.1"]])
async def test_an_address_that_cannot_be_listened_on_ends_the_process(database_url: str, arguments: list[str]) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "worker.memory_service",
        *arguments,
        env=Process.on(database_url).environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        _, told = await process.communicate()
    assert process.returncode == 1
    assert told.startswith(b"the memory service cannot start: ")
