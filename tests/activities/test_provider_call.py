"""One exchange: a decoded body, or a fault. No other exception gets out."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI

from activities.provider_call import MAX_BODY_BYTES, post_chat
from activities.provider_errors import ProviderFault
from worker.scripted_model import ScriptedModel

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as model:
        yield model


async def fault(model: ScriptedModel, seconds: float = 5.0) -> ProviderFault:
    async with AsyncOpenAI(api_key="test", base_url=model.base_url, max_retries=2) as client:
        with pytest.raises(ProviderFault) as caught:
            await post_chat(client, REQUEST, seconds)
    return caught.value


async def test_a_body_is_decoded_as_it_is(model: ScriptedModel) -> None:
    model.respond(200, {"choices": [{"odd": "\ud83d"}]})
    async with AsyncOpenAI(api_key="test", base_url=model.base_url, max_retries=0) as client:
        assert await post_chat(client, REQUEST, 5.0) == {"choices": [{"odd": "\ud83d"}]}


@pytest.mark.parametrize(
    ("body", "code"),
    [("<html>gateway</html>", "not_json"), ("", "not_json"), (b"\xff", "not_json"), ("[" * 50_000, "not_json")],
)
async def test_what_is_not_json_says_so(model: ScriptedModel, body: Any, code: str) -> None:
    model.respond(200, body)
    found = await fault(model)
    assert (found.status, found.code) == (None, code)


async def test_an_error_under_status_200_keeps_the_headers_it_came_with(model: ScriptedModel) -> None:
    model.respond(200, {"error": {"code": 429, "message": "slow"}}, {"Retry-After": "3"})
    found = await fault(model)
    assert (found.status, found.headers["retry-after"]) == (429, "3")


async def test_the_client_never_retries_by_itself(model: ScriptedModel) -> None:
    model.respond(503, "later")
    model.say("a second request would get this")
    assert "later" in str(await fault(model))
    assert len(model.requests) == 1


async def test_a_connection_cut_in_mid_body_is_a_fault(model: ScriptedModel) -> None:
    model.cut()
    assert (await fault(model)).code == "connection"


async def test_a_refused_connection_is_a_fault(model: ScriptedModel) -> None:
    await model.stop()
    assert (await fault(model)).code == "connection"


async def test_an_answer_that_comes_too_late_is_a_fault(model: ScriptedModel) -> None:
    model.hang()
    assert (await fault(model, 0.1)).code == "timeout"


async def test_an_answer_that_is_too_long_is_given_up(model: ScriptedModel) -> None:
    model.respond(200, b" " * (MAX_BODY_BYTES + 1))
    assert (await fault(model)).code == "answer_too_large"
