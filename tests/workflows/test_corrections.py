"""How often the model may correct a call, and what of a person's part is kept for the correction."""

from typing import Any

from activities.contracts import RequestedCall, ToolFacts
from tests.workflows.strategies import requested
from workflows.corrections import Corrections
from workflows.rounds import Refuse, Run, Wait, judge_call

TWICE = ToolFacts(kind="worker", corrections=2)
NEVER = ToolFacts(kind="worker", correctable=False)
ALWAYS = ToolFacts(kind="worker")
ASKING = ToolFacts(kind="worker", human_schema={"type": "object"})


def call(tool: ToolFacts, name: str = "send", **arguments: Any) -> RequestedCall:
    return requested("a", name, tool).model_copy(update={"arguments": arguments})


def failures(tool: ToolFacts, times: int) -> Corrections:
    corrections = Corrections()
    for attempt in range(times):
        corrections.note(call(tool, n=attempt), None, correctable=True)
    return corrections


def test_a_function_is_refused_once_its_corrections_are_used_up() -> None:
    assert failures(TWICE, 2).refusal(call(TWICE)) is None
    refusal = failures(TWICE, 3).refusal(call(TWICE))
    assert refusal is not None
    assert (refusal.code, "called 3 times" in refusal.message) == ("TOOL_CALL_REJECTED", True)
    assert isinstance(judge_call(call(TWICE), None, failures(TWICE, 3)), Refuse)


def test_one_that_may_not_be_corrected_has_one_call() -> None:
    assert failures(NEVER, 0).refusal(call(NEVER)) is None
    assert failures(NEVER, 1).refusal(call(NEVER)) is not None


def test_no_more_run_at_once_than_may_still_fail() -> None:
    corrections = failures(TWICE, 1)
    with corrections.running(call(TWICE)):
        assert corrections.has_room(call(TWICE))
        with corrections.running(call(TWICE)):
            assert not corrections.has_room(call(TWICE))
            assert corrections.has_room(call(TWICE, "other"))
            assert corrections.refusal(call(TWICE)) is None
        corrections.note(call(TWICE), None, correctable=False)
        assert corrections.has_room(call(TWICE))
    assert not failures(TWICE, 3).has_room(call(TWICE))
    assert failures(ALWAYS, 50).has_room(call(ALWAYS))
    never = Corrections()
    with never.running(call(NEVER)):
        assert not never.has_room(call(NEVER))


def test_without_a_bound_it_may_be_corrected_as_often_as_the_turn_allows() -> None:
    corrections = failures(ALWAYS, 50)
    assert corrections.refusal(call(ALWAYS)) is None
    assert corrections.awaits("send")


def test_a_call_of_a_tool_of_which_nothing_is_known_may_be_corrected() -> None:
    unknown = requested("a", "send", None)
    corrections = Corrections()
    corrections.note(unknown, None, correctable=True)
    assert corrections.refusal(unknown) is None
    assert corrections.awaits("send")


def test_other_functions_and_successes_do_not_count() -> None:
    corrections = failures(TWICE, 2)
    corrections.note(call(TWICE), None, correctable=False)
    corrections.note(call(TWICE), None, correctable=True)
    assert corrections.refusal(call(TWICE)) is None
    assert failures(TWICE, 3).refusal(call(TWICE, "other")) is None
    assert not failures(TWICE, 3).awaits("send")
    assert not corrections.awaits("other")


def test_a_persons_part_is_kept_for_the_correction_and_asked_again_for_anything_else() -> None:
    corrections = Corrections()
    assert judge_call(call(ASKING, n=1), None, corrections) == Wait(ASKING, "human")
    corrections.note(call(ASKING, n=1), {"code": "1234"}, correctable=True)
    assert judge_call(call(ASKING, n=2), None, corrections) == Run(ASKING, {"code": "1234"})
    # The model has nothing to correct: the part itself must have been wrong.
    assert judge_call(call(ASKING, n=1), None, corrections) == Wait(ASKING, "human")
    corrections.note(call(ASKING, n=2), {"code": "1234"}, correctable=False)
    assert judge_call(call(ASKING, n=3), None, corrections) == Wait(ASKING, "human")


def test_an_approval_is_asked_for_each_correction() -> None:
    guarded = ASKING.model_copy(update={"needs_approval": True})
    corrections = Corrections()
    corrections.note(call(guarded, n=1), "x", correctable=True)
    assert judge_call(call(guarded, n=2), None, corrections) == Wait(guarded, "approval", human="x")
