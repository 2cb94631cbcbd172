from datetime import UTC, datetime
from typing import Any

import pytest

from activities.provider_errors import (
    LONGEST_DELAY,
    NEVER,
    ProviderFault,
    Verdict,
    fault_of_body,
    judge,
    readable,
    retry_after,
)

NOW = datetime(2026, 1, 2, 3, 4, 0, tzinfo=UTC)


@pytest.mark.parametrize("status", [300, 400, 401, 402, 403, 404, 405, 410, 413, 422])
def test_a_request_that_is_wrong_is_never_sent_again(status: int) -> None:
    assert not judge(ProviderFault("no", status), 1, NOW).retry


@pytest.mark.parametrize("status", [None, 408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_a_passing_trouble_is_tried_again(status: int | None) -> None:
    assert judge(ProviderFault("no", status), 1, NOW).retry


@pytest.mark.parametrize(
    ("fault", "retry"),
    [
        (ProviderFault("quota", 429, "insufficient_quota"), False),
        (ProviderFault("You exceeded your current quota", 429), False),
        (ProviderFault("long", 500, "context_length_exceeded"), False),
        (ProviderFault("This model's maximum context length is 8192 tokens", 500), False),
        (ProviderFault("Request too large for m: limit 3, requested 4", 429, "rate_limit_exceeded"), False),
        (ProviderFault("slow down", 429, "rate_limit_exceeded"), True),
        (ProviderFault("no", 503, headers={"x-should-retry": "false"}), False),
        (ProviderFault("no", 400, headers={"x-should-retry": "true"}), True),
        (ProviderFault("no", 429, "insufficient_quota", {"x-should-retry": "true"}), False),
    ],
)
def test_codes_words_and_the_providers_wish_decide_before_the_status(fault: ProviderFault, retry: bool) -> None:
    assert judge(fault, 1, NOW).retry is retry


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "Fri, 02 Jan 2026 03:04:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 02 Jan 2026 03:00:00 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "86400"}, LONGEST_DELAY),
        ({"retry-after": "inf"}, LONGEST_DELAY),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "soon"}, None),
    ],
)
def test_the_providers_delay_is_read_in_every_form_and_bounded(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds
    assert judge(ProviderFault("no", 503, headers=headers), 1, NOW).delay == seconds


GEMINI = "You exceeded your current quota, please check your plan and billing details. Please retry in 34.07s."


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        (GEMINI, 34.07),
        ("Rate limit reached. Please try again in 20s.", 20.0),
        ("Please try again in 250ms. Visit us", 0.25),
        ("try again in 2m59.56s", LONGEST_DELAY),
        ("Please try again in a while", 2.0),
    ],
)
def test_a_delay_told_in_words_is_kept_to_and_makes_of_a_quota_a_rate(text: str, delay: float) -> None:
    assert judge(ProviderFault(text, 429, "RESOURCE_EXHAUSTED"), 1, NOW) == Verdict(retry=True, delay=delay)
    header = judge(ProviderFault(text, 429, headers={"retry-after": "7"}), 1, NOW)
    assert header == Verdict(retry=True, delay=7.0)
    assert judge(ProviderFault(text, 429, "insufficient_quota"), 1, NOW) == NEVER


def test_a_rate_limit_without_a_delay_backs_off_from_two_seconds_to_a_minute() -> None:
    delays = [judge(ProviderFault("slow", 429), attempt, NOW).delay for attempt in (1, 2, 3, 10, 10_000)]
    assert delays == [2.0, 4.0, 8.0, 60.0, 60.0]


@pytest.mark.parametrize(
    ("body", "status", "code", "text"),
    [
        (
            {"error": {"message": "Provider returned error", "code": 429, "metadata": {"raw": "Too Many"}}},
            429,
            "429",
            "Too Many",
        ),
        ({"error": {"message": "bad", "code": 400}}, 400, "400", "bad"),
        (
            {"error": {"message": "bad", "type": "invalid_request_error", "code": None}},
            400,
            "invalid_request_error",
            "bad",
        ),
        ({"error": {"message": "busy", "code": "rate_limit_exceeded"}}, 429, "rate_limit_exceeded", "busy"),
        ([{"error": {"code": 503, "message": "later", "status": "UNAVAILABLE"}}], 503, "UNAVAILABLE", "later"),
        ({"error": "model not loaded"}, None, None, "model not loaded"),
        ({"object": "error", "message": "gone", "code": 404}, 404, "404", "gone"),
        ({"error": {"code": "9" * 5_000}}, None, "9" * 100, "no reason given"),
        ({"code": 429, "message": "slow down"}, 429, "429", "slow down"),
        ({"code": 1302, "msg": "too many at once", "success": False}, None, "1302", "too many at once"),
        ({"error": {"message": "upstream", "code": 502}, "choices": [{"message": {}}]}, 502, "502", "upstream"),
    ],
)
def test_an_error_under_status_200_is_read_with_its_own_code(
    body: Any, status: int | None, code: str | None, text: str
) -> None:
    fault = fault_of_body(body, 200)
    assert fault is not None
    assert (fault.status, fault.code) == (status, code)
    assert text in fault.text


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        None,
        "text",
        {"choices": []},
        {"error": None},
        [1],
        {"error": {"message": "", "code": None}, "choices": [{}]},
        {"type": "ping", "message": "still here"},
    ],
)
def test_a_body_that_reports_nothing_has_no_fault(body: Any) -> None:
    assert fault_of_body(body, 200) is None


def test_a_plain_detail_is_the_reason_under_an_error_status() -> None:
    fault = fault_of_body({"detail": "model x not found"}, 404)
    assert fault is not None
    assert (fault.status, fault.text) == (404, "model x not found")


def test_no_key_is_readable_and_the_text_is_bounded() -> None:
    text = readable(
        "wrong key sk-proj-abcdef123456, Bearer eyJhbGciOi.J9, mine-is-secret " + "\x00" * 50 + "é" * 5_000,
        ["mine-is-secret"],
    )
    assert "abcdef" not in text
    assert "eyJ" not in text
    assert "mine-is-secret" not in text
    assert "\x00" not in text
    assert len(text.encode()) <= 1_010
