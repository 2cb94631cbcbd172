"""How an instance is. Pure: facts in, the reports of AgentOS out."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from activities.conversation import ErrorDetails
from activities.instance_contracts import MemoryFound
from workflows.gmi_contracts import PrimeState, TraceEntry

RECENT_ERRORS = 5


def memory_health(items: int, size: int, found: MemoryFound | ErrorDetails, pending_events: int = 0) -> dict[str, Any]:
    """Working memory and the memory of the scope; `found` is what asking the latter gave."""
    is_healthy = isinstance(found, MemoryFound)
    details = found.stats if isinstance(found, MemoryFound) else {"code": found.code, "message": found.message}
    report: dict[str, Any] = {
        "overallStatus": "OPERATIONAL" if is_healthy else "DEGRADED",
        "workingMemoryStats": {"itemCount": items, "bytes": size},
        "ragSystemStats": {"isHealthy": is_healthy, "details": details},
        "lifecycleManagerStats": {"isHealthy": True, "details": {"answeredEvents": pending_events}},
    }
    if isinstance(found, ErrorDetails):
        issue = {"severity": "warning", "description": found.message, "component": "CognitiveMemory"}
        report["issues"] = [{**issue, "details": {"code": found.code}}]
    return report


def overall_health(
    *,
    gmi_id: str,
    persona_id: str,
    state: PrimeState,
    memory: dict[str, Any],
    trace: Sequence[TraceEntry],
    created_at: datetime,
    now: datetime,
    turns: int,
    dependencies: dict[str, ErrorDetails | None],
) -> dict[str, Any]:
    """A GMIHealthReport. HEALTHY only if memory and every dependency are; a dependency without an error is."""
    statuses = [
        {"componentName": name, "status": "HEALTHY"}
        if fault is None
        else {"componentName": name, "status": "UNHEALTHY", "details": {"code": fault.code, "message": fault.message}}
        for name, fault in dependencies.items()
    ]
    well = memory["overallStatus"] == "OPERATIONAL" and not any(dependencies.values())
    errors = [entry for entry in trace if entry.type == "ERROR"][-RECENT_ERRORS:]
    return {
        "gmiId": gmi_id,
        "personaId": persona_id,
        "timestamp": now.isoformat(),
        "overallStatus": "HEALTHY" if well else "DEGRADED",
        "currentState": state,
        "memoryHealth": memory,
        "dependenciesStatus": statuses,
        "recentErrors": [entry.model_dump(mode="json", by_alias=True, exclude_none=True) for entry in errors],
        "uptimeSeconds": round((now - created_at).total_seconds(), 3),
        "activeTurnsProcessed": turns,
    }
