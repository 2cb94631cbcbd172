"""Functions behind HTTP: chains, corrections, pauses, what a person fills in, what is never told."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support import Harness
from tests.worker.nestia.agents import DIRECT, Shop, agent_of, choose, kinds, offered, sources
from worker.nestia.events import PauseEvent

ORDER, READ = "orders_post", "orders_getById"


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    made = Shop()
    async with made.server:
        yield made


async def test_a_later_call_of_the_turn_sees_what_an_earlier_one_gave(harness: Harness, shop: Shop) -> None:
    async with agent_of(harness, shop.controller()) as agent:
        harness.model.call(choose(ORDER, READ))
        harness.model.call([(ORDER, {"body": {"article": "lamp"}})])
        harness.model.say("Ordered as zz9.")
        harness.model.call([(READ, {"id": "zz9"})])
        harness.model.say("It is new.")
        prompts = await agent.conversate("Order a lamp and tell me its state")

        assert [(each.method, each.target) for each in shop.server.requests] == [
            ("POST", "/orders"),
            ("GET", "/orders/zz9"),
        ]
        assert "zz9" in json.dumps(harness.model.requests[3]["messages"])
        executions = [each for each in prompts if each["type"] == "execute"]
        assert executions[0]["value"]["status"] == 201
        assert executions[0]["value"]["body"] == {"id": "zz9", "article": "lamp"}
        assert executions[0]["value"]["headers"]["content-type"] == "application/json"
        assert "s3cr3t" not in json.dumps(prompts)
        assert (executions[1]["protocol"], executions[1]["controller"]) == ("http", "shop")
        assert kinds(prompts) == ["text", "select", *["execute", "cancel", "describe"] * 2]


async def test_arguments_that_are_refused_three_times_are_one_execution_in_the_end(
    harness: Harness, shop: Shop
) -> None:
    shop.answers = [(422, {"fault": f"no {n}"}) for n in (1, 2, 3)]
    told: list[tuple[str, Any]] = []
    async with agent_of(harness, shop.controller(), config={**DIRECT, "retry": 2}) as agent:
        agent.on("call", lambda event: told.append(("call", event.arguments)))
        agent.on("execute", lambda event: told.append(("execute", event.value["status"])))
        harness.model.call(choose(ORDER))
        for article in ("a", "b", "c"):
            harness.model.call([(ORDER, {"body": {"article": article}})])
        harness.model.say("It cannot be ordered.")
        prompts = await agent.conversate("Order")
        record = (await agent.records())[-1]

        assert sources(harness) == ["select", "execute", "execute", "execute", "describe"]
        assert [each["article"] for each in shop.posts] == ["a", "b", "c"]
        assert kinds(prompts) == ["text", "select", "execute", "cancel", "describe"]
        assert prompts[2]["value"]["status"] == 422
        assert prompts[2]["arguments"] == {"body": {"article": "c"}}
        assert told == [("call", {"body": {"article": "a"}}), ("execute", 422)]
        assert record.type == "turn"
        assert [each.attempts[0].status for each in record.executions] == [422, 422, 422]
        assert [each.success for each in record.executions] == [False, False, False]


async def test_a_correction_that_works_is_what_the_history_has(harness: Harness, shop: Shop) -> None:
    shop.answers = [(422, {"fault": "no such article"})]
    async with agent_of(harness, shop.controller()) as agent:
        harness.model.call(choose(ORDER))
        harness.model.call([(ORDER, {"body": {"article": "lmap"}})])
        harness.model.call([(ORDER, {"body": {"article": "lamp"}})])
        harness.model.say("Ordered.")
        prompts = await agent.conversate("Order")

        assert [each["arguments"]["body"]["article"] for each in prompts if each["type"] == "execute"] == ["lamp"]
        assert offered(harness.model.requests[2]) == [ORDER]


async def test_words_in_place_of_a_correction_leave_the_failure_as_it_stands(harness: Harness, shop: Shop) -> None:
    async with agent_of(harness, shop.controller()) as agent:
        harness.model.call(choose(READ))
        harness.model.call([(READ, {})])
        harness.model.say("Which order?")
        prompts = await agent.conversate("Read it")
        harness.model.say(None)
        harness.model.say("The one with zz1.")
        harness.model.call([(READ, {"id": "zz1"})])
        harness.model.say("It is new.")
        later = await agent.conversate("zz1")

        assert kinds(prompts) == ["text", "select", "text", "execute", "cancel"]
        assert prompts[3]["value"]["status"] == 500
        assert prompts[3]["value"]["body"]["name"] == "TOOL_ARGUMENTS_INVALID"
        assert "id" in prompts[3]["value"]["body"]["message"]
        assert [each.target for each in shop.server.requests] == ["/orders/zz1"]
        assert kinds(later)[-3:] == ["execute", "cancel", "describe"]


async def test_a_server_that_is_away_is_a_value(harness: Harness, shop: Shop) -> None:
    controller = shop.controller(connection={"host": "http://127.0.0.1:9"}, retries=0)
    async with agent_of(harness, controller) as agent:
        harness.model.call(choose(ORDER))
        harness.model.call([(ORDER, {"body": {"article": "lamp"}})])
        harness.model.say("The shop is closed.")
        prompts = await agent.conversate("Order")

        assert (prompts[2]["value"]["status"], prompts[2]["value"]["body"]["name"]) == (500, "ConnectionFailed")


async def test_a_call_waits_for_approval_and_a_listener_gives_it(harness: Harness, shop: Shop) -> None:
    async with agent_of(harness, shop.controller(policy=[])) as agent:
        pauses: list[PauseEvent] = []

        async def approve(event: PauseEvent) -> None:
            pauses.append(event)
            edited = {"decision": "edit", "arguments": {"body": {"article": "desk lamp"}}}
            await agent.answer([{"toolCallId": event.pending.tool_calls[0].id, **edited}])

        agent.on("pause", approve)
        harness.model.call(choose(ORDER))
        harness.model.call([(ORDER, {"body": {"article": "lamp"}})])
        harness.model.say("Ordered.")
        prompts = await agent.conversate("Order")

        assert [each.pending.tool_calls[0].kind for each in pauses] == ["approval"]
        assert [each["article"] for each in shop.posts] == ["desk lamp"]
        assert prompts[2]["arguments"] == {"body": {"article": "desk lamp"}}


async def test_a_refusal_is_a_cancellation_with_its_reason(harness: Harness, shop: Shop) -> None:
    async with agent_of(harness, shop.controller(policy=[]), on_pause="return") as agent:
        harness.model.call(choose(ORDER))
        harness.model.call([(ORDER, {"body": {"article": "lamp"}})])
        first = await agent.conversate("Order")
        pending = await agent.pending()
        assert pending is not None
        harness.model.say("Then not.")
        refusal = {"toolCallId": pending.tool_calls[0].id, "decision": "reject", "reason": "too dear"}
        await agent.answer([refusal])
        rest = await agent.resume()

        assert kinds(first) == ["text", "select"]
        assert kinds(rest) == ["cancel", "text"]
        assert rest[0]["operations"][0]["reason"].endswith("too dear")
        assert shop.posts == []
        assert kinds(agent.get_prompt_histories()) == [*kinds(first), *kinds(rest)]
        assert await agent.resume() == []
        assert await agent.pending() is None


async def test_a_user_who_moves_on_gives_up_the_turn_that_waits(harness: Harness, shop: Shop) -> None:
    async with agent_of(harness, shop.controller(policy=[]), on_pause="return") as agent:
        harness.model.call(choose(ORDER))
        harness.model.call([(ORDER, {"body": {"article": "lamp"}})])
        await agent.conversate("Order")
        harness.model.say("All right.")
        prompts = await agent.conversate("Forget it")

        assert kinds(prompts) == ["text", "text"]
        assert kinds(agent.get_prompt_histories()) == ["text", "select", "cancel", "text", "text"]
        assert shop.posts == []


async def test_what_a_person_fills_in_is_in_no_request_to_the_model_and_in_no_history(
    harness: Harness, shop: Shop
) -> None:
    """Not in the second request of a correction either, which still sends it."""
    shop.answers = [(422, {"fault": "the password S3CRET is right, the article is not"})]
    controller = shop.controller(separate=lambda schema: bool(schema.get("x-secret")))
    async with agent_of(harness, controller) as agent:

        async def fill(event: PauseEvent) -> None:
            call = event.pending.tool_calls[0]
            await agent.answer([{"toolCallId": call.id, "output": {"body": {"password": "S3CRET"}}}])

        agent.on("pause", fill)
        harness.model.call(choose(ORDER))
        harness.model.call([(ORDER, {"body": {"article": "lmap"}})])
        harness.model.call([(ORDER, {"body": {"article": "lamp"}})])
        harness.model.say("Ordered.")
        await agent.conversate("Order")

        assert shop.posts == [{"article": each, "password": "S3CRET"} for each in ("lmap", "lamp")]
        assert "S3CRET" not in json.dumps(harness.model.requests)
        assert "S3CRET" not in json.dumps(agent.get_prompt_histories())
        assert "S3CRET" not in "".join(each.model_dump_json() for each in await agent.records())


async def test_only_the_description_is_asked_for_again_when_the_model_fails_at_it(harness: Harness, shop: Shop) -> None:
    async with agent_of(harness, shop.controller()) as agent:
        harness.model.call(choose(ORDER))
        harness.model.call([(ORDER, {"body": {"article": "lamp"}})])
        harness.model.respond(500, {"error": {"message": "down"}})
        harness.model.say("Ordered.")
        prompts = await agent.conversate("Order")

        assert len(shop.posts) == 1
        assert sources(harness) == ["select", "execute", "describe", "describe"]
        assert kinds(prompts) == ["text", "select", "execute", "cancel", "describe"]
