"""Requests that fail on their way: repeated where that does no harm, never where it might, each attempt on record."""

import asyncio
import json
import time
from typing import Any

import pytest

from tests.activities.recording import Recorded, answer
from tests.support import Harness, events_of
from tests.workflows.shop import Answer, Shop, ask, let_run, results, said, serve
from worker.client import Turn, TurnFailed
from workflows.turn_state import turn_key

READ = ("readOrder", {"orderId": "7"})
CREATE = ("createOrder", {"body": {"article": "lamp"}})
FINE = said("200 OK", {"id": "7"})


async def stored_run(harness: Harness, turn: Turn, call: int = 0) -> Any:
    """The record of a call of a finished turn."""
    output = await turn.result()
    key = turn_key(output.conversation_id or "", output.turn_id or "", turn.id)
    record = harness.store().tool_run(f"{key}:{(output.tool_calls or ())[call].id}")
    assert record is not None
    return record


async def test_it_repeats_a_read_after_the_delay_that_the_server_asks_for(harness: Harness) -> None:
    came: list[float] = []

    def busy(request: Recorded) -> bytes:
        came.append(time.monotonic())
        return said("503 Service Unavailable", {"busy": True}, "Retry-After: 2")

    def fine(request: Recorded) -> bytes:
        came.append(time.monotonic())
        return FINE

    await serve(harness, {"GET /orders/7": [busy, fine]})
    turn = await ask(harness, READ)
    record = await stored_run(harness, turn)

    # Temporal's own first delay would be one second.
    assert came[1] - came[0] >= 1.9
    assert json.loads(results(harness)[0])["body"] == {"id": "7"}
    assert [(each.attempt, each.status) for each in record.attempts] == [(1, 503), (2, 200)]
    assert record.attempts[0].code == "TOOL_ERROR"
    assert record.attempts[1].code is None
    started = [
        event["activityTaskStartedEventAttributes"]
        for event in await events_of(turn.handle)
        if "activityTaskStartedEventAttributes" in event
    ]
    assert 2 in [each["attempt"] for each in started]
    assert "503" in json.dumps([each.get("lastFailure") for each in started])


async def test_it_gives_the_last_answer_when_its_attempts_are_used_up(harness: Harness) -> None:
    busy = said("503 Service Unavailable", {"busy": "very"}, "Retry-After: 0")
    shop = await serve(harness, {"GET /orders/7": [busy]}, retries=2)
    turn = await ask(harness, READ)
    record = await stored_run(harness, turn)

    assert len(shop.requests) == 3
    assert [each.status for each in record.attempts] == [503, 503, 503]
    assert "very" in results(harness)[0]
    assert "HTTP status 503" in results(harness)[0]


@pytest.mark.parametrize("failing", [b"", said("503 Service Unavailable", {}, "Retry-After: 0")])
async def test_it_never_repeats_a_write_by_itself(harness: Harness, failing: bytes) -> None:
    shop = await serve(harness, {"POST /orders": [failing, FINE]}, policy=let_run("createOrder"))
    turn = await ask(harness, CREATE)
    record = await stored_run(harness, turn)

    assert len(shop.requests) == 1
    assert len(record.attempts) == 1
    told = results(harness)[0]
    assert ("may or may not have happened" in told) if failing == b"" else ("HTTP status 503" in told)


async def test_it_repeats_a_write_under_the_same_key_where_the_api_knows_keys(harness: Harness) -> None:
    shop = await serve(harness, {"POST /orders": [b"", FINE]}, policy=let_run("createOrder"), idempotency_keys=True)
    await (await ask(harness, CREATE)).result()

    keys = [each.header("Idempotency-Key") for each in shop.requests]
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert json.loads(results(harness)[0])["status"] == 200


async def test_it_says_that_nothing_was_sent_where_nobody_listens(harness: Harness) -> None:
    shop = await serve(harness, policy=let_run("createOrder"))
    await shop.__aexit__()
    await (await ask(harness, CREATE)).result()

    assert "Nothing was sent" in results(harness)[0]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (answer("302 Found", b"", None, "Location: http://192.0.2.1/orders/7"), "HTTP status 302"),
        (answer("302 Found", b"", None, "Location: http://169.254.169.254/latest"), "HTTP status 302"),
        (answer("200 OK", b"<html><h1>Sign in</h1></html>", "text/html"), "Sign in"),
        (answer("200 OK", b'{"a": ', "application/json"), '{\\"a\\": '),
        (answer("204 No Content"), '"body": null'),
        (said("200 OK", ["x" * 1_000] * 5_000), "cut: the first"),
    ],
    ids=["elsewhere", "metadata", "html", "broken", "empty", "5 MB"],
)
async def test_it_ends_in_a_result_whatever_the_server_answers(harness: Harness, given: bytes, told: str) -> None:
    await serve(harness, {"GET /orders/7": [given]})
    output = await (await ask(harness, READ)).result()

    assert told in results(harness)[0]
    assert len(results(harness)[0]) < 400_000
    assert output.response_text == "Done."


async def test_it_calls_no_private_address_unless_that_is_allowed(harness: Harness) -> None:
    shop = await serve(harness, allow_private_addresses=False, policy=let_run("createOrder"))
    turn = await ask(harness, READ, CREATE)
    record = await stored_run(harness, turn)

    assert shop.connections == 0
    assert all("Nothing was sent" in each for each in results(harness))
    # No later attempt could come to another end.
    assert len(record.attempts) == 1


async def test_it_stops_a_request_when_the_turn_is_cancelled(harness: Harness) -> None:
    came = asyncio.Event()

    async def never(request: Recorded) -> bytes:
        came.set()
        await asyncio.Event().wait()
        return b""

    answers: dict[str, list[Answer]] = {"GET /orders/7": [never]}
    shop: Shop = await serve(harness, answers)
    turn = await ask(harness, READ, conversationId="c")
    await asyncio.wait_for(came.wait(), 20)
    await turn.cancel()
    with pytest.raises(TurnFailed):
        await turn.result()
    harness.model.say("Still here.")
    again = await harness.turns.start("And now?", conversationId="c")
    await again.result()

    assert len(shop.requests) == 1
    assert "may or may not have happened" in results(harness)[0]
