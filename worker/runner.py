"""How workflow code runs in our workers: the SDK's sandbox, with our own modules passed through, and no context per payload.

Passed through: the sandbox would read `workflows/turn.py` from the disk again for every turn, so a deploy that replaces files
under a running worker would mix old and new code, and each paused turn would hold its own copy of it. What the sandbox guards
against, a test of the source looks for instead (`tests/test_boundaries.py`), and stored histories are replayed.

No context: for every payload the SDK asks the instance, three or four times, which workflow and activity it belongs to, for the
sake of codecs and external storage. This project has neither, and the answers took a sixth of a worker's time.
"""

from typing import Any

from temporalio.converter import StorageDriverStoreContext
from temporalio.worker import WorkflowInstance, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

PASSED_THROUGH = ("workflows", "activities", "memory_engine")
_NO_STORAGE = StorageDriverStoreContext(target=None)


class _PlainInstance(WorkflowInstance):
    """The SDK's instance, which is asked nothing per payload."""

    def __init__(self, inner: WorkflowInstance) -> None:
        self._inner = inner

    def activate(self, act: Any) -> Any:
        return self._inner.activate(act)

    def get_serialization_context(self, command_info: Any) -> None:
        return None

    def get_external_store_context(self, command_info: Any) -> StorageDriverStoreContext:
        return _NO_STORAGE

    def get_info(self) -> Any:
        return self._inner.get_info()

    def get_thread_id(self) -> int | None:
        return self._inner.get_thread_id()


class TurnRunner(WorkflowRunner):
    """The runner of our workers and replays."""

    def __init__(self) -> None:
        restrictions = SandboxRestrictions.default.with_passthrough_modules(*PASSED_THROUGH)
        self._inner = SandboxedWorkflowRunner(restrictions=restrictions)

    def prepare_workflow(self, defn: Any) -> None:
        """See the base class."""
        self._inner.prepare_workflow(defn)

    def create_instance(self, det: Any) -> WorkflowInstance:
        """See the base class."""
        return _PlainInstance(self._inner.create_instance(det))

    def set_worker_level_failure_exception_types(self, types: Any) -> None:
        """See the base class."""
        self._inner.set_worker_level_failure_exception_types(types)
