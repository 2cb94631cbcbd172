"""One memory, two doors: what the service is taught stands in the next turn's prompt, and what a turn learned is recalled."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import SecretStr

from tests.support import Harness
from worker.app import AgentApp, Persona
from worker.cogmem import AsyncCogmem
from worker.memory_service.serving import Served, serving
from worker.memory_service.settings import ServiceSettings

ADMIN = "the-admin-token-of-these-tests"


@pytest.fixture
async def served(harness: Harness) -> AsyncIterator[Served]:
    """The memory service on the database of the harness."""
    settings = ServiceSettings(database_url=harness.settings.database_url, admin_token=SecretStr(ADMIN))
    async with serving(settings) as served:
        yield served


async def client_of(served: Served, organization: str = "local", **scope: str) -> AsyncCogmem:
    """A client whose key opens the memory of a user with a persona."""
    async with AsyncCogmem(api_key=ADMIN, base_url=served.url) as admin:
        body = {"name": "tests", "organizationId": organization, **scope}
        minted = await admin.http.request("POST", "/keys", body=body)
    return AsyncCogmem(api_key=minted["key"], base_url=served.url)


def system_prompt(harness: Harness) -> str:
    """What the newest model call was told before the messages."""
    messages: list[dict[str, Any]] = harness.model.requests[-1]["messages"]
    return "\n".join(str(message["content"]) for message in messages if message["role"] == "system")


async def turn(harness: Harness, content: str, **fields: Any) -> None:
    """A turn, to its end: memory has learned from it."""
    await (await harness.turns.start(content, **fields)).result()


async def test_what_the_service_is_taught_stands_in_the_next_turn(harness: Harness, served: Served) -> None:
    await harness.work()
    harness.model.handler = lambda _: "ok"
    async with await client_of(served, userId="ren") as memory:
        await turn(harness, "Which host do I deploy to?", userId="ren")
        assert "stage.example.com" not in system_prompt(harness)

        await memory.memories.create(["The staging host is stage.example.com."])
        await turn(harness, "Which host do I deploy to?", userId="ren")
        assert "stage.example.com" in system_prompt(harness)

        await turn(harness, "Which host do I deploy to?", userId="mia")
        assert "stage.example.com" not in system_prompt(harness)


async def test_what_a_turn_learned_is_recalled_by_the_service(harness: Harness, served: Served) -> None:
    await harness.work()
    harness.model.handler = lambda _: "ok"
    async with await client_of(served, userId="ren") as memory:
        assert (await memory.recall.search("deploy Fridays")).empty

        await turn(harness, "Never deploy on Fridays.", userId="ren")
        found = await memory.recall.search("deploy Fridays")
        assert "Fridays" in found.results[0].memory.content

        await memory.memories.remove(found.results[0].memory.id)
        await turn(harness, "What about Fridays?", userId="ren")
        assert "Fridays" not in system_prompt(harness)


async def test_organisation_and_persona_divide_the_memories_at_both_doors(harness: Harness, served: Served) -> None:
    await harness.work(AgentApp(personas=[Persona(id=name, name=name, base_system_prompt="") for name in ("a", "b")]))
    harness.model.handler = lambda _: "ok"
    async with await client_of(served, "acme", userId="ren", personaId="b") as memory:
        await memory.memories.create(["The staging host is stage.example.com."])
        for organization, persona, known in (("acme", "a", False), ("other", "b", False), ("acme", "b", True)):
            await turn(harness, "Which host?", userId="ren", organizationId=organization, personaId=persona)
            assert ("stage.example.com" in system_prompt(harness)) is known


async def test_a_contradiction_settled_over_http_leaves_the_prompts(harness: Harness, served: Served) -> None:
    await harness.work()
    harness.model.handler = lambda _: "ok"
    async with await client_of(served, userId="ren") as memory:
        tension = await memory.tensions.create("We ship on Fridays", "We never ship on Fridays", "Which one holds?")
        await turn(harness, "When do we ship?", userId="ren")
        assert "Which one holds?" in system_prompt(harness)

        await memory.tensions.resolve(tension.id, "ada")
        await turn(harness, "When do we ship?", userId="ren")
        assert "Which one holds?" not in system_prompt(harness)
