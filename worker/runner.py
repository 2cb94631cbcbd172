"""How workflow code runs in our workers: without the SDK's sandbox, and without a context for every payload.

The sandbox would read `workflows/turn.py` from the disk again for every turn, so a deploy that replaces files under a running
worker would mix old and new code, and each paused turn would hold a copy of its own. What the sandbox guards against, a test of
the source looks for instead (`tests/test_boundaries.py`), and stored histories are replayed. `TURNHOLD_WORKFLOW_SANDBOX` turns
it on; the code runs in it unchanged.

No context: for every payload the SDK asks the instance, three or four times, which workflow and activity it belongs to, for the
sake of codecs and external storage. This project has neither, and the answers took a sixth of a worker's time.
"""

from typing import Any

from temporalio.converter import StorageDriverStoreContext
from temporalio.worker import UnsandboxedWorkflowRunner, WorkflowInstance, WorkflowRunner

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
        self._inner = UnsandboxedWorkflowRunner()

    def prepare_workflow(self, defn: Any) -> None:
        """See the base class."""
        self._inner.prepare_workflow(defn)

    def create_instance(self, det: Any) -> WorkflowInstance:
        """See the base class."""
        return _PlainInstance(self._inner.create_instance(det))

    def set_worker_level_failure_exception_types(self, types: Any) -> None:
        """See the base class."""
        self._inner.set_worker_level_failure_exception_types(types)
