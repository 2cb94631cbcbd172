"""One streamed exchange over a real socket: text as it comes, then a body, or a fault."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI

from activities import streaming_exchange
from activities.completions import read_completion
from activities.provider_errors import ProviderFault
from activities.streaming_exchange import stream_chat
from worker.scripted_model import ScriptedModel
from worker.scripted_streams import DONE, Piece

REQUEST = {
    "model": "m",
    "messages": [{"role": "user", "content": "x"}],
    "stream": True,
    "stream_options": {"include_usage": True},
}


def delta(content: str, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}]}


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as model:
        yield model


async def ask(model: ScriptedModel, seconds: float = 5.0) -> tuple[Any, list[str]]:
    shown: list[str] = []
    async with AsyncOpenAI(api_key="test", base_url=model.base_url, max_retries=0) as client:
        return await stream_chat(client, REQUEST, seconds, shown.append), shown


async def fault(model: ScriptedModel, seconds: float = 5.0) -> ProviderFault:
    with pytest.raises(ProviderFault) as caught:
        await ask(model, seconds)
    return caught.value


async def test_it_gives_text_as_it_comes_and_then_the_whole(model: ScriptedModel) -> None:
    model.call([("w", {"city": "Rome"}), ("w", {"city": "Bern"})], "Let me look, twice.")
    body, shown = await ask(model)
    completion = read_completion(body)
    assert shown == ["Let", " me", " look,", " twice."]
    assert completion.text == "Let me look, twice."
    assert [call.arguments for call in completion.calls] == ['{"city": "Rome"}', '{"city": "Bern"}']
    assert completion.usage is not None


async def test_its_text_is_there_before_its_end(model: ScriptedModel) -> None:
    more, arrived = asyncio.Event(), asyncio.Event()
    model.stream(delta("first"), more, delta(" second", "stop"), DONE)
    async with AsyncOpenAI(api_key="test", base_url=model.base_url, max_retries=0) as client:
        asking = asyncio.ensure_future(stream_chat(client, REQUEST, 5.0, lambda _: arrived.set()))
        await asyncio.wait_for(arrived.wait(), 3)
        assert not asking.done()
        more.set()
        assert read_completion(await asking).text == "first second"


@pytest.mark.parametrize(
    "script", [(delta("hi", "stop"),), (delta("hi"), DONE), (": OPENROUTER\n\n", delta("hi", "stop"), DONE)]
)
async def test_either_sign_of_the_end_is_enough(model: ScriptedModel, script: tuple[Piece, ...]) -> None:
    model.stream(*script)
    assert read_completion((await ask(model))[0]).text == "hi"


async def test_an_answer_that_is_said_to_be_done_is_not_waited_for(model: ScriptedModel) -> None:
    model.stream(delta("hi", "stop"), DONE, hangs=True)
    assert read_completion((await ask(model))[0]).text == "hi"


async def test_after_its_finish_an_answer_gets_little_time(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming_exchange, "AFTER_FINISH_SECONDS", 0.1)
    model.stream(delta("hi", "stop"), hangs=True)
    assert read_completion((await ask(model))[0]).text == "hi"


async def test_a_broken_end_after_the_finish_is_an_end(model: ScriptedModel) -> None:
    model.stream(delta("hi", "stop"), cut=True)
    assert read_completion((await ask(model))[0]).text == "hi"


@pytest.mark.parametrize(("cut", "code"), [(False, "incomplete"), (True, "connection")])
async def test_an_answer_that_ends_in_the_middle_is_a_fault_that_may_pass(
    model: ScriptedModel, cut: bool, code: str
) -> None:
    model.stream(delta("so"), cut=cut)
    found = await fault(model)
    assert (found.status, found.code) == (None, code)


async def test_silence_in_the_middle_ends_at_the_time_limit(model: ScriptedModel) -> None:
    model.stream(delta("so"), ": still here\n\n", hangs=True)
    assert (await fault(model, 0.3)).code == "timeout"
    await asyncio.wait_for(model.wait_for_hang_ups(1), 3)


async def test_an_error_in_the_middle_has_the_status_it_names(model: ScriptedModel) -> None:
    model.stream(delta("so"), 'event: error\ndata: {"error": {"message": "slow down", "code": 429}}\n\n')
    found = await fault(model)
    assert (found.status, str(found)) == (429, "slow down")


async def test_what_is_not_json_in_the_middle_says_so(model: ScriptedModel) -> None:
    model.stream(delta("so"), "data: Internal error\n\n")
    assert (await fault(model)).code == "not_json"


async def test_a_whole_completion_instead_of_a_stream_is_taken(model: ScriptedModel) -> None:
    model.stream('{"choices": [{"message": {"content": "whole"}, ', '"finish_reason": "stop"}]}')
    body, shown = await ask(model)
    assert (read_completion(body).text, shown) == ("whole", [])


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [(200, "<html>gateway</html>", "not_json"), (200, "", "not_json"), (200, {"error": {"code": 503, "message": "x"}}, "503"),
     (429, {"error": {"message": "slow", "code": "rate"}}, "rate"), (500, "oops", None)],
)  # fmt: skip
async def test_other_answers_are_the_faults_they_always_are(
    model: ScriptedModel, status: int, body: Any, code: str | None
) -> None:
    model.respond(status, body)
    assert (await fault(model)).code == code


@pytest.mark.parametrize("bound", ["MAX_STREAM_BYTES", "MAX_BODY_BYTES"])
async def test_an_answer_without_end_is_given_up(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(streaming_exchange, bound, 50_000)
    model.stream(*[delta("x" * 1_000)] * 100)
    assert (await fault(model)).code == "answer_too_large"
