"""One conversation of an agent: phases, histories, usage, order."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.support import Harness
from tests.worker.nestia.agents import (
    DIRECT,
    PHASES,
    RUN,
    Calculator,
    Getter,
    agent_of,
    calculator,
    choose,
    kinds,
    offered,
    sources,
)
from worker.app import ClassController, McpController


async def test_it_goes_through_every_phase_and_keeps_what_was_chosen_run_and_said(harness: Harness) -> None:
    made = Calculator()
    async with agent_of(harness, calculator(made), config=PHASES) as agent:
        harness.model.say("Hello.")
        assert kinds(await agent.conversate("Hi")) == ["text", "text"]
        harness.model.call([("getApiFunctions", {})])
        harness.model.call(choose("add"))
        harness.model.call([("add", {"a": 1, "b": 2})])
        harness.model.say("It is 3.")
        prompts = await agent.conversate("What is 1 + 2?")
        harness.model.say("Nothing to do.")
        again = await agent.conversate("Thanks")

        assert sources(harness) == ["initialize", "initialize", "select", "execute", "describe", "select"]
        assert made.log == [("add", 1, 2)]
        operation = {"protocol": "class", "controller": "calc", "function": "add", "name": "add"}
        call_id = prompts[2]["id"]
        execution = {"type": "execute", **operation, "id": call_id, "arguments": {"a": 1, "b": 2}, "value": 3}
        assert prompts == [
            {"type": "text", "role": "user", "text": "What is 1 + 2?"},
            {"type": "select", "id": prompts[1]["id"], "operations": [{**operation, "reason": "add is wanted"}]},
            execution,
            {"type": "cancel", "id": call_id, "operations": [{**operation, "reason": "complete"}]},
            {"type": "describe", "executions": [execution], "text": "It is 3."},
        ]
        assert agent.get_prompt_histories() == [
            {"type": "text", "role": "user", "text": "Hi"},
            {"type": "text", "role": "assistant", "text": "Hello."},
            *prompts,
            *again,
        ]
        assert "calc" not in offered(harness.model.requests[0])


async def test_a_question_is_pending_over_two_turns_and_what_is_no_longer_wanted_is_cancelled(harness: Harness) -> None:
    made = Calculator()
    async with agent_of(harness, calculator(made)) as agent:
        harness.model.call(choose("add", "divide"))
        harness.model.say("Which numbers?")
        first = await agent.conversate("Add or divide two numbers")
        harness.model.call(choose("divide", tool="cancelFunctions"))
        harness.model.say("I add them.")
        harness.model.call([("add", {"a": 1, "b": 2})])
        harness.model.say("It is 3.")
        second = await agent.conversate("Add 1 and 2")

        assert kinds(first) == ["text", "select", "text"]
        assert kinds(second) == ["text", "cancel", "text", "execute", "cancel", "describe"]
        assert [each["name"] for each in second[1]["operations"]] == ["divide"]
        # Only what waits is listed to be cancelled, and only that is offered to be called.
        cancel = harness.model.requests[2]
        assert '"read"' not in cancel["messages"][2]["content"]
        assert offered(harness.model.requests[-2]) == ["add"]
        assert made.log == [("add", 1, 2)]


async def test_a_function_selected_twice_runs_twice_and_is_told_once_for_each_run(harness: Harness) -> None:
    made = Calculator()
    told: list[tuple[str, str]] = []
    async with agent_of(harness, calculator(made)) as agent:
        agent.on("cancel", lambda event: told.append((event.operation.name, event.reason)))
        harness.model.call(choose("add", "add"))
        harness.model.call([("add", {"a": 1, "b": 1})])
        harness.model.say("2.")
        harness.model.call([("add", {"a": 2, "b": 2})])
        harness.model.say("4.")
        prompts = await agent.conversate("Add twice")

        assert made.log == [("add", 1, 1), ("add", 2, 2)]
        assert kinds(prompts) == ["text", "select", "execute", "cancel", "describe", "execute", "cancel", "describe"]
        assert told == [("add", "complete"), ("add", "complete")]
        assert [each["executions"][0]["value"] for each in prompts if each["type"] == "describe"] == [2, 4]


async def test_calls_of_one_reply_run_together_and_an_unknown_one_is_answered_and_told_nowhere(
    harness: Harness,
) -> None:
    made = Calculator()
    async with agent_of(harness, calculator(made)) as agent:
        harness.model.call(choose("add", "divide"))
        harness.model.call(
            [("add", {"a": 1, "b": 1}), ("nothing", {}), ("divide", {"a": 1, "b": 0})], "I call three at once."
        )
        harness.model.say("One worked.")
        prompts = await agent.conversate("Do both")

        assert kinds(prompts) == ["text", "select", "execute", "cancel", "execute", "cancel", "text", "describe"]
        assert prompts[4]["value"] == {"name": "TOOL_ERROR", "message": "ZeroDivisionError: division by zero"}
        assert [each["function"] for each in prompts[-1]["executions"]] == ["add", "divide"]
        told = [each["content"] for each in harness.model.requests[-1]["messages"] if each["role"] == "tool"]
        assert any("there is no tool 'nothing'" in each for each in told)


async def test_a_caller_without_end_stops_at_the_bound_with_words(harness: Harness) -> None:
    async with agent_of(harness, calculator(), limits={"maxToolRounds": 3}) as agent:
        harness.model.call(choose("add"))
        harness.model.handler = lambda request: (
            "I give up." if request.get("tool_choice") == "none" else _calling("unchosen")
        )
        prompts = await agent.conversate("Go on for ever")

        assert sources(harness) == ["select", "execute", "execute", "execute", "describe"]
        assert prompts[-1] == {"type": "text", "role": "assistant", "text": "I give up."}


async def test_choosing_nothing_in_silence_still_ends_in_words(harness: Harness) -> None:
    async with agent_of(harness, calculator()) as agent:
        harness.model.call(choose())
        harness.model.say("There is nothing I can do.")
        prompts = await agent.conversate("Fly")

        assert prompts[-1]["text"] == "There is nothing I can do."
        assert kinds(prompts) == ["text", "text"]


async def test_a_bad_choice_is_corrected_with_the_names_there_are(harness: Harness) -> None:
    made = Calculator()
    async with agent_of(harness, calculator(made)) as agent:
        harness.model.call(choose("ad"))
        harness.model.call([("selectFunctions", '{"functions": [{"name": "add"')])
        harness.model.call(choose("add"))
        harness.model.call([("add", {"a": 1, "b": 2})])
        harness.model.say("3.")
        prompts = await agent.conversate("Add")

        assert sources(harness) == ["select", "select", "select", "execute", "describe"]
        assert "Did you mean add?" in harness.model.requests[1]["messages"][-1]["content"]
        assert kinds(prompts) == ["text", "select", "execute", "cancel", "describe"]


async def test_few_functions_are_offered_at_once_and_described_as_the_model_likes(harness: Harness) -> None:
    async with agent_of(harness, calculator(), config={"locale": "en-US"}) as agent:
        harness.model.call([("add", {"a": 1, "b": 2})])
        harness.model.say("3.")
        prompts = await agent.conversate("Add")

        assert sources(harness) == ["execute", "execute"]
        assert kinds(prompts) == ["text", "execute", "cancel", "describe"]


async def test_without_controllers_it_only_talks(harness: Harness) -> None:
    async with agent_of(harness) as agent:
        harness.model.say("Hello.")
        assert kinds(await agent.conversate("Hi")) == ["text", "text"]
        assert agent.get_controllers() == ()


async def test_conversations_that_are_called_at_once_run_one_after_the_other(harness: Harness) -> None:
    async with agent_of(harness) as agent:
        for word in "abc":
            harness.model.say(f"answer {word}", delay=0.05)
        answers = await asyncio.gather(*(agent.conversate(word) for word in "abc"))

        assert [each[-1]["text"] for each in answers] == ["answer a", "answer b", "answer c"]
        assert [each["text"] for each in agent.get_prompt_histories()[::2]] == ["a", "b", "c"]
        assert len(harness.model.requests[-1]["messages"]) == len(harness.model.requests[0]["messages"]) + 4


async def test_usage_is_in_the_structure_of_the_seed_with_the_right_sums(harness: Harness) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "total_tokens": 110,
        "prompt_tokens_details": {"cached_tokens": 80},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    async with agent_of(harness, calculator()) as agent:
        harness.model.call(choose("add"), usage=usage)
        harness.model.call([("add", {"a": 1, "b": 2})], usage=usage)
        harness.model.say("3.", usage=usage)
        await agent.conversate("Add")

        one = {
            "total": 110,
            "prompt": {"total": 100, "audio": 0, "cached": 80},
            "completion": {"total": 10, "accepted_prediction": 0, "audio": 0, "reasoning": 4, "rejected_prediction": 0},
        }
        assert agent.get_token_usage()["prompt"] == {"total": 300, "audio": 0, "cached": 240}
        assert agent.get_token_usage()["completion"]["total"] == 30
        assert agent.get_token_usage()["total"] == 330
        assert agent.get_token_usage_by_phase() == {"select": one, "execute": one, "describe": one}


def _calling(name: str) -> dict[str, object]:
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"model": "scripted-1", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]}


@pytest.mark.parametrize(
    ("describe", "phases", "entries"),
    [
        ("end", ["execute", "execute", "describe"], ["execute", "cancel", "execute", "cancel", "describe"]),
        ("off", ["execute", "execute", "execute"], ["execute", "cancel", "execute", "cancel", "describe"]),
    ],
)
async def test_a_chain_may_be_described_once_at_its_end(
    harness: Harness, describe: str, phases: list[str], entries: list[str]
) -> None:
    async with agent_of(harness, calculator(), config={**DIRECT, "describe": describe}) as agent:
        harness.model.call(choose("add", "divide"))
        harness.model.call([("add", {"a": 1, "b": 3})])
        harness.model.call([("divide", {"a": 4, "b": 2})])
        harness.model.say("4, then 2.")
        prompts = await agent.conversate("Add, then divide")

        assert sources(harness)[1:] == phases
        assert kinds(prompts)[2:] == entries
        assert [each["value"] for each in prompts[-1]["executions"]] == [4, 2.0]


async def test_arguments_that_do_not_fit_are_told_back_until_corrections_are_used_up(harness: Harness) -> None:
    made = Calculator()
    async with agent_of(harness, calculator(made), config={**DIRECT, "retry": 1}) as agent:
        harness.model.call(choose("add"))
        harness.model.call([("add", '{"a": 1, "b"')])
        harness.model.call([("add", {"a": 1, "b": "two"})])
        harness.model.say("I cannot add these.")
        prompts = await agent.conversate("Add")

        assert sources(harness) == ["select", "execute", "execute", "describe"]
        assert made.log == []
        assert kinds(prompts) == ["text", "select", "execute", "cancel", "describe"]
        assert prompts[2]["value"]["name"] == "TOOL_ARGUMENTS_INVALID"
        assert prompts[2]["arguments"] == {"a": 1, "b": "two"}


async def test_two_controllers_may_have_functions_of_one_name(harness: Harness) -> None:
    async with agent_of(harness, ClassController("one", Getter("one")), ClassController("two", Getter("two"))) as agent:
        harness.model.call(choose("one_get", "two_get"))
        harness.model.call([("one_get", {"key": "k"}), ("two_get", {"key": "k"})])
        harness.model.say("Both.")
        prompts = await agent.conversate("Get k")

        assert [(each["name"], each["function"], each["value"]) for each in prompts if each["type"] == "execute"] == [
            ("one_get", "get", "one:k"),
            ("two_get", "get", "two:k"),
        ]


async def test_functions_of_an_mcp_server_are_told_as_any_other(harness: Harness) -> None:
    server = Path(__file__).parents[2] / "activities/controllers/mcp/stdio_server.py"
    command = [sys.executable, str(server), str(harness.folder / "calls")]
    controller = McpController("remote", command=command, policy=RUN, start_timeout="PT1M")
    async with agent_of(harness, controller) as agent:
        harness.model.call(choose("add"))
        harness.model.call([("add", {"a": 1, "b": 2})])
        harness.model.say("3.")
        prompts = await agent.conversate("Add")
        record = (await agent.records())[0]

        assert (prompts[2]["protocol"], prompts[2]["controller"], prompts[2]["value"]) == (
            "class",
            "remote",
            {"result": 3},
        )
        assert record.type == "turn"
        assert record.executions[0].protocol == "mcp"


async def test_agents_of_one_process_do_not_disturb_each_other(harness: Harness) -> None:
    harness.model.handler = lambda request: f"heard {request['messages'][-1]['content']}"
    heard: list[str] = []
    async with agent_of(harness, user_id="ann") as one, agent_of(harness, user_id="ben") as other:
        one.on("text", lambda event: heard.append(event.text))
        answers = await asyncio.gather(*(each.conversate(f"{n}") for n, each in enumerate((one, other))))

        assert [each[-1]["text"] for each in answers] == ["heard 0", "heard 1"]
        assert heard == ["0", "heard 0"]
        assert len(one.get_prompt_histories()) == len(other.get_prompt_histories()) == 2
