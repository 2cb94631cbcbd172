"""What tests of instances share."""

from typing import Any

from tests.support import Harness
from worker.gmi import GMI


def instance(harness: Harness) -> GMI:
    """An instance of a name of its own."""
    return GMI(harness.client, harness.task_queue, task_queue=harness.task_queue)


def event(gmi_id: str, **fields: Any) -> dict[str, Any]:
    """A proposal of the host's memory."""
    return {
        "eventId": "e1",
        "timestamp": "2030-01-01T00:00:00Z",
        "type": "DELETION_PROPOSED",
        "gmiId": gmi_id,
        "itemId": "i1",
        "dataSourceId": "d1",
        "itemSummary": "an old note",
        "reason": "space",
        "proposedAction": "DELETE",
        "negotiable": True,
        **fields,
    }
