"""One question to a memory model, through the real client: what it costs, and how it fails."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from temporalio.exceptions import ApplicationError

from activities import errors
from activities.contracts import MemoryAnswered, MemoryAsk
from activities.memory_keeper import MemoryKeeper
from activities.memory_models import MemoryModelActivities
from activities.model_settings import ModelSettings
from activities.prices import Price, Prices
from activities.store.database import Database, open_database
from activities.store.records import Scope
from activities.store.snapshots import SnapshotStore
from activities.store.turn_store import TurnStore
from tests.activities.store.values import begin, commit
from tests.activities.store.values import said as replied
from tests.memory_minds import MEMORY_MODEL, Minds
from worker.scripted_model import ScriptedModel
from worker.scripted_responses import refuse, respond

KEY = "sk-test-0123456789abcdef"
SCOPE = Scope("local", "local", "default")
PRICES = Prices({MEMORY_MODEL: Price(prompt=1.0, completion=2.0)})


class Desk:
    """A committed turn, and the activities on it."""

    def __init__(self, database: Database, model: ScriptedModel) -> None:
        self.minds = Minds()
        model.handler = self.minds
        self.model = model
        self.client = AsyncOpenAI(api_key=KEY, base_url=model.base_url, max_retries=0)
        self.store = TurnStore(database)
        self.keeper = MemoryKeeper(SnapshotStore(database))

    def turn(self, content: str, turn: str = "t1", **fields: Any) -> None:
        """A turn in which the user said this."""
        self.store.claim(begin(turn, content=content, **fields), "default")
        self.store.put_rows(turn, [(1, replied("ok"))])
        self.store.commit(commit(turn))

    async def ask(self, stage: str = "extract_memories", turn: str = "t1", **settings: Any) -> MemoryAnswered:
        """One step."""
        made = ModelSettings(**{"model": MEMORY_MODEL, "timeout": 5.0, "prices": PRICES, **settings})
        activities = MemoryModelActivities(self.store, self.keeper, self.client, made)
        answered = await getattr(activities, stage)(MemoryAsk(turn_id=turn, now_ms=9))
        assert isinstance(answered, MemoryAnswered)
        return answered


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    database = open_database(f"sqlite:///{tmp_path}/store.db")
    async with ScriptedModel() as model:
        made = Desk(database, model)
        yield made
        await made.client.close()
    database.close()


async def test_an_answer_comes_with_its_price_and_the_next_question(desk: Desk) -> None:
    desk.turn("My host is blue-7.")
    desk.minds.found("The user's host is blue-7.")
    answered = await desk.ask()
    assert (answered.asked, answered.next_stage, answered.model) == (True, "arbitrate", MEMORY_MODEL)
    assert answered.usage is not None
    spent = answered.usage.prompt_tokens + 2 * answered.usage.completion_tokens
    assert answered.usage.cost_usd == pytest.approx(spent / 1_000_000)


async def test_without_a_model_nothing_is_asked(desk: Desk) -> None:
    """A turn that began on a worker with one may end on a worker without."""
    desk.turn("My host is blue-7.")
    assert await desk.ask(model="") == MemoryAnswered()
    assert desk.model.requests == []


@pytest.mark.parametrize("content", ["hi", "Where is it?", "ok", "👍"])
async def test_a_message_without_a_statement_costs_nothing(desk: Desk, content: str) -> None:
    desk.turn(content)
    answered = await desk.ask()
    assert (answered.asked, answered.next_stage, answered.usage) == (False, None, None)
    assert desk.model.requests == []


async def test_an_arbiter_without_candidates_is_not_asked(desk: Desk) -> None:
    desk.turn("Let us see.")
    answered = await desk.ask("arbitrate")
    assert not answered.asked


async def test_a_refused_key_is_final_and_not_told(desk: Desk) -> None:
    desk.turn("My host is blue-7.")
    desk.minds.say("extract", lambda _: respond(401, {"error": {"message": f"Incorrect API key: {KEY}"}}))
    with pytest.raises(ApplicationError) as refused:
        await desk.ask()
    assert (refused.value.type, refused.value.non_retryable) == (errors.LLM_PROVIDER_ERROR, True)
    assert KEY not in f"{refused.value} {refused.value.details}"
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(("status", "final"), [(429, False), (503, False), (404, True), (413, True)])
async def test_failures_are_classified_as_those_of_any_model_call(desk: Desk, status: int, final: bool) -> None:
    desk.turn("My host is blue-7.")
    desk.minds.say("extract", lambda _: refuse(status, "no"))
    with pytest.raises(ApplicationError) as failed:
        await desk.ask()
    assert failed.value.non_retryable is final
    assert len(desk.model.requests) == 1


async def test_a_request_that_stays_refused_without_the_schema_fails(desk: Desk) -> None:
    desk.turn("My host is blue-7.")
    desk.minds.say("extract", *[lambda _: refuse(400, "no such parameter")] * 2)
    with pytest.raises(ApplicationError, match="no such parameter"):
        await desk.ask()
    assert ["response_format" in request for request in desk.model.requests] == [True, False]


async def test_a_refusal_of_the_model_is_no_failure(desk: Desk) -> None:
    """The next step goes on without an answer, and the refusal is told."""
    desk.turn("My host is blue-7.")
    refusal = {"choices": [{"message": {"refusal": "I will not read this."}, "finish_reason": "stop"}]}
    desk.minds.say("extract", lambda _: respond(200, refusal))
    answered = await desk.ask()
    assert "will not read" in answered.answers["extract"]["problems"][0]
    assert answered.next_stage == "arbitrate"


async def test_a_turns_own_key_pays_for_its_memory_too(desk: Desk) -> None:
    desk.turn("My host is blue-7.", options={"userApiKeys": ["ACME"]})
    await desk.ask(secrets={"ACME": "sk-acme-0123456789"})
    assert desk.model.headers[0]["authorization"] == "Bearer sk-acme-0123456789"
    with pytest.raises(ApplicationError, match="ACME") as unknown:
        await desk.ask()
    assert unknown.value.non_retryable


async def test_a_turn_that_was_learned_is_not_asked_about_again(desk: Desk) -> None:
    desk.turn("My host is blue-7.")
    desk.keeper.change(SCOPE, 9, lambda engine: engine.post_turn("My host is blue-7.", "ok", turn_id="t1", now=9))
    answered = await desk.ask()
    assert (answered.asked, answered.next_stage) == (False, None)


async def test_an_unknown_turn_is_final(desk: Desk) -> None:
    with pytest.raises(ApplicationError) as unknown:
        await desk.ask(turn="nobody")
    assert (unknown.value.type, unknown.value.non_retryable) == (errors.SYS_RESOURCE_NOT_FOUND, True)
