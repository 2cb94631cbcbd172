"""A call of a pause is closed once, by whoever comes first; an answer is taken whole or not at all."""

import time
from collections.abc import Sequence
from copy import deepcopy
from datetime import timedelta
from typing import Any, get_args

import pytest

import workflows.pause as pausing
from activities.conversation import ErrorDetails
from tests.workflows.strategies import HOUR, NOW, approval, give, many, one, pause_of, reasons, waiting
from workflows.pause import FILL_MESSAGES, Accepted, FillReason, Pause, not_run

INTEGER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def states(pause: Pause) -> list[str]:
    return [slot.state for slot in pause.slots]


def results_of(pause: Pause) -> list[tuple[str, Any, bool]]:
    return [(result.tool_call_id, result.output, result.is_error) for result in pause.results()]


def test_answers_in_pieces_close_their_calls_and_the_rest_waits() -> None:
    pause = pause_of(waiting("a"), waiting("b"), waiting("c"))
    give(pause, one(toolCallId="c", output=3))
    assert states(pause) == ["open", "open", "answered"]
    assert [call.id for call in pause.open_calls] == ["a", "b"]
    assert not pause.is_settled
    give(pause, many({"toolCallId": "b", "output": 2}, {"toolCallId": "a", "output": 1}))
    assert pause.is_settled
    assert results_of(pause) == [("a", 1, False), ("b", 2, False), ("c", 3, False)]


def test_the_hosts_results_come_first_and_then_the_filled_ones_each_in_call_order() -> None:
    pause = pause_of(waiting("a"), waiting("b"), waiting("c"), waiting("d"))
    give(pause, many({"toolCallId": "d", "output": 4}, {"toolCallId": "b", "output": 2}))
    assert [call.id for call in pause.fill("left_out")] == ["a", "c"]
    assert [result.tool_call_id for result in pause.results()] == ["b", "d", "a", "c"]


def test_a_filled_result_has_the_form_hosts_know() -> None:
    pause = pause_of(waiting("a", "search_files"))
    pause.fill("deadline")
    [result] = pause.results()
    message = "Nothing was executed: no answer came before the deadline of the pause."
    assert result.model_dump(mode="json", by_alias=True, exclude_none=True) == {
        "toolCallId": "a",
        "toolName": "search_files",
        "isError": True,
        "errorDetails": {"code": "EXTERNAL_TOOL_NOT_RUN", "message": message},
        "output": {"code": "EXTERNAL_TOOL_NOT_RUN", "message": message},
    }


@pytest.mark.parametrize("reason", get_args(FillReason))
def test_a_fill_says_that_nothing_ran_and_never_sounds_like_a_refusal(reason: FillReason) -> None:
    """A model that reads "denied" concludes that the user is against it."""
    result = not_run("a", "book", reason)
    words = str(result.output).lower()
    assert "nothing was executed" in words
    assert not any(word in words for word in ("denied", "deny", "reject", "refus", "declin", "disapprov", "forb"))
    assert FILL_MESSAGES[reason] in result.output["message"]


def test_each_reason_for_a_fill_has_words_of_its_own() -> None:
    assert set(FILL_MESSAGES) == set(get_args(FillReason))
    assert len(set(FILL_MESSAGES.values())) == len(FILL_MESSAGES)


def test_the_same_answer_again_is_accepted_and_changes_nothing() -> None:
    pause = pause_of(waiting("c1", "transfer"))
    give(pause, one(toolCallId="c1", output="done, ref 77"))
    before = deepcopy(pause)
    verdict = give(pause, one(toolCallId="c1", toolName="transfer", output="done, ref 77"))
    assert ([item.call_id for item in verdict.new], [item.call_id for item in verdict.repeated]) == ([], ["c1"])
    assert pause == before


@pytest.mark.parametrize("other", [{"output": "other"}, {"errorDetails": "failed"}, {"decision": "reject"}])
def test_a_different_second_answer_is_a_conflict_and_the_first_stands(other: dict[str, Any]) -> None:
    pause = pause_of(waiting("c1"))
    give(pause, one(toolCallId="c1", output="done, ref 77"))
    assert "already answered" in reasons(pause.judge(one(toolCallId="c1", **other)))["c1"]
    assert results_of(pause) == [("c1", "done, ref 77", False)]


def test_a_late_answer_to_a_filled_call_is_told_how_it_was_closed() -> None:
    pause = pause_of(waiting("c1"))
    pause.expire(NOW + HOUR)
    assert FILL_MESSAGES["deadline"] in reasons(pause.judge(one(toolCallId="c1", output="approved")))["c1"]
    assert states(pause) == ["filled"]


def test_a_call_answered_before_a_fill_keeps_its_answer() -> None:
    pause = pause_of(waiting("a"), waiting("b"))
    give(pause, one(toolCallId="b", output="real"))
    assert [call.id for call in pause.expire(NOW + HOUR)] == ["a"]
    assert [call.id for call in pause.fill("cancelled")] == []
    assert results_of(pause)[0] == ("b", "real", False)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"toolCallId": "zz", "output": 1}, "is no call of this pause; it waits for a (book), p (pay)"),
        ({"toolCallId": "a", "toolName": "pay", "output": 1}, "belongs to the tool book, not pay"),
        ({"toolCallId": "A", "output": 1}, "is no call of this pause"),
        ({"toolCallId": "a", "decision": "approve"}, "run by the host"),
        ({"toolCallId": "a", "decision": "edit", "arguments": {}}, "run by the host"),
        ({"toolCallId": "p", "decision": "edit", "arguments": {"n": "x"}}, "arguments.n:"),
    ],
)
def test_a_result_that_fits_no_call_is_refused_and_nothing_of_the_answer_is_taken(
    result: dict[str, Any], words: str
) -> None:
    pause = pause_of(waiting("a"), approval("p", input_schema=INTEGER))
    good = {"toolCallId": "p" if result["toolCallId"] == "a" else "a", "output": {"ok": True}}
    before = deepcopy(pause)
    assert words in reasons(pause.judge(many(good, result)))[result["toolCallId"]]
    assert pause == before


def test_each_item_of_a_refused_answer_has_its_reason() -> None:
    pause = pause_of(waiting("a"), waiting("b"))
    said = many({"toolCallId": "a", "toolName": "x", "output": 1}, {"toolCallId": "q", "output": 1})
    assert list(reasons(pause.judge(said))) == ["a", "q"]


def test_a_thousand_strangers_in_one_answer_are_told_what_waits_by_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many such answers may come in one workflow task, which has two seconds for all of them."""
    looks: list[int] = []

    def listed(calls: Sequence[Any]) -> str:
        looks.append(len(calls))
        return "them"

    monkeypatch.setattr(pausing, "_listed", listed)
    pause = pause_of(*(waiting(f"c{n}") for n in range(200)))
    refusal = pause.judge(many(*({"toolCallId": f"q{n}", "output": 1} for n in range(1_000))))
    assert reasons(refusal)["q0"] == "is no call of this pause; it waits for them"
    assert looks == [200]


def test_an_output_that_breaks_its_schema_is_refused_with_the_place() -> None:
    pause = pause_of(waiting("a", output_schema=INTEGER))
    assert "output.n: " in reasons(pause.judge(one(toolCallId="a", output={"n": "seven"})))["a"]
    assert "required" in reasons(pause.judge(one(toolCallId="a", output={})))["a"]
    assert "output: " in reasons(pause.judge(one(toolCallId="a", output=None)))["a"]
    give(pause, one(toolCallId="a", output={"n": 7}))


def test_an_error_needs_no_output_schema() -> None:
    pause = pause_of(waiting("a", output_schema=INTEGER))
    give(pause, one(toolCallId="a", errorDetails="sold out"))
    assert pause.is_settled


@pytest.mark.parametrize("schema", [{"type": "no such type"}, {"$ref": "https://example.org/schema.json"}])
def test_a_schema_that_cannot_be_used_refuses_no_answer(schema: dict[str, Any]) -> None:
    pause = pause_of(waiting("a", output_schema=schema))
    give(pause, one(toolCallId="a", output=1))
    assert pause.is_settled


def test_an_approval_leaves_the_result_to_the_worker() -> None:
    pause = pause_of(approval("p"), approval("q"), waiting("a"))
    said = ({"toolCallId": "q", "decision": "edit", "arguments": {"n": 1}}, {"toolCallId": "a", "output": 1})
    give(pause, many({"toolCallId": "p", "decision": "approve"}, *said))
    assert pause.is_settled
    assert [slot.runs_in_worker for slot in pause.slots] == [True, True, False]
    assert results_of(pause) == [("a", 1, False)]


def test_a_persons_refusal_reaches_the_model_as_an_error_with_their_reason_word_for_word() -> None:
    pause = pause_of(approval("p", "delete_file"), waiting("a"))
    give(
        pause,
        many({"toolCallId": "p", "decision": "reject", "reason": "keep the backup"}, {"toolCallId": "a", "output": 1}),
    )
    refusal = pause.results()[0]
    assert isinstance(refusal.error_details, ErrorDetails)
    assert (refusal.is_error, refusal.error_details.code) == (True, "TOOL_CALL_REJECTED")
    assert "keep the backup" in refusal.output["message"]
    assert "not executed" in refusal.output["message"]
    assert not pause.slots[0].runs_in_worker


def test_a_host_may_refuse_a_call_it_was_asked_to_run() -> None:
    pause = pause_of(waiting("a"))
    give(pause, one(toolCallId="a", decision="reject"))
    assert pause.results()[0].error_details.code == "TOOL_CALL_REJECTED"


def test_a_result_given_for_an_approval_stands_in_place_of_the_run() -> None:
    pause = pause_of(approval("p", input_schema=INTEGER), approval("q"))
    give(
        pause,
        many({"toolCallId": "p", "output": "done by hand"}, {"toolCallId": "q", "errorDetails": "cannot be done"}),
    )
    assert [slot.runs_in_worker for slot in pause.slots] == [False, False]
    assert [result.output for result in pause.results()] == [
        "done by hand",
        {"code": "EXTERNAL_TOOL_ERROR", "message": "cannot be done"},
    ]


def test_a_hosts_error_keeps_its_code_and_the_output_beside_it() -> None:
    pause = pause_of(waiting("a"), waiting("b"))
    error = {"code": "E_FULL", "message": "sold out"}
    give(
        pause,
        many({"toolCallId": "a", "errorDetails": error}, {"toolCallId": "b", "errorDetails": error, "output": [1]}),
    )
    assert results_of(pause) == [("a", error, True), ("b", [1], True)]
    assert [result.error_details.code for result in pause.results()] == ["E_FULL", "E_FULL"]


def test_null_is_a_result() -> None:
    pause = pause_of(waiting("a"))
    give(pause, one(toolCallId="a", output=None))
    assert results_of(pause) == [("a", None, False)]


def test_a_call_with_its_own_time_is_filled_alone() -> None:
    pause = pause_of(waiting("a", deadline=NOW + timedelta(seconds=2)), waiting("b"))
    assert pause.next_deadline == NOW + timedelta(seconds=2)
    assert pause.expire(NOW + timedelta(seconds=1)) == []
    assert [call.id for call in pause.expire(NOW + timedelta(seconds=2))] == ["a"]
    assert pause.results()[0].output["message"] == FILL_MESSAGES["call_timeout"]
    assert pause.next_deadline == NOW + HOUR
    assert states(pause) == ["filled", "open"]


def test_the_deadline_of_the_pause_counts_for_a_call_with_a_longer_time() -> None:
    pause = pause_of(waiting("a", deadline=NOW + 2 * HOUR), waiting("b", deadline=NOW + HOUR / 2))
    assert pause.next_deadline == NOW + HOUR / 2
    pause.expire(NOW + HOUR / 2)
    assert pause.next_deadline == NOW + HOUR
    pause.expire(NOW + HOUR)
    assert [result.output["message"] for result in pause.results()] == [
        FILL_MESSAGES["deadline"],
        FILL_MESSAGES["call_timeout"],
    ]


def test_an_answered_call_has_no_deadline_any_more() -> None:
    pause = pause_of(waiting("a", deadline=NOW + timedelta(seconds=2)), waiting("b"))
    give(pause, one(toolCallId="a", output=1))
    assert pause.next_deadline == NOW + HOUR
    assert pause.expire(NOW + timedelta(seconds=3)) == []


def test_new_and_repeated_results_in_one_answer_are_told_apart() -> None:
    pause = pause_of(waiting("a"), waiting("b"))
    give(pause, one(toolCallId="a", output=1))
    verdict = pause.judge(many({"toolCallId": "b", "output": 2}, {"toolCallId": "a", "output": 1}))
    assert isinstance(verdict, Accepted)
    assert [item.call_id for item in verdict.new] == ["b"]
    assert [item.call_id for item in verdict.repeated] == ["a"]


def test_the_record_shows_the_state_of_each_call() -> None:
    pause = pause_of(waiting("a"), waiting("b"), waiting("c"))
    give(pause, one(toolCallId="b", output=2))
    pause.expire(NOW)
    assert [(call.id, call.state) for call in pause.calls] == [("a", "open"), ("b", "answered"), ("c", "open")]
    pause.fill("settled")
    assert [call.state for call in pause.calls] == ["filled", "answered", "filled"]


def test_schemas_that_are_too_much_for_a_record_still_judge() -> None:
    """Two hundred calls of a tool with a schema of 90 KB: the record has the first two schemas, every call is held to its own."""
    large = {**INTEGER, "description": "x" * 90_000}
    pause = pause_of(*(waiting(f"c{n}", output_schema=large) for n in range(200)))
    assert [call.output_schema is not None for call in pause.calls] == [*[True] * 2, *[False] * 198]
    assert "output.n" in reasons(pause.judge(one(toolCallId="c199", output={"n": "one"})))["c199"]
    started = time.process_time()
    give(pause, many(*({"toolCallId": f"c{n}", "output": {"n": n}} for n in range(200))))
    assert time.process_time() - started < 1


def test_an_open_call_has_no_result() -> None:
    assert pause_of(waiting("a")).slots[0].result() is None
    assert pause_of(waiting("a")).results() == []


def test_a_persons_part_lets_the_worker_run_the_call() -> None:
    pause = pause_of(waiting("a", kind="human", input_schema=INTEGER))
    give(pause, one(toolCallId="a", output={"n": 3}))
    [slot] = pause.slots
    assert (slot.state, slot.runs_in_worker, slot.result()) == ("answered", True, None)
    assert slot.human_part is not None
    assert slot.human_part.value == {"n": 3}


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"output": {"n": "three"}}, "breaks the tool's schema"),
        ({"decision": "approve"}, "send that as `output`"),
        ({"decision": "edit", "arguments": {}}, "send that as `output`"),
    ],
)
def test_a_persons_part_must_fit_and_cannot_be_waved_through(sent: dict[str, Any], told: str) -> None:
    pause = pause_of(waiting("a", kind="human", input_schema=INTEGER))
    assert told in reasons(pause.judge(one(toolCallId="a", **sent)))["a"]
    assert states(pause) == ["open"]


def test_a_person_may_refuse_to_give_their_part() -> None:
    pause = pause_of(waiting("a", "pay", kind="human"))
    give(pause, one(toolCallId="a", decision="reject", reason="not my card"))
    [result] = pause.results()
    assert result.is_error
    assert "not my card" in result.output["message"]
