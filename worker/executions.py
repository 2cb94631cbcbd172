"""What the Temporal server knows of other turns, and of the namespace."""

import time

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from activities.store.errors import Holder
from workflows.names import SEARCH_ATTRIBUTES

REFRESH_SECONDS = 60.0
_TYPES = {
    "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "KeywordList": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
    "Datetime": IndexedValueType.INDEXED_VALUE_TYPE_DATETIME,
}


class TemporalExecutions:
    """Other turns' executions, asked of the server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._registered: tuple[str, ...] = ()
        self._asked_at: float | None = None

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
        """Our search attributes that the namespace has, asked at most once a minute. None when it does not say."""
        now = time.monotonic()
        if self._asked_at is None or now - self._asked_at > REFRESH_SECONDS:
            self._registered = tuple(sorted(await _registered(self._client)))
            self._asked_at = now
        return self._registered

    async def register_search_attributes(self) -> tuple[str, ...]:
        """Register what is missing, where we may; the names that are still missing."""
        missing = set(SEARCH_ATTRIBUTES) - await _registered(self._client)
        if missing:
            request = AddSearchAttributesRequest(
                namespace=self._client.namespace,
                search_attributes={name: _TYPES[SEARCH_ATTRIBUTES[name]] for name in sorted(missing)},
            )
            try:
                await self._client.operator_service.add_search_attributes(request)
            except RPCError:
                # Temporal Cloud and locked-down servers refuse this; turns run without, and the worker says so.
                return tuple(sorted(missing))
        return tuple(sorted(set(SEARCH_ATTRIBUTES) - await _registered(self._client)))


async def _registered(client: Client) -> set[str]:
    """Names registered with the very type we use."""
    try:
        listed = await client.operator_service.list_search_attributes(
            ListSearchAttributesRequest(namespace=client.namespace)
        )
    except RPCError:
        return set()
    return {name for name, kind in SEARCH_ATTRIBUTES.items() if listed.custom_attributes.get(name) == _TYPES[kind]}
