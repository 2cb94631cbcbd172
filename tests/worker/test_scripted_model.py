"""The scripted model as a client of the real SDK sees it."""

import asyncio
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import APIConnectionError, APITimeoutError, AsyncOpenAI, BadRequestError, NotFoundError, RateLimitError

from worker.demo_script import Saying
from worker.scripted_model import ScriptedModel

USER: Any = [{"role": "user", "content": "hello"}]


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as model:
        yield model


@pytest.fixture
async def client(model: ScriptedModel) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(api_key="test-key", base_url=model.base_url, max_retries=0) as client:
        yield client


async def ask(client: AsyncOpenAI, messages: Any = USER, **fields: Any) -> Any:
    return await client.chat.completions.create(model="scripted-1", messages=messages, **fields)


async def test_by_default_it_plays_the_demo(client: AsyncOpenAI) -> None:
    answered = await ask(client)
    assert answered.choices[0].message.content == "You said: hello"
    assert (answered.model, answered.choices[0].finish_reason) == ("scripted-1", "stop")


async def test_usage_is_plausible_and_the_same_for_the_same_request(client: AsyncOpenAI) -> None:
    first, second = await ask(client), await ask(client)
    assert first.usage == second.usage
    assert first.usage.total_tokens == first.usage.prompt_tokens + first.usage.completion_tokens > 5


async def test_what_is_queued_is_said_in_order_and_then_the_handler_answers(
    model: ScriptedModel, client: AsyncOpenAI
) -> None:
    model.say("one", finish_reason="length", usage=None)
    model.call([("lookup", {"id": 1}), ("broken", '{"id":')], "looking")
    model.script(Saying("three"), "four", {"choices": []}, lambda request: request["messages"][0]["content"].upper())
    one, two = await ask(client), await ask(client)
    assert (one.choices[0].finish_reason, one.usage) == ("length", None)
    assert two.choices[0].finish_reason == "tool_calls"
    assert [call.function.arguments for call in two.choices[0].message.tool_calls] == ['{"id": 1}', '{"id":']
    assert two.choices[0].message.content == "looking"
    assert [(await ask(client)).choices[0].message.content for _ in range(2)] == ["three", "four"]
    assert (await ask(client)).choices == []
    assert (await ask(client)).choices[0].message.content == "HELLO"
    model.handler = lambda _: "from now on"
    assert (await ask(client)).choices[0].message.content == "from now on"


async def test_it_keeps_what_it_was_sent(model: ScriptedModel, client: AsyncOpenAI) -> None:
    await ask(client, temperature=0.5)
    assert model.requests == [{"model": "scripted-1", "messages": USER, "temperature": 0.5}]
    assert model.headers[0]["authorization"] == "Bearer test-key"


async def test_its_log_is_bounded(client: AsyncOpenAI) -> None:
    async with ScriptedModel(log_limit=2) as small:
        other = client.with_options(base_url=small.base_url)
        for _ in range(3):
            await ask(other)
        assert len(small.requests) == 2


async def test_any_answer_can_be_sent(model: ScriptedModel, client: AsyncOpenAI) -> None:
    model.respond(429, {"error": {"message": "slow down", "code": "rate"}}, {"retry-after": "3"})
    with pytest.raises(RateLimitError, match="slow down") as caught:
        await ask(client)
    assert caught.value.response.headers["retry-after"] == "3"


async def test_a_cut_answer_breaks_the_connection_in_mid_body(model: ScriptedModel, client: AsyncOpenAI) -> None:
    model.cut()
    with pytest.raises(APIConnectionError):
        await ask(client)
    assert (await ask(client)).choices, "the server goes on"


async def test_a_hanging_answer_ends_when_the_client_hangs_up(model: ScriptedModel, client: AsyncOpenAI) -> None:
    model.hang()
    with pytest.raises(APITimeoutError):
        await ask(client, timeout=0.05)
    await asyncio.wait_for(model.wait_for_hang_ups(1), 3)


async def test_stopping_does_not_wait_for_answers_that_hang(model: ScriptedModel, client: AsyncOpenAI) -> None:
    model.hang()
    hanging = asyncio.ensure_future(ask(client))
    await asyncio.wait_for(model.wait_for_requests(1), 3)
    await asyncio.wait_for(model.stop(), 1)
    with pytest.raises(Exception, match=r"Connection|500"):
        await hanging


async def test_a_request_that_real_providers_refuse_uses_up_no_answer(
    model: ScriptedModel, client: AsyncOpenAI
) -> None:
    model.say("for a sound request")
    with pytest.raises(BadRequestError, match="role 'tool'"):
        await ask(client, [*USER, {"role": "tool", "tool_call_id": "abc123def", "content": "x"}])
    assert (await ask(client)).choices[0].message.content == "for a sound request"


async def test_what_it_does_not_serve_is_refused(client: AsyncOpenAI) -> None:
    assert [each.id async for each in client.models.list()] == ["scripted"]
    with pytest.raises(NotFoundError):
        await client.embeddings.create(model="m", input="x")


async def test_it_streams_the_same_answer_in_pieces(model: ScriptedModel, client: AsyncOpenAI) -> None:
    calls: Any = [("lookup", {"id": 1}), ("broken", '{"id":')]
    model.call(calls, "Let me look.")
    model.call(calls, "Let me look.")
    whole = await ask(client)
    chunks = [each async for each in await ask(client, stream=True, stream_options={"include_usage": True})]
    deltas = [each.choices[0].delta for each in chunks if each.choices]
    assert "".join(each.content or "" for each in deltas) == whole.choices[0].message.content
    parts = [part for each in deltas for part in each.tool_calls or ()]
    for place, call in enumerate(whole.choices[0].message.tool_calls):
        mine = [part for part in parts if part.index == place]
        assert (mine[0].id, mine[0].function.name) == (call.id, call.function.name)
        assert "".join(part.function.arguments or "" for part in mine) == call.function.arguments
    assert (chunks[-1].choices, chunks[-1].usage) == ([], whole.usage)
    assert chunks[-2].choices[0].finish_reason == "tool_calls"


async def test_usage_is_streamed_only_to_who_asks_for_it(client: AsyncOpenAI) -> None:
    chunks = [each async for each in await ask(client, stream=True)]
    assert all(each.choices and each.usage is None for each in chunks)


async def test_tokens_of_a_stream_have_their_pace(client: AsyncOpenAI) -> None:
    async with ScriptedModel(lambda _: "one two three", pace=0.05) as slow:
        other = client.with_options(base_url=slow.base_url)
        began = asyncio.get_running_loop().time()
        assert [each async for each in await ask(other, stream=True)]
        assert asyncio.get_running_loop().time() - began >= 0.15


async def test_any_pieces_can_be_streamed(model: ScriptedModel, client: AsyncOpenAI) -> None:
    go_on = asyncio.Event()
    hi = {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": None}]}
    model.stream(": comment\n\n", hi, 0.0, go_on, hi, "data: [DONE]\n\n")
    stream = await ask(client, stream=True)
    assert (await anext(stream)).choices[0].delta.content == "hi"
    go_on.set()
    assert len([each async for each in stream]) == 1


async def test_a_stream_can_break_off_or_fall_silent(model: ScriptedModel, client: AsyncOpenAI) -> None:
    model.cut()
    stream = await ask(client, stream=True)
    with pytest.raises(APIConnectionError):
        [each async for each in stream]
    model.stream(": comment\n\n", hangs=True)
    stream = await ask(client, stream=True)
    await stream.close()
    await asyncio.wait_for(model.wait_for_hang_ups(1), 3)


async def test_errors_are_not_streamed(model: ScriptedModel, client: AsyncOpenAI) -> None:
    model.respond(429, {"error": {"message": "slow down"}})
    with pytest.raises(RateLimitError, match="slow down"):
        await ask(client, stream=True)


async def test_many_requests_at_once_are_answered(model: ScriptedModel, client: AsyncOpenAI) -> None:
    answered = await asyncio.gather(*(ask(client) for _ in range(50)))
    assert len(answered) == len(model.requests) == 50


async def test_the_signals_of_the_process_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    async with ScriptedModel():
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
