"""Functions of an HTTP API in whole turns: what runs at once, what waits for whom, what is never done."""

import json
from typing import Any

import pytest

from tests.support import Harness
from tests.workflows.shop import Shop, ask, offered, results, said, serve
from worker.app import FunctionFacts, Rule
from worker.client import AnswerRefused, Turn

CREATE = ("createOrder", {"body": {"article": "lamp", "count": 2}})


async def waiting(harness: Harness, shop: Shop) -> tuple[Turn, str]:
    """A turn whose order waits, and the id of the call. Nothing was sent yet."""
    turn = await ask(harness, CREATE)
    [call] = (await harness.pause(turn)).tool_calls or ()
    assert shop.requests == []
    return turn, call.id


async def test_it_reads_at_once_and_waits_before_it_writes(harness: Harness) -> None:
    shop = await serve(harness)
    turn = await ask(harness, ("readOrder", {"orderId": "7"}), CREATE)
    await harness.pause(turn)
    pending = await turn.pending()

    assert [(each.method, each.target) for each in shop.requests] == [("GET", "/orders/7")]
    assert pending is not None
    [call] = pending.tool_calls
    assert (call.kind, call.arguments) == ("approval", CREATE[1])
    assert call.input_schema is not None
    assert call.input_schema["required"] == ["body"]


async def test_it_sends_what_was_approved_once_with_an_idempotency_key(harness: Harness) -> None:
    shop = await serve(harness, {"POST /orders": [said("201 Created", {"id": "zz9"})]})
    turn, call_id = await waiting(harness, shop)
    await turn.answer([{"toolCallId": call_id, "decision": "approve"}])
    output = await turn.result()

    [request] = shop.requests
    assert json.loads(request.body) == CREATE[1]["body"]
    assert request.header("Idempotency-Key")
    assert json.loads(results(harness)[0])["body"] == {"id": "zz9"}
    assert [each.name for each in output.tool_calls or ()] == ["createOrder"]


async def test_it_sends_edited_arguments_that_fit_and_refuses_others(harness: Harness) -> None:
    shop = await serve(harness)
    turn, call_id = await waiting(harness, shop)
    wrong = {"toolCallId": call_id, "decision": "edit", "arguments": {"body": {"article": "lamp", "count": 0}}}
    with pytest.raises(AnswerRefused, match=r"arguments\.body\.count"):
        await turn.answer([wrong])
    await turn.answer([{**wrong, "arguments": {"body": {"article": "lamp", "count": 1}}}])
    output = await turn.result()

    assert [json.loads(each.body) for each in shop.requests] == [{"article": "lamp", "count": 1}]
    assert (output.tool_calls or ())[0].arguments == {"body": {"article": "lamp", "count": 1}}


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"decision": "reject", "reason": "we have lamps"}, "we have lamps"),
        ({"output": {"status": 201, "headers": {}, "body": {"id": "by phone"}}}, "by phone"),
    ],
)
async def test_it_sends_nothing_when_a_person_refuses_or_gives_the_result(
    harness: Harness, sent: dict[str, Any], told: str
) -> None:
    shop = await serve(harness)
    turn, call_id = await waiting(harness, shop)
    await turn.answer([{"toolCallId": call_id, **sent}])
    await turn.result()

    assert shop.requests == []
    assert told in results(harness)[0]


async def test_it_leaves_a_function_to_the_host_with_its_schema(harness: Harness) -> None:
    shop = await serve(harness, policy=[Rule("external", name="createOrder")])
    turn, call_id = await waiting(harness, shop)
    pending = await turn.pending()
    assert pending is not None
    assert pending.tool_calls[0].kind == "external"
    assert pending.tool_calls[0].input_schema is not None
    with pytest.raises(AnswerRefused, match="nothing to approve"):
        await turn.answer([{"toolCallId": call_id, "decision": "approve"}])
    await turn.answer([{"toolCallId": call_id, "output": {"id": "from the host"}}])
    await turn.result()

    assert shop.requests == []
    assert "from the host" in results(harness)[0]


async def test_it_neither_offers_nor_runs_what_is_hidden(harness: Harness) -> None:
    shop = await serve(harness, policy=[Rule("hidden", method="DELETE")])
    await (await ask(harness, ("deleteOrder", {"orderId": "7"}))).result()

    assert "deleteOrder" not in offered(harness.model.requests[0])
    assert "readOrder" in offered(harness.model.requests[0])
    assert "there is no tool 'deleteOrder'" in results(harness)[0]
    assert shop.requests == []


def large(facts: FunctionFacts, arguments: dict[str, Any]) -> bool:
    """An order of more than ten."""
    return bool(arguments["body"].get("count", 1) > 10)


def absurd(facts: FunctionFacts, arguments: dict[str, Any]) -> bool:
    """An order that nobody means."""
    return bool(arguments["body"].get("count", 1) > 1_000)


async def test_it_decides_by_the_arguments_of_each_call(harness: Harness) -> None:
    rules = [
        Rule("hidden", name="createOrder", predicate="absurd"),
        Rule("approve", name="createOrder", predicate="large"),
        Rule("run", name="createOrder"),
    ]
    shop = await serve(harness, policy=rules, predicates={"large": large, "absurd": absurd})
    few, many, most = ({"body": {"article": "lamp", "count": count}} for count in (1, 11, 5_000))
    turn = await ask(harness, ("createOrder", few), ("createOrder", most), ("createOrder", many))
    [call] = (await harness.pause(turn)).tool_calls or ()
    assert call.arguments == many
    await turn.answer([{"toolCallId": call.id, "decision": "reject"}])
    await turn.result()

    assert [json.loads(each.body)["count"] for each in shop.requests] == [1]
    assert "must not be called with these arguments" in results(harness)[1]


async def test_it_asks_a_person_where_a_predicate_fails(harness: Harness) -> None:
    def broken(facts: FunctionFacts, arguments: dict[str, Any]) -> bool:
        raise KeyError("count")

    rules = [Rule("run", name="createOrder", predicate="broken"), Rule("run", name="createOrder")]
    shop = await serve(harness, policy=rules, predicates={"broken": broken})
    turn, call_id = await waiting(harness, shop)
    pending = await turn.pending()
    assert pending is not None
    assert [(each.id, each.kind) for each in pending.tool_calls] == [(call_id, "approval")]


async def test_it_runs_calls_of_one_reply_side_by_side_and_answers_in_their_order(harness: Harness) -> None:
    shop = await serve(harness)
    harness.model.call([("readOrder", {"orderId": "1"}), CREATE, ("readOrder", {"orderId": "2"})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Go")
    [call] = (await harness.pause(turn)).tool_calls or ()
    await turn.answer([{"toolCallId": call.id, "decision": "reject", "reason": "no lamp"}])
    await turn.result()

    first, second, third = results(harness)
    assert "/orders/1" in first
    assert "no lamp" in second
    assert "/orders/2" in third
    assert len(shop.calls("GET")) == 2
