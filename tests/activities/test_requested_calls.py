import json
from typing import Any

import pytest

from activities.completions import Completion, RawCall
from activities.contracts import PREVIEW_CHARS, ToolFacts
from activities.conversation import Arguments, ErrorDetails, ModelUsage
from activities.errors import TOOL_ARGUMENTS_INVALID, TOOL_CALL_CUT, TOOL_NOT_FOUND
from activities.json_values import encoded_size
from activities.requested_calls import MAX_CALLS, REPLY_BYTES, JudgedCall, Offer, cross, judge_calls

SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
NAMES = ["list_zones", "get_user", "write_file", "read_file"]


def facts(name: str, arguments: Arguments | None = None) -> ToolFacts | None:
    return ToolFacts(kind="worker", input_schema=SCHEMA) if name in NAMES else None


def check(name: str, arguments: Arguments) -> ErrorDetails | None:
    if name == "get_user" and "id" not in arguments:
        return ErrorDetails(code=TOOL_ARGUMENTS_INVALID, message="id is required")
    return None


OFFER = Offer([{"type": "function", "function": {"name": name}} for name in NAMES], facts, check)


def judged(*calls: RawCall, cut: bool = False, tokens: int | None = None, limit: int | None = None) -> list[JudgedCall]:
    usage = None if tokens is None else ModelUsage(completion_tokens=tokens)
    completion = Completion(None, calls, "tool_calls", "m", usage, cut=cut)
    return list(judge_calls(completion, OFFER, turn_id="t", round_number=0, max_tokens=limit))


def problem(call: JudgedCall) -> ErrorDetails:
    assert call.problem is not None
    return call.problem


def test_each_call_gets_an_id_of_ours_whatever_the_provider_sent() -> None:
    calls = [RawCall("list_zones", "{}", provider) for provider in (None, "", "run:0", "run:0")]
    ids = [each.call.id for each in judged(*calls)]
    assert len(set(ids)) == 4
    assert all(len(each) == 9 for each in ids)
    assert [each.call.provider_id for each in judged(*calls)] == [None, "", "run:0", "run:0"]


@pytest.mark.parametrize("raw", ["", "  \n", None, "null", "{}"])
def test_absent_arguments_run_a_tool_without_parameters_and_name_what_another_misses(raw: Any) -> None:
    [zones, user] = judged(RawCall("list_zones", raw), RawCall("get_user", raw))
    assert (zones.problem, zones.call.arguments, user.call.arguments) == (None, {}, {})
    assert problem(user).code == TOOL_ARGUMENTS_INVALID
    assert "id" in problem(user).message


CUT_ARGUMENTS = '{"path":"a.md","body":"line one'


def test_a_call_cut_by_the_output_limit_does_not_run() -> None:
    [call] = judged(RawCall("write_file", CUT_ARGUMENTS), cut=True)
    assert problem(call).code == TOOL_CALL_CUT
    assert "output limit" in problem(call).message
    assert call.call.arguments == {}


def test_a_cut_call_is_seen_when_the_server_hides_the_cut() -> None:
    [early_end] = judged(RawCall("write_file", CUT_ARGUMENTS))
    [full] = judged(RawCall("write_file", "{'path'"), tokens=64, limit=64)
    assert problem(early_end).code == problem(full).code == TOOL_CALL_CUT


def test_only_the_last_call_of_a_cut_reply_is_held_back_though_its_arguments_parse() -> None:
    [first, last] = judged(RawCall("read_file", '{"path":"b.md"}'), RawCall("write_file", '{"path":"a.md"}'), cut=True)
    assert first.problem is None
    assert problem(last).code == TOOL_CALL_CUT
    assert last.call.arguments == {"path": "a.md"}


def test_a_full_reply_whose_calls_are_whole_runs() -> None:
    [call] = judged(RawCall("read_file", '{"path":"b.md"}'), tokens=64, limit=64)
    assert call.problem is None


@pytest.mark.parametrize("raw", ['{"id":1}{"id":2}', "[1]", "id=1"])
def test_arguments_that_are_no_object_are_echoed_as_an_empty_one_with_a_problem(raw: str) -> None:
    [call] = judged(RawCall("get_user", raw))
    assert problem(call).code == TOOL_ARGUMENTS_INVALID
    assert call.call.arguments == {}


def test_an_unknown_tool_is_answered_with_near_names() -> None:
    [call] = judged(RawCall("get_users", "{}"))
    assert problem(call).code == TOOL_NOT_FOUND
    assert "get_user" in problem(call).message


@pytest.mark.parametrize(
    ("name", "echoed"),
    [("", "unnamed_tool"), ("functions.get user", "functions_get_user"), ("x" * 5_000, "x" * 64), ("日本", "__")],
)
def test_a_name_no_provider_takes_back_is_echoed_as_one_it_does(name: str, echoed: str) -> None:
    [call] = judged(RawCall(name, "{}"))
    assert call.call.name == echoed
    assert problem(call).code == TOOL_NOT_FOUND
    assert len(problem(call).message) < 400


def test_a_name_that_only_looks_like_a_tool_after_mending_does_not_run() -> None:
    [call] = judged(RawCall("get.user", '{"id": 1}'))
    assert (call.call.name, problem(call).code) == ("get_user", TOOL_NOT_FOUND)


def test_calls_past_the_bound_are_left_out_and_the_last_kept_says_so() -> None:
    calls = judged(*[RawCall("list_zones", "{}")] * (MAX_CALLS + 17))
    assert len(calls) == MAX_CALLS
    assert [each.problem for each in calls[:-1]] == [None] * (MAX_CALLS - 1)
    assert "17 after it" in problem(calls[-1]).message
    assert all(each.problem is None for each in judged(*[RawCall("list_zones", "{}")] * MAX_CALLS))


def test_long_arguments_cross_as_a_preview_and_stay_whole_in_the_row() -> None:
    [call] = judged(RawCall("write_file", json.dumps({"body": "é" * 20_000})))
    [crossed] = cross([call], facts)
    assert crossed.arguments_cut
    assert crossed.arguments["preview"] == json.dumps({"body": "é" * 20_000}, ensure_ascii=False)[:PREVIEW_CHARS]
    assert len(call.call.arguments["body"]) == 20_000


def test_short_arguments_cross_whole_with_the_facts_of_their_tool() -> None:
    [crossed] = cross(judged(RawCall("get_user", '{"id":1}')), facts)
    assert (crossed.arguments, crossed.arguments_cut, crossed.tool) == ({"id": 1}, False, facts("get_user"))


def test_all_calls_together_keep_within_what_one_payload_may_have() -> None:
    calls = judged(*[RawCall("write_file", json.dumps({"body": "日" * 7_000}))] * MAX_CALLS)
    crossed = cross(calls, facts)
    assert encoded_size(crossed) <= REPLY_BYTES
    assert all(each.arguments_cut for each in crossed)
