"""What went wrong at the provider, and whether asking again can help. Every classification stands here, once.

Temporal owns the retries: the client makes none, the caller's retry policy bounds them, and this module only says "never",
"with the policy's back-off" or "after so many seconds".
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from activities.json_values import clean_text

LONGEST_DELAY = 60.0
RATE_LIMIT_DELAY = 2.0
# The server drops failures over 4 KiB, of which stack and details take their part.
TEXT_BYTES = 1_000
CODE_CHARS = 100

RETRIED_STATUSES = frozenset({408, 409, 425, 429})

# Final whatever the status: neither waiting nor a new connection makes them go away.
FINAL_CODES = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "context_length_exceeded",
        "string_above_max_length",
        "content_filter",
        "content_policy_violation",
        "invalid_api_key",
        "account_deactivated",
        "model_not_found",
    }
)
FINAL_TEXT = re.compile(
    r"maximum context length|context (length|window|size)|prompt is too long|too many (input )?tokens"
    r"|request too large|exceeded your current quota|credit balance is too low",
    re.IGNORECASE,
)
# "Please retry in 34.07s", "Please try again in 2m59.5s": with it, even what sounds like a used-up quota is a rate.
_TOLD_DELAY = re.compile(r"(?:retry|try again) in (?:(\d+)m)?(\d+(?:\.\d+)?) ?(ms|s)", re.IGNORECASE)

# Error bodies under status 200 name a code or a type; this is the status it stands for.
STATUS_OF_CODE: Mapping[str, int] = {
    "invalid_request_error": 400,
    "invalid_request": 400,
    "bad_request": 400,
    "invalid_argument": 400,
    "authentication_error": 401,
    "unauthenticated": 401,
    "invalid_api_key": 401,
    "insufficient_quota": 402,
    "permission_error": 403,
    "permission_denied": 403,
    "forbidden": 403,
    "not_found": 404,
    "not_found_error": 404,
    "model_not_found": 404,
    "timeout": 408,
    "timeout_error": 408,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "resource_exhausted": 429,
    "too_many_requests": 429,
    "api_error": 500,
    "server_error": 500,
    "internal_server_error": 500,
    "unavailable": 503,
    "service_unavailable": 503,
    "overloaded": 529,
    "overloaded_error": 529,
}

_SECRETS = re.compile(r"(?i)\b(?:sk|rk|pk|gsk|xai|key)-[\w*.\-]{6,}|bearer\s+[\w.\-~+/=*]{6,}|AIza[\w\-]{20,}")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]+")


# Not frozen: the interpreter and contextlib write the traceback into an exception.
@dataclass(eq=False)
class ProviderFault(Exception):
    """A model call that gave no usable completion. `status` None means that no answer came at all."""

    text: str
    status: int | None = None
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to ask again, and after how many seconds; None leaves the delay to the caller's policy."""

    retry: bool
    delay: float | None = None


NEVER = Verdict(retry=False)


def judge(fault: ProviderFault, attempt: int, now: datetime) -> Verdict:
    """Whether the `attempt`-th try (from 1), failed at `now`, should be followed by another."""
    wish = fault.headers.get("x-should-retry", "").lower()
    told = _told_delay(fault.text)
    if fault.code in FINAL_CODES or wish == "false" or (told is None and FINAL_TEXT.search(fault.text)):
        return NEVER
    if wish != "true" and not _is_passing(fault.status):
        return NEVER
    delay = retry_after(fault.headers, now) or told
    if delay is None and fault.status == 429:
        delay = min(RATE_LIMIT_DELAY * 2 ** min(attempt - 1, 10), LONGEST_DELAY)
    return Verdict(retry=True, delay=delay)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds the provider asks to wait (milliseconds, seconds or an HTTP date), at most `LONGEST_DELAY`; None if unsaid."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    text = headers.get("retry-after")
    seconds = _number(text)
    return _bounded(seconds if seconds is not None else _seconds_until(text, now))


def fault_of_body(body: Any, status: int, headers: Mapping[str, str] | None = None) -> ProviderFault | None:
    """The fault that a decoded body reports, in any of the forms in use; None for a body that reports none.

    Under status 200 the body's own code stands for the status: an error is never a success because a proxy says so.
    """
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return None
    error = body.get("error")
    if not error or (isinstance(error, dict) and not any(error.values())):
        # Some gateways send the field always, with nothing in it.
        error = body if status >= 400 or body.get("object") == "error" or _is_bare_error(body) else None
    if not error:
        return None
    fields: dict[str, Any] = error if isinstance(error, dict) else {"message": str(error)}
    names = [str(fields[key])[:CODE_CHARS] for key in ("code", "type", "status") if fields.get(key) not in (None, "")]
    return ProviderFault(
        text=_message(fields),
        status=status if status >= 400 else _status_of(names),
        code=next((name for name in names if not name.isdigit()), names[0] if names else None),
        headers=headers or {},
    )


def readable(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without anything that looks like a key, at most `TEXT_BYTES` long."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[key]")
    # On one line, without control characters: each of these takes six bytes in JSON.
    encoded = clean_text(_UNPRINTABLE.sub(" ", _SECRETS.sub("[key]", text))).encode()
    return encoded.decode() if len(encoded) <= TEXT_BYTES else encoded[:TEXT_BYTES].decode("utf-8", "ignore") + "…"


def _is_passing(status: int | None) -> bool:
    return status is None or status in RETRIED_STATUSES or status >= 500


def _status_of(names: list[str]) -> int | None:
    for name in names:
        if name.isdigit() and 400 <= int(name[:4]) <= 599:
            return int(name)
        if (status := STATUS_OF_CODE.get(name.lower())) is not None:
            return status
    return None


def _is_bare_error(body: dict[str, Any]) -> bool:
    """Whether a body has words and a code where an answer would be."""
    has_code = body.get("code") or body.get("status") or body.get("success") is False
    words = (body.get(key) for key in ("message", "detail", "msg"))
    return bool(has_code and not body.get("choices") and any(isinstance(each, str) and each for each in words))


def _message(fields: dict[str, Any]) -> str:
    text = next(
        (str(fields[key]) for key in ("message", "detail", "msg", "error") if fields.get(key)), "no reason given"
    )
    metadata = fields.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return f"{text}: {raw}" if isinstance(raw, str) else text


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _told_delay(text: str) -> float | None:
    """The delay in the words of an error; None when there is none."""
    found = _TOLD_DELAY.search(text)
    if found is None:
        return None
    minutes, number, unit = found.groups()
    return _bounded(int(minutes or 0) * 60 + float(number) / (1000 if unit.lower() == "ms" else 1))


def _seconds_until(text: str | None, now: datetime) -> float | None:
    try:
        instant = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp() - now.timestamp()


def _bounded(seconds: float | None) -> float | None:
    return None if seconds is None or seconds <= 0 else min(seconds, LONGEST_DELAY)
