"""Whatever ends a round, each of its calls has exactly one result, at its own place."""

from datetime import timedelta
from typing import Any, Literal, get_args

import pytest

from activities.contracts import RequestedCall
from activities.conversation import ErrorDetails, GMIOutput, ToolCallResult
from activities.json_values import encoded_size
from activities.selection import ChosenFunction
from activities.turn_input import SelectionOptions
from tests.workflows.strategies import (
    GUARDED,
    NOW,
    WORKER,
    begin_round,
    broken,
    give,
    many,
    one,
    pause_round,
    reasons,
    reply,
    requested,
    turn_state,
)
from workflows.contracts import TurnPhase
from workflows.function_stack import FunctionStack
from workflows.pause import FILL_MESSAGES, FillReason
from workflows.turn_report import GMI_STATES, current_output, final_output, status
from workflows.turn_state import OVER, TurnState, turn_key

ROUND = (
    requested("c1", "lookup", WORKER),
    broken("c2"),
    requested("c3", "book"),
    requested("c4", "pay", GUARDED),
    requested("c5", "book"),
)


def codes(state: TurnState) -> dict[str, Any]:
    """Each call of the round with the code of its error, or its output."""
    told = {}
    for planned in state.round:
        result = state.results[planned.call.id]
        error = result.error_details
        told[planned.call.id] = error.code if isinstance(error, ErrorDetails) else result.output
    return told


def ran(state: TurnState, call_id: str, output: Any = "ran") -> None:
    """The worker ran a call; its activity stored the result."""
    planned = state.planned(call_id)
    state.note_own_call(planned)
    state.note_result(planned, ToolCallResult(tool_call_id=call_id, tool_name=planned.call.name, output=output), NOW)


def test_refused_calls_have_their_result_at_once_and_the_rest_is_open() -> None:
    state = turn_state()
    begin_round(state, *ROUND, row=1)
    assert list(state.results) == ["c2"]
    assert [planned.call.id for planned in state.waiting] == ["c3", "c4", "c5"]
    assert (state.rows, state.progress.tool_rounds, state.progress.model_calls) == (7, 1, 1)


def test_results_stand_in_call_order_whatever_order_they_came_in() -> None:
    state = turn_state()
    pause = pause_round(state, *ROUND, row=1)
    give(pause, many({"toolCallId": "c5", "output": 5}, {"toolCallId": "c4", "output": 4}))
    ran(state, "c1")
    state.close_pause(pause, "left_out", NOW)
    assert [(placed.row, placed.result.tool_call_id) for placed in state.unsaved] == [
        (3, "c2"),
        (4, "c3"),
        (5, "c4"),
        (6, "c5"),
    ]
    assert codes(state) == {"c1": "ran", "c2": "TOOL_NOT_FOUND", "c3": "EXTERNAL_TOOL_NOT_RUN", "c4": 4, "c5": 5}


def test_the_record_has_the_hosts_results_first() -> None:
    state = turn_state()
    pause = pause_round(state, *ROUND[2:])
    give(pause, one(toolCallId="c5", output=5))
    state.close_pause(pause, "deadline", NOW)
    told = [chunk for chunk in state.transcript.chunks.page().entries if chunk.type == "tool_result"]
    assert [chunk.content["toolCallId"] for chunk in told] == ["c5", "c3", "c4"]


def test_a_pause_shows_what_the_host_needs() -> None:
    state = turn_state(sessionId="s1")
    guarded = GUARDED.model_copy(update={"input_schema": {"type": "object"}})
    said = reply(requested("a", "ring", arguments={"to": "ada"}), requested("p", "pay", guarded), text="Shall I?")
    state.take_reply(said, NOW)
    state.open_round(said, NOW)
    state.open_pause(said, "turn-c1-t1", NOW)
    record = state.pending_request()
    assert record is not None
    assert (record.rationale, record.requested_at, record.deadline) == ("Shall I?", NOW, NOW + timedelta(days=7))
    assert (record.conversation_id, record.user_id, record.persona_id) == ("turn-c1-t1", "ada", "default")
    assert (record.session_id, record.stream_id, record.pause_id) == ("s1", "turn-c1-t1", "turn-c1-t1/0")
    ring, pay = record.tool_calls
    assert (ring.kind, ring.arguments, ring.deadline) == ("external", {"to": "ada"}, NOW + timedelta(seconds=2))
    assert ring.output_schema == {"type": "string"}
    assert (pay.kind, pay.input_schema, pay.output_schema, pay.deadline) == ("approval", {"type": "object"}, None, None)
    assert (state.phase, status(state).waiting_for) == ("waiting", ("a", "p"))


def test_the_output_of_a_pause_names_exactly_the_calls_that_are_open() -> None:
    state = turn_state()
    pause = pause_round(state, *ROUND)
    give(pause, one(toolCallId="c3", output=3))
    output = current_output(state)
    assert output.is_final is False
    assert [call.id for call in output.tool_calls or ()] == ["c4", "c5"]


def test_settling_is_asked_anew_for_each_pause() -> None:
    state = turn_state()
    state.settle_asked = True
    pause_round(state, requested("a"))
    assert not state.settle_asked


@pytest.mark.parametrize("reason", get_args(FillReason))
def test_abandoning_keeps_the_hosts_answers_and_closes_every_other_call(reason: FillReason) -> None:
    state = turn_state()
    pause = pause_round(state, *ROUND)
    state.note_own_call(state.planned("c1"))
    give(pause, one(toolCallId="c5", output="real work"))
    state.abandon_round(reason, NOW)
    assert codes(state) == {
        "c1": "TOOL_CANCELLED",
        "c2": "TOOL_NOT_FOUND",
        "c3": "EXTERNAL_TOOL_NOT_RUN",
        "c4": "EXTERNAL_TOOL_NOT_RUN",
        "c5": "real work",
    }
    assert state.results["c3"].output["message"] == FILL_MESSAGES[reason]
    assert [placed.row for placed in state.unsaved] == [2, 3, 4, 5, 6]
    assert state.inbox.pause is None


def test_abandoning_without_a_pause_closes_the_calls_too() -> None:
    """A turn may be cancelled between the reply and the pause."""
    state = turn_state()
    begin_round(state, *ROUND)
    ran(state, "c1")
    state.abandon_round("cancelled", NOW)
    assert codes(state)["c1"] == "ran"
    assert [codes(state)[call] for call in ("c3", "c4", "c5")] == ["EXTERNAL_TOOL_NOT_RUN"] * 3
    assert [placed.result.tool_call_id for placed in state.unsaved] == ["c2", "c3", "c4", "c5"]


def test_an_approved_call_that_runs_when_the_turn_ends_is_cancelled_and_one_that_never_began_was_not_run() -> None:
    state = turn_state()
    pause = pause_round(state, requested("p", "pay", GUARDED), requested("q", "pay", GUARDED))
    give(pause, many({"toolCallId": "p", "decision": "approve"}, {"toolCallId": "q", "decision": "approve"}))
    state.note_own_call(state.planned("p"))
    state.abandon_round("superseded", NOW)
    assert codes(state) == {"p": "TOOL_CANCELLED", "q": "EXTERNAL_TOOL_NOT_RUN"}


def test_abandoning_twice_changes_nothing() -> None:
    state = turn_state()
    pause_round(state, *ROUND)
    state.abandon_round("superseded", NOW)
    before = (dict(state.results), list(state.unsaved))
    state.abandon_round("failed", NOW)
    assert (state.results, state.unsaved) == before


def test_a_turn_without_calls_has_nothing_to_abandon() -> None:
    state = turn_state()
    state.take_reply(reply(text="hello"), NOW)
    state.abandon_round("cancelled", NOW)
    assert (state.results, state.unsaved, state.rows) == ({}, [], 2)


def test_calls_of_a_reply_that_was_asked_for_words_are_all_refused() -> None:
    state = turn_state()
    said = reply(*ROUND)
    state.take_reply(said, NOW)
    state.refuse_round(said, ErrorDetails(code="LIMIT_TOOL_ROUNDS", message="no more"), NOW)
    assert set(codes(state).values()) == {"LIMIT_TOOL_ROUNDS"}
    assert [placed.row for placed in state.unsaved] == [2, 3, 4, 5, 6]
    assert (state.rows, state.progress.tool_rounds) == (7, 0)


def test_the_final_calls_are_the_workers_own_run_or_refused_in_their_order() -> None:
    state = turn_state()
    pause = pause_round(state, *ROUND)
    ran(state, "c1")
    give(pause, many({"toolCallId": "c3", "output": 3}, {"toolCallId": "c4", "decision": "approve"}, partial="wait"))
    state.note_own_call(state.planned("c4"), {"amount": 5})
    state.close_pause(pause, "deadline", NOW)
    final = final_output(state, None)
    assert [(call.name, call.arguments) for call in final.tool_calls or ()] == [
        ("nothing", {}),
        ("lookup", {}),
        ("pay", {"amount": 5}),
    ]
    assert final.is_final


def test_a_turn_whose_calls_were_all_the_hosts_names_none_at_its_end() -> None:
    state = turn_state()
    pause = pause_round(state, requested("a"))
    give(pause, one(toolCallId="a", output=1))
    state.close_pause(pause, "left_out", NOW)
    assert final_output(state, None).tool_calls is None


def test_the_results_of_one_round_are_forgotten_with_the_next_reply() -> None:
    state = turn_state()
    pause = pause_round(state, requested("a"))
    state.close_pause(pause, "deadline", NOW)
    state.take_reply(reply(row=3, text="done"), NOW)
    assert (state.unsaved, state.results, state.round, state.rows) == ([], {}, (), 4)


def test_a_reply_that_was_not_stored_takes_no_row() -> None:
    state = turn_state()
    state.take_reply(reply(row=1, stored=False), NOW)
    assert state.rows == 1


def test_the_text_of_all_replies_is_the_text_of_the_turn_and_stays_bounded() -> None:
    state = turn_state()
    state.take_reply(reply(row=1, text="One."), NOW)
    state.take_reply(reply(row=2, text="x" * 20_000), NOW)
    assert final_output(state, None).response_text == "One.\n" + "x" * 8_000
    assert final_output(state, None).text_ref == f"{state.key}/2"
    for row in range(3, 30):
        state.take_reply(reply(row=row, text="y" * 8_000), NOW)
    assert len(state.text) == 64_000


def test_many_large_calls_fit_into_the_final_output_and_the_newest_are_whole() -> None:
    state = turn_state()
    for number in range(200):
        calls = (RequestedCall(id=f"c{number}", name="lookup", arguments={"q": "x" * 7_000}, tool=WORKER),)
        begin_round(state, *calls, row=2 * number + 1)
        ran(state, f"c{number}")
    output = final_output(state, None)
    assert output.tool_calls is not None
    assert (len(output.tool_calls), output.tool_calls[0].arguments) == (200, {})
    assert output.tool_calls[-1].arguments == {"q": "x" * 7_000}
    assert encoded_size(output) < 520_000


@pytest.mark.parametrize(
    "said",
    [
        {"output": "x" * 900_000},
        {"errorDetails": {"code": "E", "message": "x" * 900_000}},
        {"errorDetails": {"code": "E", "message": "m", "stack": ["x" * 400_000] * 2}},
        {"output": {"rows": [{"a": n} for n in range(60_000)]}},
    ],
)
def test_a_huge_answer_reaches_the_model_whole_and_the_record_as_a_preview(said: dict[str, Any]) -> None:
    state = turn_state()
    pause = pause_round(state, requested("a"))
    give(pause, one(toolCallId="a", **said))
    state.close_pause(pause, "left_out", NOW)
    assert encoded_size(state.unsaved[0]) > 600_000
    shown = [chunk for chunk in state.transcript.chunks.page().entries if chunk.type == "tool_result"]
    assert encoded_size(shown[0]) < 10_000


def test_after_the_end_early_answers_nobody_asked_for_show_as_refused() -> None:
    state = turn_state()
    early = state.inbox.judge(one(toolCallId="never", output=1))
    state.inbox.keep(early)  # type: ignore[arg-type]
    state.output = GMIOutput(is_final=True)
    state.end("completed", NOW)
    assert [each.tool_call_id for each in state.inbox.rejected[0].reasons] == ["never"]
    assert (status(state).rejected_answers, status(state).state) == (1, "ready")


def test_an_answer_after_the_end_of_its_pause_is_told_so() -> None:
    state = turn_state()
    pause_round(state, requested("a"), requested("w", "lookup", WORKER))
    state.abandon_round("cancelled", NOW)
    verdict = state.inbox.judge(many({"toolCallId": "a", "output": 1}, {"toolCallId": "w", "output": 1}))
    assert FILL_MESSAGES["cancelled"] in reasons(verdict)["a"]
    assert "run by the worker" in reasons(verdict)["w"]


def test_every_phase_has_a_state_hosts_know() -> None:
    assert set(GMI_STATES) == set(get_args(TurnPhase))
    known = {"initializing", "processing", "awaiting_tool_result", "ready", "errored"}
    assert set(GMI_STATES.values()) <= known


@pytest.mark.parametrize("phase", get_args(TurnPhase))
def test_a_turn_is_over_as_soon_as_it_closes(phase: TurnPhase) -> None:
    state = turn_state()
    state.phase = phase
    assert state.is_over is (phase in OVER) is (phase not in ("starting", "running", "waiting"))


def test_ids_default_to_the_workflows() -> None:
    assert (turn_state().turn_id, turn_state().conversation_id) == ("turn-c1-t1", "turn-c1-t1")
    named = turn_state(conversationId="c1", interactionId="t1")
    assert (named.turn_id, named.conversation_id) == ("t1", "c1")


def test_the_turns_own_deadline_passes_at_its_instant() -> None:
    state = turn_state(limits={"deadline": NOW.isoformat()})
    assert not state.deadline_passed(NOW - timedelta(microseconds=1))
    assert state.deadline_passed(NOW)
    assert not turn_state().deadline_passed(NOW)


def test_no_two_turns_have_one_key() -> None:
    """Whatever slashes stand in conversation, turn and workflow ids."""
    turns = [
        ("a", "b/c", "w"),
        ("a/b", "c", "w"),
        ("a%2Fb", "c", "w"),
        ("x", "a/b/c", "a/b/c"),
        ("x", "a%2Fb/c", "a%2Fb/c"),
    ]

    assert len({turn_key(*turn) for turn in turns}) == len(turns)


def chosen_state(*names: str, describe: Literal["each", "end", "off"] = "each") -> TurnState:
    """A turn whose conversation has chosen functions."""
    state = turn_state()
    state.stack = FunctionStack(SelectionOptions(describe=describe), is_active=True, functions=9)
    state.stack.push([ChosenFunction(name=name) for name in names], "t", 0)
    return state


@pytest.mark.parametrize(
    ("waiting", "called", "describe", "left", "is_time"),
    [
        (["lookup", "book"], "lookup", "each", ("book",), True),
        (["lookup", "book"], "lookup", "end", ("book",), False),
        (["lookup"], "lookup", "end", (), True),
        (["lookup"], "lookup", "off", (), False),
        (["lookup", "lookup"], "lookup", "each", ("lookup",), True),
        # Nothing that was chosen has run, so there is nothing to describe.
        (["book"], "lookup", "each", ("book",), False),
    ],
)
def test_it_is_time_for_words_once_a_chosen_function_has_run(
    waiting: list[str], called: str, describe: Literal["each", "end", "off"], left: tuple[str, ...], is_time: bool
) -> None:
    state = chosen_state(*waiting, describe=describe)
    begin_round(state, requested("c1", called, WORKER), row=1)
    ran(state, "c1")
    assert (state.note_called(), state.stack.names) == (is_time, left)


def test_what_was_called_waits_no_longer_when_the_turn_ends_in_the_middle_of_it() -> None:
    """Neither what ran nor what was given up: the next turn would call it a second time."""
    state = chosen_state("lookup", "book", "pay")
    begin_round(state, requested("c1", "lookup", WORKER), requested("c2", "book"), row=1)
    ran(state, "c1")
    state.abandon_round("superseded", NOW)
    assert state.stack.names == ("pay",)
    # A round that was noted before is not noted again.
    again = chosen_state("lookup", "lookup")
    begin_round(again, requested("c1", "lookup", WORKER), row=1)
    ran(again, "c1")
    again.note_called()
    again.abandon_round("superseded", NOW)
    assert again.stack.names == ("lookup",)
