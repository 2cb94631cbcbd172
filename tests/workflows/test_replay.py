"""Stored histories replay on today's code, and would not on code that changed carelessly.

Each history goes past its pauses: one that ends in a pause does not see a command that was added after its last event.
"""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from activities.conversation import GMIOutput
from worker.build import FAILURES
from worker.converter import data_converter
from worker.runner import TurnRunner
from workflows.gmi import GMIWorkflow
from workflows.names import TURN_WORKFLOW
from workflows.turn import TurnWorkflow

HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))


def replayer(changed: type | None = None) -> Replayer:
    """A replayer with the worker's settings."""
    return Replayer(
        workflows=[changed or TurnWorkflow, GMIWorkflow],
        workflow_runner=TurnRunner(),
        data_converter=data_converter,
        workflow_failure_exception_types=list(FAILURES),
    )


def stored(path: Path) -> WorkflowHistory:
    """The history under the id it was recorded with: an instance's has to fit its input."""
    text = path.read_text()
    started = json.loads(text)["events"][0]["workflowExecutionStartedEventAttributes"]
    return WorkflowHistory.from_json(started["workflowId"], text)


def test_every_kind_of_turn_is_recorded() -> None:
    """Those that a deploy could break differently."""
    kinds = {path.stem for path in HISTORIES}

    assert {"completed", "two_pauses", "filled", "deadline", "cancelled", "retried_model", "worker_restarted"} <= kinds
    assert {"instance", "instance_continued", "output_parts"} <= kinds


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_stored_history_replays(path: Path) -> None:
    """Today's code issues the very commands that stand there."""
    history = stored(path)

    result = await replayer().replay_workflow(history, raise_on_replay_failure=False)

    assert result.replay_failure is None


@workflow.defn(name=TURN_WORKFLOW, sandboxed=False)
class CarelesslyChanged(TurnWorkflow):
    """A later version that does one more thing before the model is asked, without a patch."""

    @workflow.init
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)

    @workflow.run
    async def run(self, *arguments: Any) -> GMIOutput:
        """As before, and one more activity first."""
        await workflow.execute_activity("warm_up", start_to_close_timeout=timedelta(seconds=5))
        return await super().run(*arguments)


@pytest.mark.parametrize("name", ["completed", "two_pauses", "cancelled"])
async def test_a_careless_change_is_caught(name: str) -> None:
    """The check can fail."""
    history = stored(HISTORIES[0].parent / f"{name}.json")

    result = await replayer(CarelesslyChanged).replay_workflow(history, raise_on_replay_failure=False)

    assert isinstance(result.replay_failure, workflow.NondeterminismError)
