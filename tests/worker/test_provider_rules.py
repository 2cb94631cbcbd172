from typing import Any

import pytest

from worker.provider_rules import refusal

USER = {"role": "user", "content": "x"}


def call(call_id: str = "abc123def", name: str = "f", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **fields}


def result(call_id: str = "abc123def", content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def request(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **fields}


TWO = calling(call("aaaaaaaaa"), call("bbbbbbbbb"))


@pytest.mark.parametrize(
    "body",
    [
        request(USER),
        request(USER, calling(call()), result(), {"role": "assistant", "content": "done"}),
        request(USER, TWO, result("aaaaaaaaa"), result("bbbbbbbbb"), USER),
        request(USER, tools=[{"type": "function", "function": {"name": "f"}}], tool_choice="none"),
    ],
)
def test_a_sound_request_is_taken(body: Any) -> None:
    assert refusal(body) is None


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"messages": [USER]},
        {"model": "m", "messages": []},
        {"model": "m", "messages": ["x"]},
        request({"role": "robot", "content": "x"}),
        request({"role": "user", "content": ""}),
        request({"role": "assistant", "content": None}),
        request({"role": "assistant", "content": "x", "tool_calls": []}),
        request(USER, calling(call("call_1"))),
        request(USER, calling(call("")), result("")),
        request(USER, calling(call(name="a b")), result()),
        request(USER, calling(call(arguments="null")), result()),
        request(USER, calling(call(arguments={})), result()),
        request(USER, calling(call()), result(content=[1])),
        request(USER, result()),
        request(USER, calling(call())),
        request(USER, calling(call()), USER, result()),
        request(USER, calling(call()), result(), result()),
        request(USER, TWO, result("aaaaaaaaa"), USER),
        request(USER, TWO, result("bbbbbbbbb"), result("aaaaaaaaa")),
        request(USER, tools=[]),
        request(USER, tool_choice="auto"),
        request(USER, tools=[{"function": {"name": "f"}}, {"function": {"name": "f"}}]),
    ],
)
def test_what_any_provider_refuses_is_refused_with_a_reason(body: Any) -> None:
    assert refusal(body)
