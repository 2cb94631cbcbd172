"""When a call is tried again, told without a network."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.cogmem import calls
from worker.cogmem.call import Call
from worker.cogmem.errors import CognitiveMemoryError
from worker.cogmem.exchange import LONGEST_PAUSE, Answer, Pause, Send, Story, backoff, exchange

READ: Call[Any] = Call("GET", "/stats", lambda decoded: decoded)
WRITE: Call[Any] = Call("POST", "/turns", lambda decoded: decoded, body={})

NAMES = ("memory", "memories", "tension", "tensions", "error", "message", "issues", "id", "content", "results", "empty")
EVERY_CALL: list[Call[Any]] = [
    calls.list_memories(),
    calls.get_memory("m1"),
    calls.create_memories(["x"]),
    calls.remove_memory("m1"),
    calls.build_context(),
    calls.search("x"),
    calls.list_tensions(),
    calls.get_self_model(),
    calls.get_stats(),
    calls.get_health(),
]


def answer(status: int = 200, text: str = '{"ok": true}', **headers: str) -> Answer:
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, text)


def follow(story: Story[Any], *outcomes: Answer | Exception) -> tuple[list[Send[Any]], list[float], Any]:
    """The tries, the pauses between them in seconds, and the result or the error at the end."""
    sent: list[Send[Any]] = []
    pauses: list[float] = []
    left = list(outcomes)
    try:
        step = next(story)
        while True:
            if isinstance(step, Pause):
                pauses.append(step.seconds)
                step = next(story)
                continue
            assert isinstance(step, Send)
            sent.append(step)
            outcome = left.pop(0)
            step = story.throw(outcome) if isinstance(outcome, Exception) else story.send(outcome)
    except StopIteration as told:
        return sent, pauses, told.value
    except (CognitiveMemoryError, httpx.HTTPError) as error:
        return sent, pauses, error
    finally:
        assert not left


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("call", [READ, WRITE])
def test_a_status_that_may_pass_is_tried_again(call: Call[Any], status: int) -> None:
    sent, pauses, result = follow(exchange(call, 2), answer(status), answer(status), answer())

    assert (len(sent), len(pauses), result) == (3, 2, {"ok": True})


@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 405, 413, 422, 451, 501])
def test_any_other_status_is_final(status: int) -> None:
    sent, pauses, error = follow(exchange(WRITE, 2), answer(status))

    assert (len(sent), pauses, error.status) == (1, [], status)


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("slow"),
        httpx.ReadTimeout("slow"),
        httpx.ReadError("reset"),
        httpx.WriteError("reset"),
        httpx.RemoteProtocolError("disconnected"),
    ],
)
def test_a_lost_connection_is_tried_again_and_the_last_loss_is_raised_as_it_is(error: Exception) -> None:
    assert follow(exchange(WRITE, 1), error, answer())[2] == {"ok": True}

    last = type(error)("again")
    sent, _, raised = follow(exchange(WRITE, 1), error, last)
    assert len(sent) == 2
    assert raised is last


@pytest.mark.parametrize(
    "error", [httpx.UnsupportedProtocol("no"), httpx.LocalProtocolError("no"), httpx.ProxyError("no")]
)
def test_a_request_that_cannot_be_sent_is_not_tried_again(error: Exception) -> None:
    sent, pauses, raised = follow(exchange(READ, 5), error)

    assert (len(sent), pauses) == (1, [])
    assert raised is error


def test_without_retries_the_first_failure_is_the_last() -> None:
    sent, pauses, error = follow(exchange(READ, 0), answer(503))

    assert (len(sent), pauses, error.status) == (1, [], 503)


def test_a_call_that_must_not_be_repeated_is_sent_once() -> None:
    once: Call[Any] = Call("POST", "/keys", lambda decoded: decoded, repeatable=False)

    assert len(follow(exchange(once, 5), answer(503))[0]) == 1
    assert len(follow(exchange(once, 5), httpx.ConnectError("refused"))[0]) == 1


def test_all_tries_of_a_write_carry_one_key_and_each_call_has_its_own() -> None:
    first, _, _ = follow(exchange(WRITE, 2), answer(500), httpx.ReadError("reset"), answer())
    second, _, _ = follow(exchange(WRITE, 2), answer())

    keys = {sent.headers["idempotency-key"] for sent in first}
    assert len(keys) == 1
    assert second[0].headers["idempotency-key"] not in keys


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_every_method_that_writes_has_a_key(method: Any) -> None:
    assert "idempotency-key" in follow(exchange(Call(method, "/x", lambda decoded: decoded), 0), answer())[0][0].headers
    assert follow(exchange(READ, 0), answer())[0][0].headers == {}


@pytest.mark.parametrize(("asked", "waited"), [("3", 3.0), ("0.5", 0.5), ("86400", 60.0), ("1e400", 60.0)])
@pytest.mark.parametrize("status", [429, 503])
def test_it_waits_as_long_as_the_service_asks_within_a_minute(status: int, asked: str, waited: float) -> None:
    _, pauses, _ = follow(exchange(READ, 1), answer(status, retry_after=asked), answer())

    assert pauses == [waited]


def test_it_waits_until_the_date_that_the_service_names() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    _, pauses, _ = follow(exchange(READ, 1), answer(503, retry_after=later), answer())

    assert 20 < pauses[0] <= 30


@pytest.mark.parametrize("asked", ["", "0", "-5", "soon", "nan", "Mon, 01 Jan 1990 00:00:00 GMT", "9" * 5_000])
def test_a_wait_that_says_nothing_is_replaced_by_its_own(asked: str) -> None:
    _, pauses, _ = follow(exchange(READ, 1), answer(429, retry_after=asked), answer())

    assert 0 < pauses[0] <= 60.0


def test_waits_grow_are_spread_and_have_an_end() -> None:
    assert [backoff(failures, 1.0) for failures in range(3)] == [0.25, 0.5, 1.0]
    assert backoff(2, 0.0) == 0.5
    assert backoff(500, 1.0) == LONGEST_PAUSE


@pytest.mark.parametrize("text", ["", "<html>", "NaN", "[" * 50_000])
def test_a_success_that_is_not_json_is_an_error_and_is_not_tried_again(text: str) -> None:
    sent, _, error = follow(exchange(WRITE, 2), answer(200, text))

    assert (len(sent), error.code, error.status) == (1, "UnknownError", 200)
    assert "200" in str(error)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES) | st.text(), inner, max_size=6),
    max_leaves=12,
)


@given(st.sampled_from(EVERY_CALL), st.sampled_from([200, 201, 302, 400, 403, 500]), ANY_JSON)
def test_whatever_json_comes_back_it_is_a_result_or_the_one_error(call: Call[Any], status: int, body: Any) -> None:
    _, _, result = follow(exchange(call, 0), answer(status, json.dumps(body)))

    if status >= 300 or isinstance(result, Exception):
        assert isinstance(result, CognitiveMemoryError)
        assert result.status == status
