"""The service on PostgreSQL, with a second process beside it."""

import asyncio

import pytest

from tests.postgres import missing_postgres, running_postgres
from tests.worker.memory_service.calls import running, settings_for

pytestmark = pytest.mark.skipif(missing_postgres() is not None, reason=missing_postgres() or "")


async def test_two_services_share_memories_keys_and_answers() -> None:
    with running_postgres() as server:
        settings = settings_for(server.url(server.new_database()))
        async with running(settings) as one, running(settings) as other:
            caller = await one.caller("acme")
            both = [caller, other.with_key(caller.key)]
            facts = [f"Berth {number} of the harbour has {number + 3} cranes" for number in range(30)]
            await asyncio.gather(*(both[number % 2].remember(fact) for number, fact in enumerate(facts)))
            for each in both:
                assert (await each.get("/stats"))["memories"]["total"] == 30
            outcome = {"domain": "harbour", "success": True}
            answers = [await each.send("POST", "/self-model/outcome", outcome, idempotency_key="k") for each in both]
            assert answers[0].content == answers[1].content
            odd = await caller.remember("Berth 31 has a crane called \x00 \ud7ff 起重机")
            assert odd["counts"]["stored"] + odd["counts"]["rejected"] == 1
