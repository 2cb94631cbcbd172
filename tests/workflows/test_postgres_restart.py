"""The database server goes away in the middle of a turn, and comes back."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.postgres import PostgresServer, missing_postgres, running_postgres
from tests.support import Harness, external, until
from worker.app import AgentApp, tool

RAN: list[str] = []


@tool
def charge() -> str:
    """Charge the card."""
    RAN.append("charge")
    return "charged"


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    if reason := missing_postgres():
        pytest.skip(reason)
    with running_postgres() as server:
        yield server


async def test_an_answer_that_comes_while_the_database_is_away_is_kept_until_it_is_back(
    harness: Harness, postgres: PostgresServer
) -> None:
    """The turn waits for the store; what ran before does not run again, and texts with NUL are stored too."""
    RAN.clear()
    harness.overrides["database_url"] = postgres.url(postgres.new_database())
    await harness.work(AgentApp(tools=[charge]))
    harness.model.call([("charge", {}), ("ask", {"nul": "\u0000"})], "One \u0000 moment.")
    harness.model.say("Done.")
    names = {"conversationId": "a\u0000b", "userId": "u\u0000v"}
    turn = await harness.turns.start("Go \u0000", externalTools=[external("ask")], **names)
    (call,) = (await harness.pause(turn)).tool_calls or ()

    async def charged() -> bool:
        return "charged" in str(await turn.handle.query("get_history"))

    await until(charged)
    await asyncio.to_thread(postgres.stop)
    ack = await turn.answer([{"toolCallId": call.id, "output": {"yes\u0000": 1}}])
    pending = await turn.pending()
    await asyncio.to_thread(postgres.start_again)
    output = await asyncio.wait_for(turn.result(), 60)

    assert (ack.accepted, pending) == ((call.id,), None)
    assert output.response_text == "One \u0000 moment.\nDone."
    assert RAN == ["charge"]
    contents = [message["content"] for message in harness.model.requests[-1]["messages"] if message["role"] == "tool"]
    assert contents == ["charged", '{"yes\\u0000": 1}']
