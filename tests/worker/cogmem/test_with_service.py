"""The client and the service together, on a real socket and a real database."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from worker.cogmem import (
    AsyncCogmem,
    Cogmem,
    CognitiveMemoryError,
    TurnOptions,
    exchange,
    fetch_health,
    recall_or_explain,
    run_turn,
    seed_memories,
)
from worker.memory_service.serving import Served, serving
from worker.memory_service.settings import ServiceSettings
from worker.scripted_model import ScriptedModel

ROOT = Path(__file__).resolve().parents[3]
ADMIN = "the-admin-token-of-these-tests"
BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "cogmem.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "FIRST_PAUSE", 0.0)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    settings = ServiceSettings(database_url=f"sqlite:///{tmp_path}/memory.db", admin_token=SecretStr(ADMIN))
    async with serving(settings) as served:
        yield served


@pytest.fixture
async def key(served: Served) -> str:
    return await mint(served, "org-1")


@pytest.fixture
async def memory(served: Served, key: str) -> AsyncIterator[AsyncCogmem]:
    async with AsyncCogmem(api_key=key, base_url=served.url) as client:
        yield client


async def mint(served: Served, organization: str, **fields: Any) -> str:
    """A new key of an organisation."""
    async with AsyncCogmem(api_key=ADMIN, base_url=served.url) as admin:
        body = {"name": "tests", "organizationId": organization, **fields}
        minted = await admin.http.request("POST", "/keys", body=body)
    key: str = minted["key"]
    return key


async def status_of(ask: Awaitable[Any]) -> int:
    """200, or the status of the error that a call became."""
    try:
        await ask
    except CognitiveMemoryError as error:
        return error.status
    return 200


async def test_what_is_taught_is_recalled_promoted_and_forgotten(memory: AsyncCogmem) -> None:
    first = await seed_memories(memory, ["The build id is ZQ7X4M2K.", "We deploy to the host blue-7.", "ok"])
    again = await seed_memories(memory, ["The build id is ZQ7X4M2K."])
    assert ([len(first.stored), len(first.rejected)], [len(again.stored), len(again.merged)]) == ([2, 1], [0, 1])

    found = await memory.recall.search("build id", limit=1)
    held = found.results[0].memory
    assert "ZQ7X4M2K" in held.content
    assert (await memory.memories.get(held.id)).content == held.content
    assert (await memory.memories.promote(held.id, "L0")).tier == "L0"
    assert [each.id for each in await memory.memories.list(tier="L0")] == [held.id]
    assert (await memory.memories.remove(held.id)).deleted
    assert not (await memory.memories.remove(held.id)).deleted
    with pytest.raises(CognitiveMemoryError) as caught:
        await memory.memories.get(held.id)
    assert caught.value.is_not_found_error()
    assert (await memory.recall.search("ZQ7X4M2K")).empty


async def test_a_turn_learns_and_its_failure_is_a_warning_in_the_next_context(memory: AsyncCogmem) -> None:
    turn = await run_turn(
        memory,
        "Our staging host is stage.example.com. Never deploy on Fridays.",
        lambda context: "Noted.",
        TurnOptions(session_id="s1", domain="database", failure_pattern="lock timeout"),
    )
    assert (turn.learning_skipped, turn.problems) == (None, ())
    assert turn.learning is not None
    assert turn.learning.counts.stored >= 1

    assert (await memory.self_model.get()).weak_domains == ["database"]
    context = await memory.context.build("Is the database on stage.example.com up?")
    assert {"guardrail", "trigger"} <= {entry.reason for entry in context.entries}
    assert "lock timeout" in context.text
    assert (await memory.stats.get()).memories.sessions == 1


async def test_a_contradiction_is_in_the_context_until_it_is_settled(memory: AsyncCogmem) -> None:
    tension = await memory.tensions.create("We ship on Fridays", "We never ship on Fridays", "Do we ship on Fridays?")
    assert tension.impact == "medium"
    assert "tension" in {entry.reason for entry in (await memory.context.build("When do we ship?")).entries}

    settled = await memory.tensions.resolve(tension.id, "ada", pattern="ask the release manager")
    assert (settled.status, settled.resolved_by, settled.pattern) == ("resolved", "ada", "ask the release manager")
    assert await memory.tensions.list("active") == []


async def test_a_service_that_fails_twice_after_storing_has_stored_once(served: Served, key: str) -> None:
    """Both clients: the answer is lost, or is an error, when the outcome has been written already."""
    async with AsyncCogmem(api_key=key, base_url=served.url, transport=_AsyncLossy()) as awaited:
        model = await awaited.self_model.record("database", False, failure_pattern="lock timeout")
        learned = await awaited.memories.create(["We deploy to the host blue-7."])
    assert model.domains["database"].sample_count == 1
    assert (learned.counts.stored, learned.counts.merged) == (1, 0)

    def record() -> Any:
        with Cogmem(api_key=key, base_url=served.url, transport=_Lossy()) as memory:
            return memory.self_model.record("ci", True)

    assert (await asyncio.to_thread(record)).domains["ci"].sample_count == 1


async def test_the_sync_client_speaks_with_the_service_as_well(served: Served, key: str) -> None:
    def work() -> tuple[str, str, bool]:
        with Cogmem(api_key=key, base_url=served.url) as memory:
            memory.memories.create(["We deploy to the host blue-7."])
            found = recall_or_explain(memory, "deploy host")
            return found, recall_or_explain(memory, "quarterly revenue"), fetch_health(served.url).ok

    found, nothing, healthy = await asyncio.to_thread(work)
    assert found == "Remembered (1 match):\n- We deploy to the host blue-7. [L1, relevance 1.00]"
    assert nothing.startswith('Nothing that was remembered matches "quarterly revenue"')
    assert healthy


async def test_what_a_key_may_not_do_is_told_as_such(served: Served) -> None:
    reading = await mint(served, "org-1", scopes=["memories:read"])
    async with AsyncCogmem(api_key=reading, base_url=served.url) as memory:
        with pytest.raises(CognitiveMemoryError) as forbidden:
            await memory.memories.create(["We use uv."])
        with pytest.raises(CognitiveMemoryError) as misspelt:
            await memory.recall.search({"query": "x", "limt": 3})
        with pytest.raises(CognitiveMemoryError) as absent:
            await memory.memories.get("a/b")
    async with AsyncCogmem(api_key="cmi_dev_00000000_unknown", base_url=served.url) as stranger:
        with pytest.raises(CognitiveMemoryError) as unknown:
            await stranger.stats.get()

    assert forbidden.value.is_scope_error()
    assert forbidden.value.required_scope == "memories:write"
    assert misspelt.value.is_validation_error()
    assert misspelt.value.issues is not None
    assert misspelt.value.issues[0].startswith("limt")
    assert absent.value.is_not_found_error()
    assert unknown.value.is_auth_error()


async def test_another_organisation_sees_nothing_of_it(served: Served, memory: AsyncCogmem) -> None:
    stored = (await memory.memories.create(["We deploy to the host blue-7."])).stored[0]
    async with AsyncCogmem(api_key=await mint(served, "org-2"), base_url=served.url) as other:
        assert (await other.recall.search("deploy blue-7")).empty
        assert not (await other.memories.remove(stored.id)).deleted
        with pytest.raises(CognitiveMemoryError):
            await other.memories.get(stored.id)
    assert (await memory.memories.get(stored.id)).id == stored.id


@pytest.mark.parametrize(
    "text", ["NUL \x00 and \u202e", "half \ud83d", "Žofie 日本 👩‍👩‍👧", "' OR 1=1 --", "x" * 4_000]
)
async def test_awkward_text_is_answered_and_never_breaks_the_service(memory: AsyncCogmem, text: str) -> None:
    for ask in (memory.memories.create([text]), memory.recall.search(text), memory.context.build(text)):
        assert await status_of(ask) in (200, 400)
    assert (await memory.health()).ok


async def test_the_agent_of_the_documentation_remembers(served: Served, key: str) -> None:
    async with ScriptedModel() as model:
        model.say("To blue-7.")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", BLOCKS[0]),
            cwd=ROOT,
            env={
                "PYTHONPATH": str(ROOT),
                "OPENAI_API_KEY": "sk-tests",
                "OPENAI_BASE_URL": model.base_url,
                "COGMEM_API_KEY": key,
                "COGMEM_BASE_URL": served.url,
                "MODEL": "scripted-1",
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        system = model.requests[0]["messages"][0]["content"]

    assert "blue-7" in system
    lines = out.decode().splitlines()
    assert lines[0] == "To blue-7."
    assert "Releases are tagged" in lines[2]
    assert "quarterly revenue" in lines[3]


async def test_the_tool_of_the_documentation_answers(
    served: Served, key: str, memory: AsyncCogmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COGMEM_API_KEY", key)
    monkeypatch.setenv("COGMEM_BASE_URL", served.url)
    await memory.memories.create(["We deploy to the host blue-7."])
    namespace: dict[str, Any] = {}
    exec(compile(BLOCKS[1], "docs/cogmem.md", "exec"), namespace)
    async with namespace["team"]:
        answer = await namespace["team_knowledge"].function("deploy host")

    assert "blue-7" in answer


class _Loss:
    """Loses what the first two tries of each request gave, after the service has carried them out."""

    def __init__(self) -> None:
        self.losses: Iterator[Any] = iter(())
        self.key = ""

    def outcome(self, request: httpx.Request, response: httpx.Response) -> httpx.Response:
        key = request.headers["idempotency-key"]
        if key != self.key:
            self.key, self.losses = key, iter((httpx.ReadError("reset"), httpx.Response(503, json={})))
        lost = next(self.losses, response)
        if isinstance(lost, Exception):
            raise lost
        return lost


class _AsyncLossy(_Loss, httpx.AsyncBaseTransport):
    def __init__(self) -> None:
        super().__init__()
        self._network = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._network.handle_async_request(request)
        await response.aread()
        return self.outcome(request, response)

    async def aclose(self) -> None:
        await self._network.aclose()


class _Lossy(_Loss, httpx.BaseTransport):
    def __init__(self) -> None:
        super().__init__()
        self._network = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._network.handle_request(request)
        response.read()
        return self.outcome(request, response)

    def close(self) -> None:
        self._network.close()
