"""One HTTP exchange with the provider: a decoded body, or a `ProviderFault`. Only a cancellation gets out besides.

The client's `post` is used rather than its typed method: that one walks through every message of every request (4 ms for
twenty), and parses answers in a way that lets HTML, error bodies under status 200 and answers without choices through, to
fail later with the cause hidden.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx2
from openai import APIConnectionError, APIStatusError, APITimeoutError, AsyncOpenAI, OpenAIError

from activities.provider_errors import ProviderFault, fault_of_body

MAX_BODY_BYTES = 8 * 1024 * 1024
EXCERPT_CHARS = 200
# Makes the SDK hand the response over before its body is read, so that its size can be bounded.
UNREAD = {"X-Stainless-Raw-Response": "stream"}


async def post_chat(client: AsyncOpenAI, request: Mapping[str, Any], seconds: float) -> Any:
    """The decoded body of a successful answer. It has `seconds` for the whole exchange.

    Raises:
        ProviderFault: no answer in time, a broken connection, an error status, or a body that is not JSON or reports an error.
    """
    with provider_faults(seconds):
        async with asyncio.timeout(seconds), answer_of(client, request, seconds) as response:
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                check_length(len(body), MAX_BODY_BYTES)
    return decoded(bytes(body), lowered(response.headers))


@contextmanager
def provider_faults(seconds: float) -> Iterator[None]:
    """Translate whatever goes wrong in an exchange that has `seconds`.

    Raises:
        ProviderFault.
    """
    try:
        yield
    except (TimeoutError, APITimeoutError):
        raise ProviderFault(f"the provider gave no answer within {seconds:g} seconds", code="timeout") from None
    except APIStatusError as error:
        raise _status_fault(error) from None
    except (APIConnectionError, httpx2.HTTPError, httpx2.StreamError) as error:
        cause = error.__cause__ or error
        text = f"the connection to the provider failed ({type(cause).__name__}: {cause})"
        raise ProviderFault(text, code="connection") from None
    except OpenAIError as error:
        # The SDK refused to send it, for want of a key for example; trying again would change nothing.
        raise ProviderFault(f"the request could not be made: {error}", status=400, code="client") from None


@asynccontextmanager
async def answer_of(client: AsyncOpenAI, request: Mapping[str, Any], seconds: float) -> AsyncIterator[httpx2.Response]:
    """The answer of status 200 to a request, its body unread. Errors are the SDK's own: see `provider_faults`."""
    response = await client.post(
        "/chat/completions",
        body=request,
        cast_to=httpx2.Response,
        options={"headers": UNREAD, "timeout": seconds, "max_retries": 0},
    )
    try:
        yield response
    finally:
        await response.aclose()


def check_length(length: int, most: int) -> None:
    """Give up an answer that is longer than anything a model says.

    Raises:
        ProviderFault.
    """
    if length > most:
        raise ProviderFault(f"the provider's answer is longer than {most} bytes", status=413, code="answer_too_large")


def decoded(raw: bytes, headers: dict[str, str]) -> Any:
    """The JSON of a body.

    Raises:
        ProviderFault: it is not JSON, or reports an error.
    """
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        shown = raw[: 4 * EXCERPT_CHARS].decode("utf-8", "replace")[:EXCERPT_CHARS] or "an empty body"
        raise ProviderFault(f"the provider's answer is not JSON: {shown}", code="not_json", headers=headers) from None
    if isinstance(body, dict) and (fault := fault_of_body(body, 200, headers)):
        raise fault
    return body


def lowered(headers: Any) -> dict[str, str]:
    """Headers by their names in lower case."""
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _status_fault(error: APIStatusError) -> ProviderFault:
    headers = lowered(error.response.headers)
    status = error.status_code
    try:
        body = json.loads(error.response.content)
    except (ValueError, RecursionError):
        body = None
    fault = fault_of_body(body, status, headers)
    if fault:
        return fault
    shown = error.response.text.strip()[:EXCERPT_CHARS]
    return ProviderFault(
        f"the provider answered {status}: {shown or 'no reason given'}", status=status, headers=headers
    )
