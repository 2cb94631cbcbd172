"""Deltas in every form in use give the completion that an unstreamed answer would have given."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.completions import Completion, read_completion
from activities.conversation import ModelUsage
from activities.provider_errors import ProviderFault
from activities.streaming_assembly import Assembly


def chunk(delta: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **fields}


def assembled(*chunks: Any) -> tuple[Completion, str]:
    assembly = Assembly()
    shown = "".join(assembly.take(each) for each in chunks)
    return read_completion(assembly.body()), shown


def calls_of(*entries: dict[str, Any]) -> list[tuple[str | None, str, Any]]:
    """(id, name, arguments) of the calls in these parts, one delta each."""
    completion, _ = assembled(*(chunk({"tool_calls": [entry]}) for entry in entries), chunk({}, "tool_calls"))
    return [(call.provider_id, call.name, call.arguments) for call in completion.calls]


def part(arguments: Any = None, name: str | None = None, **fields: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**fields, "function": function}


ROME, BERN = '{"city":"Rome"}', '{"city":"Bern"}'


def test_a_new_id_begins_a_call_though_the_index_repeats() -> None:
    parts = part(ROME, "w", index=0, id="a"), part(BERN, "w", index=0, id="b")
    assert calls_of(*parts) == [("a", "w", ROME), ("b", "w", BERN)]


def test_parts_without_any_index_belong_to_the_last_call() -> None:
    assert calls_of(part('{"ci', "w", id="a"), part('ty":"Rome"}')) == [("a", "w", ROME)]


def test_numbers_that_do_not_begin_at_zero_make_no_empty_calls() -> None:
    parts = part("", "w", index=1, id="a"), part("{}", index=1), part("{}", "w", index=3, id="b")
    assert calls_of(*parts) == [("a", "w", "{}"), ("b", "w", "{}")]


def test_calls_with_neither_index_nor_id_are_told_apart_by_their_arguments() -> None:
    assert calls_of(part(ROME, "w"), part(BERN, "w"), part("{}", "v")) == [
        (None, "w", ROME), (None, "w", BERN), (None, "v", "{}")]  # fmt: skip


def test_calls_that_all_have_index_zero_and_no_id_are_told_apart_too() -> None:
    assert [call[2] for call in calls_of(part(ROME, "w", index=0), part(BERN, "w", index=0))] == [ROME, BERN]


def test_one_id_for_two_calls_makes_two() -> None:
    assert [call[2] for call in calls_of(part(ROME, "w", index=0, id="x"), part(BERN, "w", index=0, id="x"))] == [
        ROME,
        BERN,
    ]
    assert [call[2] for call in calls_of(part(ROME, "w", index=0, id="x"), part(BERN, "w", index=1, id="x"))] == [
        ROME,
        BERN,
    ]


def test_a_call_that_is_said_whole_again_at_the_end_runs_once() -> None:
    parts = part('{"city":', "w", index=0, id="a"), part('"Rome"}', index=0), part(ROME, "w", index=0, id="a")
    assert calls_of(*parts) == [("a", "w", ROME)]
    assert len(calls_of(part(ROME, "w", index=0, id="a"), part(ROME, "w", index=1, id="b"))) == 2


def test_an_id_and_a_name_in_every_part_are_one_call() -> None:
    parts = [part(piece, "w", index=0, id="a") for piece in ('{"ci', "ty", '":"Rome"}', "")]
    assert calls_of(*parts) == [("a", "w", ROME)]


def test_a_new_id_in_every_part_is_one_call_as_long_as_its_arguments_go_on() -> None:
    parts = part("", "w", index=0, id="a"), part('{"ci', index=0, id="b"), part('ty":"Rome"}', index=0, id="c")
    assert calls_of(*parts) == [("a", "w", ROME)]
    assert calls_of(*parts, part(BERN, "w", index=0, id="d")) == [("a", "w", ROME), ("d", "w", BERN)]
    unnumbered = part('{"ci', "w", id="a"), part('ty":"Rome"}', id="b")
    assert calls_of(*unnumbered) == [("a", "w", ROME)]


def test_interleaved_calls_without_numbers_are_kept_apart_by_their_ids() -> None:
    parts = (part('{"city"', "w", id="a"), part('{"city"', "w", id="b"), part(':"Rome"}', id="a"),
             part(':"Bern"}', id="b"))  # fmt: skip
    assert calls_of(*parts) == [("a", "w", ROME), ("b", "w", BERN)]


def test_an_id_that_comes_after_the_name_is_taken() -> None:
    assert calls_of(part("", "w", index=0), part(ROME, index=0, id="a")) == [("a", "w", ROME)]


def test_a_name_in_pieces_is_joined_where_a_number_holds_them_together() -> None:
    assert calls_of(part("", "get_", index=0, id="a"), part(ROME, "user", index=0)) == [("a", "get_user", ROME)]


def test_interleaved_calls_are_kept_apart_by_their_numbers() -> None:
    parts = (part('{"city"', "w", index=0, id="a"), part('{"city"', "w", index=1, id="b"), part(':"Rome"}', index=0),
             part(':"Bern"}', index=1))  # fmt: skip
    assert calls_of(*parts) == [("a", "w", ROME), ("b", "w", BERN)]


def test_arguments_that_come_as_a_value_are_taken_as_they_are() -> None:
    assert calls_of(part({"city": "Rome"}, "w", index=0), part({}, "v", index=0)) == [
        (None, "w", {"city": "Rome"}), (None, "v", {})]  # fmt: skip


def test_in_doubt_arguments_stay_together_so_that_no_call_runs_without_its_own() -> None:
    assert calls_of(part(ROME, "w", index=0), part("", "w", index=0), part(BERN, index=0)) == [(None, "w", ROME + BERN)]


@pytest.mark.parametrize(
    "entry", [{}, {"index": 0}, {"index": "0", "function": None}, part(""), {"id": "", "function": {}}]
)
def test_a_part_with_nothing_in_it_is_no_call(entry: dict[str, Any]) -> None:
    assert calls_of(entry) == []


def test_the_older_form_of_a_call_is_joined() -> None:
    deltas: tuple[dict[str, Any], ...] = (
        {"function_call": {"name": "w", "arguments": ""}},
        {"function_call": {"arguments": ROME}},
    )
    completion, _ = assembled(*map(chunk, deltas), chunk({}, "function_call"))
    assert [(call.name, call.arguments) for call in completion.calls] == [("w", ROME)]


AZURE = (
    {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "hi"}, "finish_reason": None}], "usage": None},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}},
)


def test_chunks_without_choices_are_read_for_what_else_they_have() -> None:
    completion, shown = assembled(*AZURE)
    assert (completion.text, completion.finish_reason, shown) == ("hi", "stop", "hi")
    assert completion.usage == ModelUsage(prompt_tokens=12, completion_tokens=5, total_tokens=17)


def test_usage_that_never_comes_is_unknown() -> None:
    assert assembled(*AZURE[:3])[0].usage is None


def test_an_answer_that_was_not_ended_is_not_finished() -> None:
    assembly = Assembly()
    for each in AZURE[:2]:
        assembly.take(each)
    assert not assembly.finished


def test_thinking_stays_out_of_the_text() -> None:
    thought = {
        "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "b"}]
    }
    deltas: tuple[dict[str, Any], ...] = ({"reasoning_content": "hm"}, {"reasoning": "hm", "content": "a"}, thought)
    completion, shown = assembled(*map(chunk, deltas), chunk({}, "stop"))
    assert (completion.text, shown) == ("ab", "ab")


def test_a_refusal_in_pieces_is_one() -> None:
    completion, shown = assembled(chunk({"refusal": "I "}), chunk({"refusal": "cannot."}), chunk({}, "stop"))
    assert completion.error is not None
    assert (completion.error.code, completion.text, shown) == ("MODEL_REFUSAL", "I cannot.", "")


def test_a_filter_that_stops_the_stream_keeps_what_was_said() -> None:
    completion, _ = assembled(chunk({"content": "so far"}), chunk({}, "content_filter"))
    assert completion.error is not None
    assert (completion.error.code, completion.text) == ("CONTENT_FILTERED", "so far")


def test_a_whole_message_in_the_last_chunk_counts_when_nothing_came_before() -> None:
    whole = {"choices": [{"index": 0, "message": {"content": "all"}, "finish_reason": "stop"}]}
    assert assembled(whole)[0].text == "all"
    assert assembled(chunk({"content": "all"}), whole)[0].text == "all"
    calling = {"choices": [{"index": 0, "message": {"content": "all", "tool_calls": [part(ROME, "w", id="a")]}}]}
    completion, shown = assembled(chunk({"content": "all"}), calling, calling, chunk({}, "tool_calls"))
    assert (completion.text, shown, [call.arguments for call in completion.calls]) == ("all", "all", [ROME])


def test_other_choices_than_the_first_are_not_read() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}}]}
    assert assembled(chunk({"content": "yes"}), other, chunk({}, "stop"))[0].text == "yes"


def test_parts_of_the_first_choice_that_stand_apart_in_a_chunk_are_joined() -> None:
    parts = [
        {"index": 0, "delta": {"content": "Let me look."}},
        {"index": 0, "delta": {"tool_calls": [part("{}", "w")]}},
    ]
    completion, shown = assembled({"choices": parts}, chunk({}, "tool_calls"))
    assert (shown, completion.text, [call.name for call in completion.calls]) == ("Let me look.", "Let me look.", ["w"])
    assert assembled({"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]})[1] == "a"


def test_usage_may_stand_in_the_choice() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}]}
    assert assembled(chunk({"content": "hi"}), last)[0].usage == ModelUsage(
        prompt_tokens=1, completion_tokens=2, total_tokens=3
    )


@pytest.mark.parametrize(
    "broken",
    [
        {"error": {"message": "overloaded", "code": 529}},
        {"error": "overloaded"},
        {"error": {"message": "overloaded"}, "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": {"message": "overloaded"}}]},
        {"object": "error", "message": "overloaded"},
    ],
)
def test_an_error_in_the_middle_is_a_fault(broken: dict[str, Any]) -> None:
    assembly = Assembly()
    assembly.take(chunk({"content": "so far"}))
    with pytest.raises(ProviderFault, match="overloaded"):
        assembly.take(broken)


@pytest.mark.parametrize(
    "odd", [None, [], 5, {}, {"choices": None}, {"choices": [None]}, {"choices": [{"delta": None}]},
            {"choices": [{"delta": {"content": 5, "tool_calls": 7, "function_call": []}}]}, {"usage": []},
            {"choices": [{"delta": {"tool_calls": [None, 3, {"index": True, "function": []}]}}]}],
)  # fmt: skip
def test_chunks_of_any_shape_break_nothing(odd: Any) -> None:
    completion, _ = assembled(odd, chunk({"content": "fine"}), odd, chunk({}, "stop"))
    assert (completion.text, completion.calls) == ("fine", ())


KEYS = st.sampled_from(
    [
        *(
            "choices",
            "delta",
            "message",
            "content",
            "tool_calls",
            "function",
            "function_call",
            "name",
            "arguments",
            "id",
        ),
        *("index", "finish_reason", "usage", "error", "model", "refusal", "text", "type", "code"),
    ]
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 600) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
ANY_CHUNK = ANY_JSON | st.fixed_dictionaries(
    {"choices": st.lists(st.fixed_dictionaries({"delta": st.dictionaries(KEYS, ANY_JSON, max_size=4)}), min_size=1)}
)


@given(chunks=st.lists(ANY_CHUNK, max_size=5))
def test_nothing_a_server_sends_raises_anything_but_a_fault(chunks: list[Any]) -> None:
    assembly = Assembly()
    try:
        for each in chunks:
            assert isinstance(assembly.take(each), str)
        read_completion(assembly.body())
    except ProviderFault:
        pass


WORDS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=30)
CALLS = st.lists(
    st.tuples(st.sampled_from(["w", "get_user"]), st.dictionaries(st.text(max_size=4), st.integers(), max_size=3)),
    max_size=3,
)
CUTS = st.lists(st.integers(0, 60), max_size=8)


@given(text=st.none() | WORDS, calls=CALLS, cuts=CUTS, finish=st.sampled_from(["stop", "tool_calls", "length", None]))
def test_cut_into_any_pieces_it_is_the_completion_of_the_whole(
    text: str | None, calls: list[tuple[str, dict[str, int]]], cuts: list[int], finish: str | None
) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    entries = [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for place, (name, arguments) in enumerate(calls)
    ]
    message = {"content": text, **({"tool_calls": entries} if entries else {})}
    whole = {"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}
    deltas: list[dict[str, Any]] = [{"content": piece} for piece in _cut(text or "", cuts)]
    for index, entry in enumerate(entries):
        function = entry["function"]
        assert isinstance(function, dict)
        deltas.append({"tool_calls": [{**entry, "index": index, "function": {**function, "arguments": ""}}]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": each}}]}
                   for each in _cut(function["arguments"], cuts)]  # fmt: skip
    streamed, shown = assembled(*map(chunk, deltas), chunk({}, finish), {"choices": [], "usage": usage})
    assert streamed == read_completion(whole)
    assert shown == (text or "")


def _cut(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    return [text[start:end] for start, end in pairwise(places)]
