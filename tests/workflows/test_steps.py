"""Steps of a turn are measured before they are scheduled."""

import pytest
from temporalio.exceptions import ApplicationError

from activities.contracts import ToolRun
from activities.errors import PAYLOAD_TOO_LARGE
from workflows.steps import MAX_PAYLOAD_BYTES, measured


def run_of(size: int) -> ToolRun:
    return ToolRun(
        turn_id="t", conversation_id="c", call_id="c1", name="f", row=2, call_row=1, arguments={"text": "x" * size}
    )


def test_a_step_that_the_server_would_not_take_fails_the_turn_with_its_size() -> None:
    """Scheduled, it would fail its workflow task for ever."""
    assert measured(run_of(MAX_PAYLOAD_BYTES - 1_000)).row == 2
    with pytest.raises(ApplicationError, match="more than 1,500,000") as refused:
        measured(run_of(MAX_PAYLOAD_BYTES))
    assert (refused.value.type, refused.value.non_retryable) == (PAYLOAD_TOO_LARGE, True)
