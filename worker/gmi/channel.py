"""One instance's workflow, asked by updates and queries. What it refuses arrives as a `GMIError`."""

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio.client import (
    Client,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from activities.errors import GMI_PROCESSING_ERROR, SYS_NOT_INITIALIZED, SYS_VALIDATION_ERROR
from activities.json_values import encoded_size, json_fault
from worker.client import NoWorker
from worker.gmi.errors import GMIError, error_of
from worker.pollers import has_worker
from workflows.gmi_refusal import MAX_MESSAGE_BYTES
from workflows.names import GMI_WORKFLOW, SUMMARY_CHARS

ASK, ASKS = timedelta(seconds=10), 6
SILENT = (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)
ANSWER_SECONDS = 75.0
SEND_AGAIN = 0.1
# The run was just closing, or more updates wait at it than the server lets.
NOT_NOW = (RPCStatusCode.FAILED_PRECONDITION, RPCStatusCode.RESOURCE_EXHAUSTED)


@dataclass(frozen=True, slots=True)
class Channel:
    """The way to one instance. May be made in any process that knows its id."""

    client: Client
    workflow_id: str
    task_queue: str

    @property
    def handle(self) -> WorkflowHandle[Any, Any]:
        """The instance, whichever of its runs is the present one."""
        return self.client.get_workflow_handle(self.workflow_id)

    async def start(self, body: Mapping[str, Any]) -> None:
        """Start the instance; one that runs already is left alone."""
        _check(body)
        try:
            await self.client.start_workflow(
                GMI_WORKFLOW,
                dict(body),
                id=self.workflow_id,
                task_queue=self.task_queue,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                static_summary=f"agent instance {self.workflow_id}"[:SUMMARY_CHARS],
            )
        except WorkflowAlreadyStartedError:
            return

    async def update(self, name: str, body: Any = None, *, seconds: float = ANSWER_SECONDS) -> Any:
        """What the member answers.

        Raises:
            GMIError: it refused; SYS_NOT_INITIALIZED when there is no such instance, or none any more.
            NoWorker: nobody runs it; whatever was asked has not been done.
        """
        _check(body)
        arguments = () if body is None else (body,)
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self._delivered(name, arguments)
        except WorkflowUpdateFailedError as refusal:
            raise await self._explained(error_of(refusal)) from refusal
        except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError) as late:
            if not limit.expired():
                raise asyncio.CancelledError from late
            await self._explain_silence()
            raise GMIError(GMI_PROCESSING_ERROR, f"{name} was not answered within {seconds:g} seconds") from late
        except RPCError as fault:
            raise await self._gone(fault) from fault

    async def _delivered(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """The update's answer. One that was lost on its way, or that the server does not take now, is sent again under its id:
        a run takes it once."""
        update_id = uuid.uuid4().hex
        while True:
            try:
                return await self.handle.execute_update(name, args=arguments, id=update_id)
            except WorkflowUpdateRPCTimeoutOrCancelledError as cut:
                # Without such a cause it is the caller who does not wait any longer.
                if not isinstance(cut.__cause__, RPCError):
                    raise
            except RPCError as fault:
                if fault.status not in NOT_NOW:
                    raise
            await asyncio.sleep(SEND_AGAIN)

    async def query(self, name: str, *arguments: Any) -> Any:
        """What the instance says of itself, also once it is shut down. A worker that is busy or just starting is asked again.

        Raises:
            GMIError, NoWorker: as for `update`.
        """
        asked = 0
        while True:
            asked += 1
            try:
                return await self.handle.query(name, args=arguments, rpc_timeout=ASK)
            except WorkflowQueryFailedError as fault:
                raise GMIError(SYS_VALIDATION_ERROR, str(fault)) from fault
            except RPCError as fault:
                if fault.status in SILENT:
                    await self._explain_silence()
                if fault.status not in SILENT or asked == ASKS:
                    raise await self._gone(fault) from fault

    async def _explained(self, error: GMIError) -> GMIError:
        """The server's own words for an instance that ended meanwhile are ours for one that is not there."""
        if error.code in ("AcceptedUpdateCompletedWorkflow",):
            return await self._ending()
        return error

    async def _gone(self, fault: RPCError) -> GMIError:
        if fault.status != RPCStatusCode.NOT_FOUND:
            return GMIError(GMI_PROCESSING_ERROR, f"Temporal answers {fault.status.name}: {fault.message}")
        return await self._ending()

    async def _ending(self) -> GMIError:
        try:
            async with asyncio.timeout(ASK.total_seconds()):
                await self.handle.result()
        except WorkflowFailureError as failure:
            told = error_of(failure)
            return told if told.code != GMI_PROCESSING_ERROR else GMIError(SYS_NOT_INITIALIZED, told.message)
        except (RPCError, TimeoutError):
            return GMIError(SYS_NOT_INITIALIZED, f"there is no instance {self.workflow_id!r}")
        return GMIError(SYS_NOT_INITIALIZED, f"the instance {self.workflow_id!r} is shut down")

    async def _explain_silence(self) -> None:
        if not await has_worker(self.client, self.task_queue):
            raise NoWorker(
                f"no worker polls the task queue {self.task_queue!r} in namespace {self.client.namespace!r}; "
                "start one with `python -m worker`"
            )


def _check(body: Any) -> None:
    if fault := json_fault(body, "input"):
        raise GMIError(SYS_VALIDATION_ERROR, fault)
    if (size := encoded_size(body)) > MAX_MESSAGE_BYTES:
        raise GMIError(SYS_VALIDATION_ERROR, f"the message has {size:,} bytes, more than {MAX_MESSAGE_BYTES:,}")
