"""What the Temporal server knows of other turns, and of the namespace."""

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from activities.store.errors import Holder
from worker.search_attributes import RegisteredAttributes


class TemporalExecutions:
    """Other turns' executions, asked of the server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._attributes = RegisteredAttributes(client)

    async def is_open(self, holder: Holder) -> bool:
        """Whether the execution runs, as itself or as a reset of itself. One the server forgot does not."""
        try:
            description = await self._client.get_workflow_handle(holder.workflow_id).describe()
        except RPCError as fault:
            if fault.status == RPCStatusCode.NOT_FOUND:
                return False
            raise
        first_run_id = description.raw_description.workflow_execution_info.first_run_id
        return description.status == WorkflowExecutionStatus.RUNNING and first_run_id == holder.first_run_id

    async def supersede(self, holder: Holder, by: str) -> None:
        """Signal the execution; one that ended meanwhile needs no signal."""
        try:
            await self._client.get_workflow_handle(holder.workflow_id).signal("supersede", by)
        except RPCError as fault:
            if fault.status != RPCStatusCode.NOT_FOUND:
                raise

    async def search_attributes(self) -> tuple[str, ...]:
        """Our search attributes that the namespace has."""
        return tuple(sorted(await self._attributes.names()))
