"""Every answer of a turn ends somewhere visible: used, kept for its call, or refused with a reason."""

import time
from copy import deepcopy
from typing import Any

from activities.conversation import ErrorDetails
from activities.json_values import encoded_size
from tests.workflows.strategies import NOW, approval, many, one, pause_of, reasons, waiting
from workflows.answers import Answer, Refusal, refused
from workflows.contracts import ItemReason
from workflows.inbox import MAX_EARLY, MAX_REJECTED_KEPT, Early, Inbox
from workflows.pause import FILL_MESSAGES, Accepted, Pause


def opened(*calls: Any, worker: set[str] | None = None) -> tuple[Inbox, Pause]:
    inbox, pause = Inbox("ada"), pause_of(*calls)
    inbox.open(pause, worker or set())
    return inbox, pause


def keep(inbox: Inbox, answer: Answer) -> None:
    verdict = inbox.judge(answer)
    assert isinstance(verdict, Early), verdict
    inbox.keep(verdict)


def test_the_open_pause_judges() -> None:
    inbox, pause = opened(waiting("a"))
    verdict = inbox.judge(one(toolCallId="a", output=1))
    assert isinstance(verdict, Accepted)
    assert verdict == pause.judge(one(toolCallId="a", output=1))
    assert "is no call of this pause" in reasons(inbox.judge(one(toolCallId="zz", output=1)))["zz"]


def test_another_users_answer_is_refused_whatever_it_answers() -> None:
    inbox, _ = opened(waiting("a"))
    early = Inbox("ada")
    for judge in (inbox.judge, early.judge):
        verdict = judge(many({"toolCallId": "a", "output": 1}, {"toolCallId": "b", "output": 1}, userId="eve"))
        assert set(reasons(verdict)) == {"a", "b"}
        assert "another user" in reasons(verdict)["a"]
    assert isinstance(inbox.judge(one(toolCallId="a", output=1, userId="ada")), Accepted)


def test_a_call_the_worker_runs_is_refused_without_harm() -> None:
    inbox, pause = opened(waiting("b"), worker={"a"})
    verdict = inbox.judge(many({"toolCallId": "a", "output": 1}, {"toolCallId": "b", "output": 2}))
    assert reasons(verdict)["a"] == "is run by the worker; leave it out"
    assert not pause.is_settled


def test_a_call_the_worker_ran_in_an_earlier_round_is_refused_as_well() -> None:
    inbox, _ = opened(waiting("a"), worker={"w"})
    inbox.close()
    inbox.open(pause_of(waiting("b")), {"v"})
    for call_id in ("w", "v"):
        assert "run by the worker" in reasons(inbox.judge(one(toolCallId=call_id, output=1)))[call_id]


def test_an_answer_to_a_pause_that_is_over_is_told_how_it_ended() -> None:
    inbox, pause = opened(waiting("a"), waiting("b"))
    pause.take(pause.judge(one(toolCallId="a", output=1)))  # type: ignore[arg-type]
    pause.fill("deadline")
    inbox.close()
    assert FILL_MESSAGES["deadline"] in reasons(inbox.judge(one(toolCallId="b", output=1)))["b"]
    assert "already answered" in reasons(inbox.judge(one(toolCallId="a", output=2)))["a"]
    repeat = inbox.judge(one(toolCallId="a", output=1))
    assert isinstance(repeat, Accepted)
    assert (repeat.new, [item.call_id for item in repeat.repeated]) == ((), ["a"])


def test_a_late_answer_is_never_used_for_the_next_call_of_the_same_tool() -> None:
    inbox, pause = opened(waiting("c1", "book"))
    pause.fill("deadline")
    inbox.close()
    later = pause_of(waiting("c2", "book"))
    inbox.open(later, set())
    assert FILL_MESSAGES["deadline"] in reasons(inbox.judge(many({"toolCallId": "c1", "output": "yes"})))["c1"]
    assert [call.id for call in later.open_calls] == ["c2"]


def test_a_repeat_beside_a_new_result_is_accepted_across_pauses() -> None:
    inbox, pause = opened(waiting("a"))
    pause.take(pause.judge(one(toolCallId="a", output=1)))  # type: ignore[arg-type]
    inbox.close()
    inbox.open(pause_of(waiting("b")), set())
    verdict = inbox.judge(many({"toolCallId": "a", "output": 1}, {"toolCallId": "b", "output": 2}))
    assert isinstance(verdict, Accepted)
    assert ([item.call_id for item in verdict.new], [item.call_id for item in verdict.repeated]) == (["b"], ["a"])
    conflict = inbox.judge(many({"toolCallId": "a", "output": 9}, {"toolCallId": "b", "output": 2}))
    assert "already answered" in reasons(conflict)["a"]


def test_an_early_answer_is_kept_and_found_by_its_call() -> None:
    inbox = Inbox("ada")
    keep(inbox, one(toolCallId="a", output=1))
    assert inbox.matching_early() == []
    pause = pause_of(waiting("b"))
    inbox.open(pause, set())
    assert inbox.matching_early() == []
    inbox.close()
    inbox.open(pause_of(waiting("a")), set())
    assert [item.call_id for answer in inbox.matching_early() for item in answer.items] == ["a"]
    assert inbox.matching_early() == []
    assert inbox.early == []


def test_a_partly_matching_early_answer_leaves_its_rest_in_the_box() -> None:
    inbox = Inbox("ada")
    keep(inbox, many({"toolCallId": "a", "output": 1}, {"toolCallId": "later", "output": 2}, partial="wait"))
    inbox.open(pause_of(waiting("a")), set())
    assert [[item.call_id for item in answer.items] for answer in inbox.matching_early()] == [["a"]]
    assert [[item.call_id for item in answer.items] for answer in inbox.early] == [["later"]]


def test_early_answers_are_used_in_the_order_they_came() -> None:
    inbox = Inbox("ada")
    keep(inbox, one(toolCallId="a", output="first"))
    keep(inbox, one(toolCallId="a", output="second"))
    pause = pause_of(waiting("a"))
    inbox.open(pause, set())
    first, second = inbox.matching_early()
    verdict = inbox.judge(first)
    assert isinstance(verdict, Accepted)
    pause.take(verdict)
    assert "already answered" in reasons(inbox.judge(second))["a"]
    assert pause.results()[0].output == "first"


def test_early_answers_are_given_as_they_came() -> None:
    """Whether one fills the rest is for the turn to do, once all of them are taken."""
    inbox = Inbox("ada")
    keep(inbox, many({"toolCallId": "a", "output": 1}))
    keep(inbox, one(toolCallId="b", output=2))
    inbox.open(pause_of(waiting("a"), waiting("b"), waiting("c")), set())
    assert [answer.partial for answer in inbox.matching_early()] == ["fill", "wait"]


def test_early_answers_that_wait_make_nothing_fill() -> None:
    inbox = Inbox("ada")
    keep(inbox, one(toolCallId="a", output=1))
    keep(inbox, one(toolCallId="b", output=2))
    inbox.open(pause_of(waiting("a"), waiting("b")), set())
    assert [answer.partial for answer in inbox.matching_early()] == ["wait", "wait"]


def test_the_box_of_early_answers_is_bounded_by_results() -> None:
    inbox = Inbox("ada")
    keep(inbox, many(*({"toolCallId": f"c{n}", "output": n} for n in range(MAX_EARLY - 1))))
    keep(inbox, one(toolCallId="last", output=1))
    refusal = inbox.judge(one(toolCallId="too many", output=1))
    assert "64 early results are kept" in reasons(refusal)["too many"]
    assert isinstance(inbox.judge(many({"toolCallId": "last", "output": 1})), Early)
    whole = Inbox("ada").judge(many(*({"toolCallId": f"c{n}", "output": n} for n in range(MAX_EARLY + 1))))
    assert "64 early results" in reasons(whole)["c0"]


def test_the_same_early_result_again_is_kept_once_however_it_is_wrapped() -> None:
    inbox = Inbox("ada")
    for n in range(100):
        keep(inbox, one(toolCallId="a", output=1, options={"maxTokens": n + 1}))
        keep(inbox, many({"toolCallId": "a", "output": 1}))
    assert [[item.call_id for item in answer.items] for answer in inbox.early] == [["a"]]


def test_an_unused_early_answer_is_refused_at_the_end_and_shown() -> None:
    inbox = Inbox("ada")
    keep(inbox, many({"toolCallId": "x", "output": 1}, {"toolCallId": "y", "output": 2}))
    inbox.reject_unused(NOW)
    inbox.reject_unused(NOW)
    [shown] = inbox.rejected
    assert (shown.channel, shown.at, inbox.rejected_count) == ("early", NOW, 1)
    assert [each.tool_call_id for each in shown.reasons] == ["x", "y"]
    assert "never made" in shown.reasons[0].reason


def test_only_the_newest_refusals_are_kept_and_all_are_counted() -> None:
    inbox = Inbox("ada")
    for n in range(MAX_REJECTED_KEPT + 7):
        inbox.reject(refused(f"reason {n}"), "signal", NOW)
    assert (len(inbox.rejected), inbox.rejected_count) == (MAX_REJECTED_KEPT, MAX_REJECTED_KEPT + 7)
    assert inbox.rejected[0].reasons[0].reason == "reason 7"


def test_refusals_kept_from_a_stranger_fit_into_one_query() -> None:
    inbox = Inbox("ada")
    wide = Refusal(tuple(ItemReason(tool_call_id="c" * 200, reason="日" * 900_000) for _ in range(1_000)))
    for _ in range(20):
        inbox.reject(wide, "early", NOW)
    inbox.reject(refused("x" * 900_000), "signal", NOW)
    assert encoded_size(list(inbox.rejected)) <= 256_000
    assert (inbox.rejected[-1].channel, inbox.rejected_count) == ("signal", 21)


def test_a_flood_of_refused_answers_takes_a_small_part_of_a_workflow_task() -> None:
    """Signals that came while no worker was up are all handled in one task, which may take two seconds."""
    inbox, _ = opened(*(waiting(f"c{n}") for n in range(200)))
    answers = [one(toolCallId=f"stranger{n}", output=1) for n in range(3_000)]
    started = time.process_time()
    for answer in answers:
        verdict = inbox.judge(answer)
        assert isinstance(verdict, Refusal)
        inbox.reject(verdict, "signal", NOW)
    assert time.process_time() - started < 2
    assert inbox.rejected_count == 3_000


def test_a_refusal_names_the_calls_that_wait_but_not_hundreds() -> None:
    inbox, _ = opened(*(waiting(f"c{n}") for n in range(200)))
    [reason] = reasons(inbox.judge(one(toolCallId="stranger", output=1))).values()
    assert "c0 (" in reason
    assert "180 more" in reason
    assert len(reason) < 600


def test_a_refusal_has_a_reason_for_every_result_also_for_those_in_order() -> None:
    inbox, _ = opened(waiting("a"), waiting("b"))
    told = reasons(inbox.judge(many({"toolCallId": "a", "output": 1}, {"toolCallId": "q", "output": 1})))
    assert "is no call of this pause" in told["q"]
    assert "whole or not at all" in told["a"]


def test_judging_changes_nothing() -> None:
    inbox, pause = opened(waiting("a", output_schema={"type": "integer"}), approval("p"), worker={"w"})
    keep_me = Inbox("ada", early=[one(toolCallId="a", output=1)])
    answers = [
        one(toolCallId="a", output=1),
        one(toolCallId="a", output="breaks the schema"),
        one(toolCallId="p", decision="approve"),
        many({"toolCallId": "a", "output": 1}, {"toolCallId": "w", "output": 1}),
        one(toolCallId="zz", output=1),
        one(toolCallId="a", output=1, userId="eve"),
    ]
    before = deepcopy((inbox, pause, keep_me))
    for answer in answers:
        inbox.judge(answer)
        keep_me.judge(answer)
    assert (inbox, pause, keep_me) == before


def test_a_host_error_can_come_early_too() -> None:
    inbox = Inbox("ada")
    keep(inbox, one(toolCallId="a", errorDetails={"code": "E", "message": "m"}))
    inbox.open(pause_of(waiting("a")), set())
    [answer] = inbox.matching_early()
    assert answer.items[0].resolution.error == ErrorDetails(code="E", message="m")  # type: ignore[union-attr]
