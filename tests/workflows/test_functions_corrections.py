"""Calls that failed for their arguments: the model sends better ones, as often as it may, and then does without."""

import json
from typing import Any

import pytest

from tests.support import Harness, event_types, events_of
from tests.workflows.shop import ask, let_run, results, said, serve
from worker.app import AgentApp, ClassController, Rule

UNUSABLE = said("422 Unprocessable Entity", {"detail": "no such article"})
RUN = [Rule("run")]


def order(article: Any, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "createOrder", {"body": {"article": article, **fields}}


@pytest.mark.parametrize("retry", [0, 1, 3])
async def test_it_may_correct_as_often_as_the_controller_says_and_is_refused_then(harness: Harness, retry: int) -> None:
    shop = await serve(harness, {"POST /orders": [UNUSABLE]}, policy=RUN, retry=retry)
    calls = [order(f"lamp {number}") for number in range(retry + 2)]
    output = await (await ask(harness, *calls, limits={"maxToolRounds": 20})).result()

    assert [json.loads(each.body)["article"] for each in shop.requests] == [f"lamp {n}" for n in range(retry + 1)]
    *failed, refused = results(harness)
    assert all("no such article" in each for each in failed)
    assert f"called {retry + 1} times" in refused
    assert output.response_text == "Done."


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "422 Unprocessable Entity"])
async def test_it_counts_what_a_server_says_of_arguments(harness: Harness, status: str) -> None:
    shop = await serve(harness, {"POST /orders": [said(status, {})]}, policy=RUN, retry=0)
    await (await ask(harness, order("a"), order("b"))).result()

    assert len(shop.requests) == 1
    assert status[:3] in results(harness)[0]


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "409 Conflict", "500 Internal Server Error"])
async def test_it_does_not_count_a_failure_that_no_arguments_heal(harness: Harness, status: str) -> None:
    shop = await serve(harness, {"POST /orders": [said(status, {})]}, policy=RUN, retry=0)
    await (await ask(harness, order("a"), order("b"))).result()

    assert len(shop.requests) == 2


@pytest.mark.parametrize(("retry", "rules"), [(0, RUN), (2, RUN), (1, [Rule("approve")])])
async def test_it_counts_the_calls_of_one_reply_together(harness: Harness, retry: int, rules: list[Rule]) -> None:
    shop = await serve(harness, {"POST /orders": [UNUSABLE]}, policy=rules, retry=retry)
    harness.model.call([*(order(f"lamp {number}") for number in range(retry + 3)), ("readOrder", {"orderId": "1"})])
    turn = await ask(harness)
    if rules != RUN:
        stop = await turn.next_stop()
        await turn.answer([{"toolCallId": each.id, "decision": "approve"} for each in stop.tool_calls or ()])
    await turn.result()

    assert sum(each.method == "POST" for each in shop.requests) == retry + 1
    told = results(harness)[: retry + 3]
    assert sum("no such article" in each for each in told) == retry + 1
    assert sum(f"called {retry + 1} times" in each for each in told) == 2


async def test_it_runs_all_calls_of_one_reply_while_they_succeed(harness: Harness) -> None:
    shop = await serve(harness, {"POST /orders": [said("201 Created", {})]}, policy=RUN, retry=0)
    harness.model.call([order(f"lamp {number}") for number in range(6)])
    await (await ask(harness)).result()

    assert sorted(json.loads(each.body)["article"] for each in shop.requests) == [f"lamp {n}" for n in range(6)]


async def test_it_forgets_failures_at_the_first_success(harness: Harness) -> None:
    fine = said("201 Created", {})
    shop = await serve(harness, {"POST /orders": [UNUSABLE, fine, UNUSABLE, fine]}, policy=RUN, retry=1)
    await (await ask(harness, *map(order, "abcd"))).result()

    assert len(shop.requests) == 4


async def test_it_counts_each_function_by_itself(harness: Harness) -> None:
    shop = await serve(harness, {"POST /orders": [UNUSABLE]}, policy=RUN, retry=0)
    await (await ask(harness, order("a"), ("readOrder", {"orderId": "1"}), order("b"))).result()

    assert [each.method for each in shop.requests] == ["POST", "GET"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"body": {"article": "lamp", "count": "many"}}, "$input.body.count"),
        ({"body": {}}, "$input.body.article"),
        ({}, "$input.body"),
        ({"body": {"article": "lamp", "colour": "red"}}, "$input.body.colour"),
        ('{"body": {"article": "la', "cut by its output limit"),
        ('{"body": oops}', "JSON"),
        ("[1]", "object"),
    ],
)
async def test_it_feeds_back_what_breaks_the_schema_and_sends_nothing(
    harness: Harness, arguments: Any, told: str
) -> None:
    shop = await serve(harness, policy=RUN)
    await (await ask(harness, ("createOrder", arguments), order("lamp"))).result()

    assert len(shop.requests) == 1
    assert told in results(harness)[0]


async def test_it_counts_arguments_that_break_the_schema(harness: Harness) -> None:
    shop = await serve(harness, policy=RUN, retry=1)
    await (await ask(harness, order(""), order(""), order("lamp"))).result()

    assert shop.requests == []
    assert "$input.body.article" in results(harness)[1]
    assert "called 2 times" in results(harness)[2]


async def test_in_strict_mode_a_null_for_what_was_left_out_is_not_sent(harness: Harness) -> None:
    shop = await serve(harness, policy=RUN, strict=True)
    await (await ask(harness, order("lamp", count=None))).result()

    offered = {each["function"]["name"]: each["function"] for each in harness.model.requests[0]["tools"]}
    body = offered["createOrder"]["parameters"]["properties"]["body"]
    assert (offered["createOrder"]["strict"], body["required"]) == (True, ["article", "count"])
    assert body["properties"]["count"]["type"] == ["integer", "null"]
    assert [json.loads(each.body) for each in shop.requests] == [{"article": "lamp"}]


async def test_it_needs_an_approval_for_each_correction(harness: Harness) -> None:
    shop = await serve(harness, {"POST /orders": [UNUSABLE, said("201 Created", {})]})
    turn = await ask(harness, order("a"), order("b"))
    for article in "ab":
        [call] = (await harness.pause(turn)).tool_calls or ()
        assert call.arguments == {"body": {"article": article}}
        await turn.answer([{"toolCallId": call.id, "decision": "approve"}])
    await turn.result()

    assert [json.loads(each.body)["article"] for each in shop.requests] == ["a", "b"]


class Stock:
    """A stock of articles."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def take(self, article: str, count: int = 1) -> str:
        """Take an article."""
        self.asked.append(article)
        if article == "lamp":
            raise LookupError("no lamps left")
        return f"{count} {article}"


async def test_a_method_gets_checked_arguments_and_its_failure_is_a_result(harness: Harness) -> None:
    stock = Stock()
    await harness.work(AgentApp(controllers=[ClassController(name="stock", instance=stock)]))
    calls: list[tuple[str, Any]] = [
        ("take", {"article": "lamp", "count": "x"}),
        ("take", {"article": "lamp"}),
        ("take", {"article": "desk", "count": 2}),
    ]
    turn = await ask(harness, *calls)
    await turn.result()

    assert stock.asked == ["lamp", "desk"]
    invalid, failed, taken = results(harness)
    assert "count" in invalid
    assert "no lamps left" in failed
    assert taken == "2 desk"
    assert event_types(await events_of(turn.handle)).count("WORKFLOW_TASK_FAILED") == 0


async def test_a_chain_in_one_turn_sees_what_went_before(harness: Harness) -> None:
    shop = await serve(harness, {"POST /orders": [said("201 Created", {"id": "zz9"})]}, policy=let_run("createOrder"))
    await (await ask(harness, order("lamp"), ("readOrder", {"orderId": "zz9"}))).result()

    assert "zz9" in json.dumps(harness.model.requests[1]["messages"])
    assert shop.calls("GET")[0].target == "/orders/zz9"
