"""Which calls are open, and what a filled one says."""

from activities.store.open_calls import not_run, open_calls
from tests.activities.store.values import calls, said


def test_call_without_a_row_at_its_place_is_open() -> None:
    assistants = {1: calls("k1", "k2"), 4: calls("k3"), 6: said("done"), 7: calls("k4", "k5")}

    assert [(row, call.id) for row, call in open_calls(assistants, {2, 5, 8})] == [(3, "k2"), (9, "k5")]


def test_everything_answered_leaves_nothing_open() -> None:
    assert list(open_calls({1: calls("k1")}, {2})) == []
    assert list(open_calls({}, set())) == []


def test_filled_call_says_why() -> None:
    ((row, filled),) = not_run(open_calls({1: calls("k1")}, set()), "deadline passed")

    assert row == 2
    assert (filled.tool_call_id, filled.tool_name, filled.is_error) == ("k1", "look", True)
    assert filled.output == {"code": "EXTERNAL_TOOL_NOT_RUN", "message": "deadline passed"}
    assert filled.error_details == filled.output
