import json
from typing import Any

import pytest

from activities.personas import Persona
from activities.prompt import system_messages
from activities.turn_input import TurnInput
from worker.demo_script import Saying, answer

ALL = ("lookup_order", "approve_refund", "notify_customer", "search_memory")
ASK = "Please refund order 1042, the kettle is broken."
ORDER = {"order_id": "1042", "amount": 49.9}
NOT_RUN = 'Tool notify_customer failed: {"code": "EXTERNAL_TOOL_NOT_RUN", "message": "the host left it out"}'


def asked(
    said: str, *results: tuple[str, Any], tools: tuple[str, ...] = ALL, memory: str | None = None, **fields: Any
) -> Saying:
    """What the script says to `said` after calls with these results, one after another."""
    messages: list[dict[str, Any]] = system_messages(Persona(id="p"), memory, TurnInput(content="x"))
    messages.append({"role": "user", "content": said})
    for place, (name, result) in enumerate(results):
        call = {"id": f"call0000{place}", "function": {"name": name, "arguments": "{}"}}
        content = result if isinstance(result, str) else json.dumps(result)
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": content},
        ]
    offered = [{"type": "function", "function": {"name": name}} for name in tools]
    return answer({"model": "m", "messages": messages, "tools": offered, **fields})


@pytest.mark.parametrize(
    "said", [ASK, "refund #1042!", "I want a refund for order no. 1042", "Order 1042: refund please"]
)
def test_a_refund_begins_with_the_order(said: str) -> None:
    assert asked(said).calls == (("lookup_order", {"order_id": "1042"}),)


def test_the_order_found_the_host_is_asked_for_both_at_once() -> None:
    said = asked(ASK, ("lookup_order", ORDER))
    assert [name for name, _ in said.calls] == ["approve_refund", "notify_customer"]
    assert said.calls[0][1] == {"order_id": "1042", "amount": 49.9}
    assert "49.9" in said.calls[1][1]["message"]


def test_only_what_is_offered_is_called() -> None:
    said = asked(ASK, ("lookup_order", ORDER), tools=("lookup_order", "approve_refund"))
    assert [name for name, _ in said.calls] == ["approve_refund"]


@pytest.mark.parametrize(
    ("approval", "words"),
    [
        ({"approved": True, "by": "Ana"}, "was approved"),
        ({"approved": False, "reason": "too late"}, "was refused"),
        (
            'Tool approve_refund failed: {"code": "TOOL_CALL_REJECTED", "message": "too late"}',
            "too late (TOOL_CALL_REJECTED)",
        ),
    ],
)
def test_the_answer_reflects_what_both_results_said(approval: Any, words: str) -> None:
    said = asked(ASK, ("lookup_order", ORDER), ("approve_refund", approval), ("notify_customer", NOT_RUN))
    assert said.text is not None
    assert said.calls == ()
    assert words in said.text
    assert "notify_customer did not run" in said.text
    assert "EXTERNAL_TOOL_NOT_RUN" in said.text


def test_a_notification_that_ran_is_said_to_have_run() -> None:
    said = asked(
        ASK, ("lookup_order", ORDER), ("approve_refund", {"approved": True}), ("notify_customer", {"sent": True})
    )
    assert "was notified" in (said.text or "")


def test_an_order_that_is_not_found_is_not_refunded() -> None:
    said = asked(ASK, ("lookup_order", 'Tool lookup_order failed: {"code": "TOOL_ERROR", "message": "no such order"}'))
    assert said.calls == ()
    assert "no such order" in (said.text or "")


@pytest.mark.parametrize("fields", [{"tools": ()}, {"tool_choice": "none"}])
def test_without_tools_it_answers_in_words(fields: dict[str, Any]) -> None:
    for said in (ASK, "which order was it?", "hello"):
        assert asked(said, **fields).text


def test_a_refund_without_a_number_asks_for_it() -> None:
    assert "Which order" in (asked("I want a refund").text or "")


def test_a_question_about_the_past_is_answered_from_memory() -> None:
    said = asked("Which order did I ask about?", memory="The user asked to refund order 1042.\nlives in Lyon")
    assert "order 1042" in (said.text or "")


def test_without_memory_in_the_prompt_it_searches_and_tells_what_it_found() -> None:
    question = "What do you know about me?"
    assert asked(question).calls == (("search_memory", {"query": question}),)
    assert "likes tea" in (asked(question, ("search_memory", ["likes tea"])).text or "")
    assert "do not remember" in (asked(question, tools=()).text or "")


def test_anything_else_is_repeated() -> None:
    assert asked("hello there").text == "You said: hello there"
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]
    assert answer({"messages": [{"role": "user", "content": parts}]}).text == "You said: look"
