"""Hostile and mistaken messages by the real CLI: each gets a clear answer, nothing is lost, the turn stays alive."""

import json
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload, Payloads, WorkflowExecution, WorkflowType
from temporalio.api.enums.v1 import UpdateWorkflowExecutionLifecycleStage
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.update.v1 import Input, Meta, Request, WaitPolicy
from temporalio.api.workflowservice.v1 import (
    SignalWorkflowExecutionRequest,
    StartWorkflowExecutionRequest,
    UpdateWorkflowExecutionRequest,
)
from temporalio.client import WorkflowExecutionStatus

from activities.errors import SYS_VALIDATION_ERROR
from tests.cli import run_cli
from tests.support import Harness, event_types, events_of, external, until
from worker.client import Turn
from workflows.names import TURN_WORKFLOW

HOSTILE = {
    "NaN": b'{"results": [{"toolCallId": "ID", "output": NaN}]}',
    "a lone surrogate": b'{"results": [{"toolCallId": "ID", "output": "\\ud800"}]}',
    "300 levels": b'{"results": [{"toolCallId": "ID", "output": ' + b"[" * 300 + b"]" * 300 + b"}]}",
    "150 levels": b'{"results": [{"toolCallId": "ID", "output": ' + b"[" * 150 + b"]" * 150 + b"}]}",
    "a 5,000-digit integer": b'{"results": [{"toolCallId": "ID", "output": ' + b"1" * 5000 + b"}]}",
    "no JSON": b"\xff\xfe not json",
    "nothing": b"",
}
# Arguments of a message, and what its refusal says.
SHAPES: dict[str, tuple[list[Any], str]] = {
    "no argument": ([], "exactly one argument"),
    "two arguments": ([{"results": []}, {}], "exactly one argument, 2 came"),
    "three arguments": ([1, 2, 3], "exactly one argument, 3 came"),
    "a number": ([5], "is a number"),
    "null": ([None], "is a null"),
    "a list": ([["a"]], "is a list"),
    "text": (["approve"], "is a text"),
    "no results": ([{}], "`results` is missing"),
    "results a text": ([{"results": "yes"}], "not a list"),
    "results of numbers": ([{"results": [1, None]}], "results[0] is a number"),
    "an unknown call": ([{"results": [{"toolCallId": "nosuchid1", "output": 1}]}], "no call of this pause"),
    "a bad partial": ([{"results": [{"toolCallId": "ID", "output": 1}], "partial": "maybe"}], "`partial` must be"),
}


async def waiting(harness: Harness) -> tuple[Turn, str]:
    """A turn that waits for one call, and its id."""
    harness.model.call([("book", {})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Go", externalTools=[external("book")])
    stop = await harness.pause(turn)
    return turn, (stop.tool_calls or ())[0].id


async def still_completes(harness: Harness, turn: Turn, call_id: str) -> None:
    """The turn is alive: the right answer ends it, and no workflow task failed."""
    await turn.signal([{"toolCallId": call_id, "output": "ok"}])
    assert (await turn.result()).response_text == "Done."
    assert "WORKFLOW_TASK_FAILED" not in event_types(await events_of(turn.handle))
    assert harness.model.requests[-1]["messages"][-1]["content"] == "ok"


def payloads(*data: bytes) -> Payloads:
    """Raw payloads that claim to be JSON."""
    return Payloads(payloads=[Payload(metadata={"encoding": b"json/plain"}, data=each) for each in data])


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_signal_of_wrong_shape_is_recorded(harness: Harness, shape: str) -> None:
    """Refused with a reason that a query shows."""
    await harness.work()
    turn, call_id = await waiting(harness)
    arguments, reason = json.loads(json.dumps(SHAPES[shape]).replace("ID", call_id))
    inputs = [part for argument in arguments for part in ("--input", json.dumps(argument))]

    sent = await run_cli(harness.server, "workflow", "signal", "-w", turn.id, "--name", "handle_tool_results", *inputs)
    assert sent.code == 0, sent.err
    rejected = await until(turn.rejected_answers)

    assert rejected[0].channel == "signal"
    assert reason in rejected[0].reasons[0].reason
    await still_completes(harness, turn, call_id)


@pytest.mark.parametrize("shape", SHAPES)
async def test_an_update_of_wrong_shape_is_refused_at_no_cost(harness: Harness, shape: str) -> None:
    """The CLI prints why, and no event enters the history."""
    await harness.work()
    turn, call_id = await waiting(harness)
    arguments, reason = json.loads(json.dumps(SHAPES[shape]).replace("ID", call_id))
    inputs = [part for argument in arguments for part in ("--input", json.dumps(argument))]
    before = len(await events_of(turn.handle))

    sent = await run_cli(
        harness.server, "workflow", "update", "execute", "-w", turn.id, "--name", "handle_tool_results", *inputs
    )

    assert sent.code != 0
    assert reason in sent.err
    assert len(await events_of(turn.handle)) == before
    await still_completes(harness, turn, call_id)


@pytest.mark.parametrize("kind", HOSTILE)
async def test_hostile_bytes_by_signal_are_recorded(harness: Harness, kind: str) -> None:
    """What cannot be decoded reaches the handler as a reason, not as an error."""
    await harness.work()
    turn, call_id = await waiting(harness)
    await harness.client.workflow_service.signal_workflow_execution(
        SignalWorkflowExecutionRequest(
            namespace="default",
            workflow_execution=WorkflowExecution(workflow_id=turn.id),
            signal_name="handle_tool_results",
            input=payloads(HOSTILE[kind].replace(b"ID", call_id.encode())),
        )
    )

    (rejected,) = await until(turn.rejected_answers)
    assert rejected.reasons[0].reason
    await still_completes(harness, turn, call_id)


@pytest.mark.parametrize("kind", HOSTILE)
async def test_hostile_bytes_by_update_are_refused(harness: Harness, kind: str) -> None:
    """The validator says why."""
    await harness.work()
    turn, call_id = await waiting(harness)
    response = await harness.client.workflow_service.update_workflow_execution(
        UpdateWorkflowExecutionRequest(
            namespace="default",
            workflow_execution=WorkflowExecution(workflow_id=turn.id),
            wait_policy=WaitPolicy(
                lifecycle_stage=UpdateWorkflowExecutionLifecycleStage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED
            ),
            request=Request(
                meta=Meta(update_id="hostile", identity="test"),
                input=Input(name="handle_tool_results", args=payloads(HOSTILE[kind].replace(b"ID", call_id.encode()))),
            ),
        )
    )

    assert response.outcome.failure.application_failure_info.type == SYS_VALIDATION_ERROR
    assert response.outcome.failure.message
    await still_completes(harness, turn, call_id)


@pytest.mark.parametrize("kind", [*HOSTILE, "two arguments", "none"])
async def test_hostile_bytes_at_start_fail_the_turn_at_once(harness: Harness, kind: str) -> None:
    """A start nobody can read is a failed turn, not a looping task."""
    await harness.work()
    data = {"two arguments": payloads(b'"a"', b'"b"'), "none": payloads()}.get(kind) or payloads(
        HOSTILE[kind].replace(b'{"results"', b'{"content"')
    )
    workflow_id = f"hostile-{harness.task_queue}"
    await harness.client.workflow_service.start_workflow_execution(
        StartWorkflowExecutionRequest(
            namespace="default",
            workflow_id=workflow_id,
            workflow_type=WorkflowType(name=TURN_WORKFLOW),
            task_queue=TaskQueue(name=harness.task_queue),
            input=data,
            request_id=workflow_id,
        )
    )

    turn = harness.turns.of(workflow_id)

    async def status() -> Any:
        return (await turn.handle.describe()).status is WorkflowExecutionStatus.FAILED

    await until(status)
    assert event_types(await events_of(turn.handle))[-1] == "WORKFLOW_EXECUTION_FAILED"


@pytest.mark.parametrize(
    ("start", "named"),
    [
        (5, "number"),
        ("", "content"),
        ({}, "content"),
        ({"content": "x", "contnet": "y"}, "contnet"),
        ({"content": 7}, "content"),
        ({"content": "x", "externalTools": [{"name": "bad name"}]}, "externalTools.0.name"),
        ({"content": "x", "limits": {"maxToolRounds": 0}}, "limits.maxToolRounds"),
        ({"content": "x", "limits": {"deadline": "2030-01-01T00:00:00"}}, "time zone"),
        ({"content": "x", "pause": {"timeout": "soon"}}, "pause.timeout"),
        ({"content": "x", "type": "tool_response"}, "tool_response"),
        ({"content": "x", "personaId": "nobody"}, "nobody"),
        ({"content": "x", "options": {"userApiKeys": ["sk-live-0123456789"]}}, "userApiKeys"),
        ({"content": "x", "options": {"userApiKeys": ["NOT_THERE"]}}, "userApiKeys"),
        ({"content": "x", "limits": {"maxCostUSD": 1}}, "maxCostUSD"),
        ({"content": "x", "externalTools": [{"name": "search_memory"}]}, "search_memory"),
        ({"content": "x", "options": {"toolChoice": {"type": "function", "function": {"name": "nobody"}}}}, "nobody"),
        ({"content": "x", "historyRef": "nowhere"}, "historyRef"),
        ({"content": "x", "externalTools": [{"name": "a", "inputSchema": {"type": "strange"}}]}, "inputSchema"),
    ],
)
async def test_a_wrong_start_fails_at_once_and_names_the_field(harness: Harness, start: Any, named: str) -> None:
    """By the CLI, as people start turns."""
    await harness.work()
    workflow_id = f"wrong-{harness.task_queue}"
    started = await run_cli(
        harness.server,
        *("workflow", "start", "--type", TURN_WORKFLOW, "--task-queue", harness.task_queue),
        *("--workflow-id", workflow_id, "--input", json.dumps(start)),
    )
    assert started.code == 0, started.err
    result = await run_cli(harness.server, "workflow", "result", "-w", workflow_id, "-o", "json")

    failure = result.json["closeEvent"]["workflowExecutionFailedEventAttributes"]["failure"]
    assert result.code != 0
    assert named in failure["message"]
    assert "sk-live" not in failure["message"]
    assert failure["applicationFailureInfo"]["type"] in (SYS_VALIDATION_ERROR, "GMI_PERSONA_NOT_FOUND")


async def test_an_unknown_signal_is_recorded(harness: Harness) -> None:
    """A typing mistake in a name shows in the rejected answers."""
    await harness.work()
    turn, call_id = await waiting(harness)
    await run_cli(harness.server, "workflow", "signal", "-w", turn.id, "--name", "aprove", "--input", '"x"')

    (rejected,) = await until(turn.rejected_answers)
    assert (rejected.channel, "aprove" in rejected.reasons[0].reason) == ("unknown", True)
    await still_completes(harness, turn, call_id)


async def test_a_too_large_result_is_refused_by_both_ways(harness: Harness, tmp_path: Path) -> None:
    """By signal by the server, by update by the validator with its reason, at once and at no cost.

    Over 2 MiB the server does not carry even a refusal, so the words are its own; the turn is as unharmed.
    """
    await harness.work()
    turn, call_id = await waiting(harness)
    before = len(await events_of(turn.handle))
    answer = tmp_path / "answer.json"
    name = ("-w", turn.id, "--name", "handle_tool_results", "--input-file", str(answer))

    answer.write_text(json.dumps({"results": [{"toolCallId": call_id, "output": "x" * 1_900_000}]}))
    refused = await run_cli(harness.server, "workflow", "update", "execute", *name, timeout=10)
    answer.write_text(json.dumps({"results": [{"toolCallId": call_id, "output": "x" * 3_000_000}]}))
    aborted = await run_cli(harness.server, "workflow", "update", "execute", *name, timeout=10)
    signalled = await run_cli(harness.server, "workflow", "signal", *name, timeout=10)

    assert "more than 1,000,000" in refused.err
    assert (aborted.code, signalled.code) == (1, 1)
    assert "size" in signalled.err
    assert len(await events_of(turn.handle)) == before
    await still_completes(harness, turn, call_id)


async def test_a_large_result_crosses_without_growing_the_history_twice(harness: Harness) -> None:
    """900 KB by signal: once in its own event, and whole in the model's request."""
    await harness.work()
    turn, call_id = await waiting(harness)
    await turn.signal([{"toolCallId": call_id, "output": "x" * 900_000}])
    await turn.result()

    description = await turn.handle.describe()
    assert description.raw_description.workflow_execution_info.history_size_bytes < 1_100_000
    assert harness.model.requests[-1]["messages"][-1]["content"].startswith("x" * 10_000)


async def test_a_second_start_with_a_used_id_is_refused(harness: Harness) -> None:
    """Running or finished: the message is not taken in silence."""
    await harness.work()
    turn, call_id = await waiting(harness)
    again = [
        *("workflow", "start", "--type", TURN_WORKFLOW, "--task-queue", harness.task_queue, "-w", turn.id),
        *("--id-reuse-policy", "RejectDuplicate", "--fail-existing", "--input", '"again"'),
    ]

    while_running = await run_cli(harness.server, *again)
    await still_completes(harness, turn, call_id)
    after_the_end = await run_cli(harness.server, *again)

    assert while_running.code != 0
    assert after_the_end.code != 0


async def test_an_answer_with_quotes_newlines_and_many_scripts_arrives_unchanged(
    harness: Harness, tmp_path: Path
) -> None:
    """By file, as a shell would mangle it."""
    await harness.work()
    turn, call_id = await waiting(harness)
    text = "it's 5\" $HOME `x`\n日本語 שלום é 👩‍👩‍👧 \u0000 end"
    answer = tmp_path / "answer.json"
    answer.write_text(json.dumps({"results": [{"toolCallId": call_id, "output": text}]}), "utf-8")
    sent = await run_cli(
        harness.server,
        *("workflow", "signal", "-w", turn.id, "--name", "handle_tool_results", "--input-file", str(answer)),
    )
    assert sent.code == 0, sent.err
    await turn.result()

    assert harness.model.requests[-1]["messages"][-1]["content"] == text
