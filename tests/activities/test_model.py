"""One model call of a turn, through the real SDK and a real socket to the scripted model."""

import asyncio
import dataclasses
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from openai import AsyncOpenAI
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities import errors
from activities.controllers.policy import FunctionFacts, Policy
from activities.conversation import AssistantMessage, Message, ModelUsage, ToolCall, ToolMessage, UserMessage
from activities.model import ModelActivities
from activities.persona_memory import ConversationContext
from activities.prices import Price, Prices
from activities.turn_input import TurnOptions
from tests.activities.model_turns import KEY, Desk, get_user, host_tool, list_zones, placed, request
from worker.scripted_model import ScriptedModel
from worker.scripted_responses import Response


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as model:
        yield model


@pytest.fixture
async def desk(model: ScriptedModel) -> AsyncIterator[Desk]:
    async with AsyncOpenAI(api_key=KEY, base_url=model.base_url, max_retries=0) as client:
        yield Desk(model, client)


def raw(message: dict[str, Any], finish: str = "tool_calls", **fields: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "finish_reason": finish, "message": message}], **fields}


def raw_call(name: str, arguments: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **fields}


async def failure(desk: Desk, **fields: Any) -> ApplicationError:
    with pytest.raises(ApplicationError) as caught:
        await desk.ask(**fields)
    return caught.value


async def test_words_are_stored_and_returned(desk: Desk) -> None:
    desk.model.say("hi", usage={"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17})
    reply = await desk.ask()
    assert (reply.row, reply.stored, reply.text and reply.text.text) == (1, True, "hi")
    assert reply.usage == ModelUsage(prompt_tokens=12, completion_tokens=5, total_tokens=17)
    assert (reply.model, reply.provider, reply.finish_reason) == ("scripted-1", "scripted", "stop")
    stored = desk.store.placed["t1"][1]
    assert isinstance(stored, AssistantMessage)
    assert stored.content == "hi"


async def test_no_more_is_read_of_earlier_turns_than_the_persona_lets_in(desk: Desk) -> None:
    turn: list[Message] = [UserMessage(content="q"), AssistantMessage(content="a")]
    desk.store.earlier = [turn] * 9
    desk.persona = desk.persona.model_copy(update={"conversation_context_config": ConversationContext(max_messages=4)})
    await desk.ask()
    assert desk.store.enough == 4
    [sent] = desk.model.requests
    assert [message["content"] for message in sent["messages"][1:]] == ["q", "a", "q", "a", "hello"]


async def test_the_request_has_the_persona_memory_earlier_turns_and_this_one(desk: Desk) -> None:
    desk.turn(content="and now?", memory_text="likes tea")
    desk.store.earlier = [[UserMessage(content="first"), AssistantMessage(content="answer")]]
    await desk.ask()
    [sent] = desk.model.requests
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "user"]
    assert sent["messages"][0]["content"].startswith("Be kind.")
    assert "> likes tea" in sent["messages"][0]["content"]
    assert sent["messages"][-1]["content"] == "and now?"
    assert [each["function"]["name"] for each in sent["tools"]] == [
        "list_zones",
        "get_user",
        "write_file",
        "search_memory",
        "remember",
        "forget",
        "resolve_tension",
        "record_outcome",
    ]
    assert sent["model"] == "scripted-1"
    assert "stream" not in sent


async def test_calls_get_ids_of_ours_which_the_next_request_pairs_with_their_results(desk: Desk) -> None:
    calls = [raw_call("list_zones", "{}"), raw_call("list_zones", "{}", id=""), raw_call("list_zones", "{}", id=None)]
    desk.model.script(raw({"content": None, "tool_calls": calls}))
    reply = await desk.ask()
    ids = [call.id for call in reply.calls]
    assert len(set(ids)) == 3
    results = [placed(2 + place, call_id, f"zone {place}") for place, call_id in enumerate(ids)]
    desk.model.say("done")
    await desk.ask(5, *reversed(results))
    sent = desk.model.requests[-1]["messages"][2:]
    assert [call["id"] for call in sent[0]["tool_calls"]] == ids
    assert [(each["tool_call_id"], each["content"]) for each in sent[1:]] == list(
        zip(ids, ["zone 0", "zone 1", "zone 2"], strict=True)
    )


async def test_a_provider_id_that_comes_again_is_another_call(desk: Desk) -> None:
    desk.model.script(*[raw({"tool_calls": [raw_call("get_user", f'{{"id":{v}}}', id="run:0")]}) for v in (1, 2)])
    first = (await desk.ask()).calls[0]
    second = (await desk.ask(3, placed(2, first.id, "row 1", "get_user"))).calls[0]
    assert first.id != second.id
    assert (first.provider_id, second.provider_id) == ("run:0", "run:0")
    assert second.arguments == {"id": 2}


@pytest.mark.parametrize("finish", ["stop", "other"])
async def test_calls_run_though_the_finish_reason_says_stop(desk: Desk, finish: str) -> None:
    calls = [raw_call("list_zones", "{}"), raw_call("list_zones", "{}")]
    desk.model.script(raw({"content": "Let me look.", "tool_calls": calls}, finish))
    reply = await desk.ask()
    assert len(reply.calls) == 2
    stored = desk.store.placed["t1"][1]
    assert isinstance(stored, AssistantMessage)
    assert stored.content == "Let me look."


@pytest.mark.parametrize("message", [{"content": None, "tool_calls": []}, {"content": ""}])
async def test_a_model_that_says_nothing_is_asked_three_times_and_leaves_nothing(
    desk: Desk, message: dict[str, Any]
) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 0, "total_tokens": 10}
    desk.model.script(*[raw(message, usage=usage)] * 3)
    reply = await desk.ask()
    assert reply.error is not None
    assert (reply.error.code, reply.stored) == (errors.EMPTY_MODEL_RESPONSE, False)
    assert len(desk.model.requests) == 3
    assert reply.usage == ModelUsage(prompt_tokens=30, total_tokens=30)
    assert list(desk.store.placed["t1"]) == [0]


async def test_words_after_an_empty_reply_are_the_reply(desk: Desk) -> None:
    desk.model.script(raw({"content": None}), raw({"content": "here"}, "stop"))
    reply = await desk.ask()
    assert (reply.error, reply.text and reply.text.text) == (None, "here")


async def test_an_output_limit_spent_in_silence_is_not_spent_again(desk: Desk) -> None:
    desk.model.script(raw({"content": ""}, "length"))
    reply = await desk.ask()
    assert reply.error is not None
    assert "output limit" in reply.error.message
    assert len(desk.model.requests) == 1


async def test_a_cut_call_is_held_back_and_echoed_so_that_the_next_request_is_accepted(desk: Desk) -> None:
    desk.turn(content="write", options={"maxTokens": 64})
    cut = raw_call("write_file", '{"path":"a.md","body":"line one', id="c1")
    desk.model.script(
        raw({"tool_calls": [cut]}, usage={"prompt_tokens": 9, "completion_tokens": 64, "total_tokens": 73})
    )
    [call] = (await desk.ask()).calls
    assert call.problem is not None
    assert call.problem.code == errors.TOOL_CALL_CUT
    desk.model.say("smaller then")
    await desk.ask(3, placed(2, call.id, "cut", "write_file"))
    assert desk.model.requests[-1]["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize("arguments", ["", "  \n", None, "null", "{}"])
async def test_absent_arguments_are_echoed_as_an_empty_object(desk: Desk, arguments: Any) -> None:
    desk.model.script(raw({"tool_calls": [raw_call("list_zones", arguments), raw_call("get_user", arguments)]}))
    zones, user = (await desk.ask()).calls
    assert zones.problem is None
    assert user.problem is not None
    assert user.problem.code == errors.TOOL_ARGUMENTS_INVALID
    assert "id" in user.problem.message
    desk.model.say("ok")
    await desk.ask(4, placed(2, zones.id, []), placed(3, user.id, "bad", "get_user"))
    echoed = desk.model.requests[-1]["messages"][2]["tool_calls"]
    assert [call["function"]["arguments"] for call in echoed] == ["{}", "{}"]


async def test_facts_of_worker_and_host_tools_come_with_their_calls(desk: Desk) -> None:
    desk.turn(content="x", external_tools=[host_tool()])
    desk.model.call([("list_zones", {}), ("approve_refund", {}), ("no_such_tool", {})])
    own, host, unknown = (await desk.ask()).calls
    assert own.tool is not None
    assert host.tool is not None
    assert (own.tool.kind, host.tool.kind, unknown.tool) == ("worker", "external", None)
    assert unknown.problem is not None
    assert unknown.problem.code == errors.TOOL_NOT_FOUND


async def test_a_retry_after_a_lost_completion_gives_the_same_reply_without_asking(desk: Desk) -> None:
    desk.settings["prices"] = Prices({"scripted": Price(prompt=1, completion=1)})
    calls = [("get_user", {}), ("write_file", {"path": "p", "body": "b" * 9_000}), ("nobody", {})]
    desk.model.call(calls, "Working on it.", refusal=None)
    first = await desk.ask()
    second = await desk.ask()
    assert first == second
    assert len(desk.model.requests) == 1
    assert first.usage is not None
    assert first.usage.cost_usd is not None
    assert first.calls[1].arguments_cut


async def test_a_refusal_is_rebuilt_too(desk: Desk) -> None:
    desk.model.script(raw({"content": None, "refusal": "I cannot."}, "stop"))
    first = await desk.ask()
    assert first.error is not None
    assert first.error.code == errors.MODEL_REFUSAL
    assert await desk.ask() == first


async def test_the_reply_that_was_stored_first_counts(desk: Desk) -> None:
    """An attempt that was given up may finish while the next one waits for the model."""

    def slower(_: dict[str, Any]) -> str:
        desk.store.placed["t1"][1] = AssistantMessage(content="from the other attempt")
        return "from this one"

    desk.model.script(slower)
    reply = await desk.ask()
    assert reply.text is not None
    assert reply.text.text == "from the other attempt"


@pytest.mark.parametrize(
    ("status", "body", "retryable"),
    [
        (400, {"error": {"message": "bad", "code": "x"}}, False),
        (401, {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}, False),
        (403, "<html>no</html>", False),
        (404, {"detail": "no such model"}, False),
        (413, None, False),
        (422, [{"error": {"message": "list"}}], False),
        (429, {"error": {"message": "quota", "code": "insufficient_quota"}}, False),
        (408, None, True),
        (409, None, True),
        (429, {"error": {"message": "slow"}}, True),
        (500, "oops", True),
        (503, b"\xff\xfe", True),
        (529, {}, True),
        (
            200,
            {"error": {"message": "Provider returned error", "code": 429, "metadata": {"raw": "Too Many Requests"}}},
            True,
        ),
        (200, {"error": {"message": "bad model", "code": 400}}, False),
        (200, {"choices": []}, True),
        (200, {"choices": None}, True),
        (200, "<html>gateway</html>", True),
        (200, "", True),
        (200, "[" * 100_000, True),
        (200, "null", True),
        (200, [], True),
    ],
)
async def test_every_bad_answer_is_one_error_that_says_whether_to_retry(
    desk: Desk, status: int, body: Any, retryable: bool
) -> None:
    desk.model.respond(status, body)
    error = await failure(desk)
    assert (error.type, error.non_retryable) == (errors.LLM_PROVIDER_ERROR, not retryable)
    assert error.details[0].keys() == {"status", "code", "message", "provider"}
    assert KEY not in repr(error.details) + error.message
    assert list(desk.store.placed["t1"]) == [0]
    assert len(desk.model.requests) == 1
    assert error.__cause__ is None


async def test_the_providers_words_and_code_reach_the_error(desk: Desk) -> None:
    desk.model.respond(
        200, {"error": {"message": "Provider returned error", "code": 429, "metadata": {"raw": "Too Many"}}}
    )
    error = await failure(desk)
    assert error.details[0]["status"] == 429
    assert "Provider returned error: Too Many" in error.message


async def test_an_error_is_short_whatever_the_provider_sends(desk: Desk) -> None:
    desk.model.respond(500, {"error": {"message": "é" * 100_000}})
    error = await failure(desk)
    assert len(repr((error.message, error.details)).encode()) < 3_000


async def test_the_delay_the_provider_asks_for_is_passed_on(desk: Desk) -> None:
    desk.model.respond(503, None, {"Retry-After": "7"})
    assert (await failure(desk)).next_retry_delay == timedelta(seconds=7)
    desk.model.respond(429)
    assert (await failure(desk)).next_retry_delay == timedelta(seconds=2)
    desk.model.respond(500)
    assert (await failure(desk)).next_retry_delay is None


async def test_a_broken_connection_may_be_retried(desk: Desk) -> None:
    desk.model.cut()
    error = await failure(desk)
    assert not error.non_retryable
    assert error.details[0]["code"] == "connection"
    await desk.model.stop()
    assert not (await failure(desk)).non_retryable


async def test_silence_ends_at_the_time_limit(desk: Desk) -> None:
    desk.settings["timeout"] = 0.2
    desk.model.hang()
    error = await failure(desk)
    assert not error.non_retryable
    assert error.details[0]["code"] == "timeout"
    await asyncio.wait_for(desk.model.wait_for_hang_ups(1), 3)


async def test_an_answer_without_end_is_given_up(desk: Desk) -> None:
    desk.model.script(Response(b" " * (9 * 1024 * 1024)))
    assert (await failure(desk)).non_retryable


async def test_a_cancelled_call_hangs_up_within_three_seconds_and_stays_cancelled(desk: Desk) -> None:
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, heartbeat_timeout=timedelta(seconds=0.3))
    beaten = asyncio.Event()
    environment.on_heartbeat = lambda *_: beaten.set()
    desk.model.hang()
    running = asyncio.ensure_future(environment.run(desk.activities.call_model, request()))
    await desk.model.wait_for_requests(1)
    await asyncio.wait_for(beaten.wait(), 3)
    environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.wait_for(desk.model.wait_for_hang_ups(1), 3)
    assert list(desk.store.placed["t1"]) == [0]


async def test_without_tools_allowed_none_are_offered_and_calls_are_left_out(desk: Desk) -> None:
    desk.model.call([("list_zones", {})], "In words, then.")
    reply = await desk.ask(tools_allowed=False)
    assert "tools" not in desk.model.requests[-1]
    assert (reply.calls, reply.text and reply.text.text) == ((), "In words, then.")
    assert reply.hint


async def test_without_tools_allowed_definitions_stay_where_calls_stand(desk: Desk) -> None:
    desk.model.call([("list_zones", {})])
    [call] = (await desk.ask()).calls
    await desk.ask(3, placed(2, call.id, []), tools_allowed=False)
    assert desk.model.requests[-1]["tool_choice"] == "none"
    assert desk.model.requests[-1]["tools"]


@pytest.mark.parametrize(("refused", "form"), [(None, "null"), (None, "omit"), ("", "empty")])
async def test_a_server_that_refuses_one_form_of_no_text_is_asked_once_in_another(
    desk: Desk, refused: Any, form: str
) -> None:
    call = ToolCall(id="abc123def", name="list_zones")
    result = placed(2, call.id, "B 12").result
    desk.settings["tool_only_content"] = form
    desk.store.placed["t1"] |= {1: AssistantMessage(tool_calls=(call,)), 2: ToolMessage(result=result)}

    def picky(sent: dict[str, Any]) -> Any:
        content = sent["messages"][2].get("content")
        return Response(b'{"error": "invalid message content"}', 400) if content == refused else "B 12 it is"

    desk.model.handler = picky
    activities = desk.activities
    first = await activities.call_model(request(3))
    assert first.text is not None
    assert len(desk.model.requests) == 2
    del desk.store.placed["t1"][3]
    await activities.call_model(request(3))
    assert len(desk.model.requests) == 3, "the form that worked is kept"


async def test_a_refusal_in_both_forms_ends_with_the_servers_text(desk: Desk) -> None:
    call = ToolCall(id="abc123def", name="list_zones")
    desk.store.placed["t1"] |= {
        1: AssistantMessage(tool_calls=(call,)),
        2: ToolMessage(result=placed(2, call.id, "B 12").result),
    }
    desk.model.handler = lambda _: Response(b'{"error": "content is always wrong"}', 400)
    with pytest.raises(ApplicationError, match="content is always wrong") as caught:
        await desk.ask(3)
    assert caught.value.non_retryable
    assert len(desk.model.requests) == 2


async def test_a_call_without_a_result_never_reaches_the_model(desk: Desk) -> None:
    calls = (ToolCall(id="abc123def", name="list_zones"), ToolCall(id="abc123deg", name="list_zones"))
    result = placed(2, "abc123def", "x").result
    desk.store.placed["t1"] |= {1: AssistantMessage(tool_calls=calls), 2: ToolMessage(result=result)}
    error = await failure(desk, rows=3)
    assert (error.type, error.non_retryable) == (errors.HISTORY_UNPAIRED, True)
    assert "abc123deg" in error.message
    assert desk.model.requests == []


async def test_rows_that_are_missing_or_out_of_place_never_reach_the_model(desk: Desk) -> None:
    assert (await failure(desk, rows=2)).type == errors.HISTORY_UNPAIRED
    desk.store.placed["t1"][1] = UserMessage(content="who put me here")
    assert (await failure(desk)).type == errors.HISTORY_UNPAIRED


async def test_an_unknown_turn_persona_or_secret_is_final(desk: Desk) -> None:
    desk.turn(content="x", options={"userApiKeys": ["nobody"]})
    assert (await failure(desk)).type == errors.SYS_VALIDATION_ERROR
    desk.store.turns["t1"].persona_id = "gone"
    assert (await failure(desk)).type == errors.GMI_PERSONA_NOT_FOUND
    desk.store.turns.clear()
    error = await failure(desk)
    assert (error.type, error.non_retryable) == (errors.SYS_RESOURCE_NOT_FOUND, True)


async def test_a_named_secret_is_the_key_and_is_never_shown(desk: Desk) -> None:
    desk.settings["secrets"] = {"ACME": "acme-private-value"}
    desk.turn(content="x", options={"userApiKeys": ["other", "ACME"]})
    desk.model.respond(401, {"error": {"message": "no access for acme-private-value"}})
    error = await failure(desk)
    assert desk.model.headers[-1]["authorization"] == "Bearer acme-private-value"
    assert "acme-private-value" not in f"{error!r} {error.details} {desk.activities._settings!r}"


async def test_options_of_an_answer_override_those_of_the_turn(desk: Desk) -> None:
    desk.turn(content="x", options={"model": "a", "temperature": 0.5, "maxTokens": 7})
    await desk.ask(options=TurnOptions(model="b"))
    sent = desk.model.requests[-1]
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("b", 0.5, 7)


async def test_a_model_that_wants_the_newer_name_of_the_limit_gets_it(desk: Desk) -> None:
    desk.turn(content="x", options={"maxTokens": 7})
    refusal = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    desk.model.respond(400, {"error": {"message": refusal, "type": "invalid_request_error", "param": "max_tokens"}})
    await desk.ask()
    assert desk.model.requests[-1]["max_completion_tokens"] == 7
    assert "max_tokens" not in desk.model.requests[-1]


async def test_odd_text_survives_and_half_of_a_pair_is_replaced_everywhere(desk: Desk) -> None:
    odd = "👩‍👩‍👧 日本語 שלום é NUL:\x00"
    desk.turn(content=f"{odd} \ud83d")
    desk.model.respond(200, '{"choices":[{"message":{"content":"x \\ud83d y","tool_calls":[{"function":{"name":"write_file",'
                            '"arguments":"{\\"path\\":\\"\\\\ud83d\\"}"}}]}}]}')  # fmt: skip
    reply = await desk.ask()
    assert reply.text is not None
    assert reply.text.text == "x \ufffd y"
    assert reply.calls[0].arguments == {"path": "\ufffd"}
    assert desk.model.requests[-1]["messages"][-1]["content"] == f"{odd} \ufffd"
    reply.model_dump_json()


async def test_text_that_looks_like_a_call_is_the_answer_with_a_hint(desk: Desk) -> None:
    desk.model.say('<tool_call>\n{"name":"write_file","arguments":{"path":"x"}}\n</tool_call>')
    reply = await desk.ask()
    assert (reply.calls, reply.error) == ((), None)
    assert reply.hint


async def test_long_text_crosses_as_its_beginning_and_stays_whole_in_the_row(desk: Desk) -> None:
    desk.model.say("x" * 50_000)
    reply = await desk.ask()
    assert reply.text is not None
    assert (len(reply.text.text), reply.text.length, reply.text.cut) == (8_000, 50_000, True)
    stored = desk.store.placed["t1"][1]
    assert isinstance(stored, AssistantMessage)
    assert len(stored.content or "") == 50_000


async def test_unknown_usage_stays_unknown(desk: Desk) -> None:
    desk.model.say("x", usage=None)
    assert (await desk.ask()).usage is None


async def test_ids_on_the_wire_fit_the_strictest_provider(desk: Desk) -> None:
    desk.model.call([("list_zones", {}), ("list_zones", {})])
    reply = await desk.ask()
    assert all(re.fullmatch("[A-Za-z0-9]{9}", call.id) for call in reply.calls)


def test_the_activity_is_named_after_its_method() -> None:
    assert ModelActivities.call_model.__name__ == "call_model"


async def test_a_row_keeps_its_phase_and_whose_function_each_call_was(desk: Desk) -> None:
    """For those who read it when the function may be gone."""
    facts = FunctionFacts(controller="zones", function="list", protocol="class")
    own = dataclasses.replace(list_zones, policy=Policy(facts, (), "run"))
    desk.tools = [own, get_user]
    desk.model.call([("list_zones", {}), ("get_user", {"id": 1}), ("nobody", {})])
    reply = await desk.ask(phase="execute", functions=("list_zones", "get_user"))
    stored = desk.store.placed["t1"][1]
    assert isinstance(stored, AssistantMessage)
    assert stored.meta is not None
    assert stored.meta["phase"] == "execute"
    assert stored.meta["functions"] == {
        reply.calls[0].id: {"controller": "zones", "function": "list", "protocol": "class"}
    }
    desk.model.say("Done.")
    desk.turn("t2")
    await desk.ask(turn_id="t2")
    plain = desk.store.placed["t2"][1]
    assert isinstance(plain, AssistantMessage)
    assert not {"phase", "functions"} & (plain.meta or {}).keys()
