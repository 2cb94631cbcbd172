"""The health reports of an instance."""

from datetime import UTC, datetime, timedelta

from activities.conversation import ErrorDetails
from activities.instance_contracts import MemoryFound
from workflows.gmi_contracts import TraceEntry
from workflows.gmi_health import memory_health, overall_health

NOW = datetime(2030, 1, 1, tzinfo=UTC)
AWAY = ErrorDetails(code="SYS_DATABASE_ERROR", message="the database is away")


def report(store: ErrorDetails | None = None, found: MemoryFound | ErrorDetails | None = None) -> dict[str, object]:
    return overall_health(
        gmi_id="g1",
        persona_id="p",
        state="ready",
        memory=memory_health(3, 40, found or MemoryFound(stats={"memories": 2})),
        trace=[TraceEntry(timestamp=NOW, type="ERROR", message=f"e{number}") for number in range(9)],
        created_at=NOW - timedelta(minutes=2),
        now=NOW,
        turns=4,
        dependencies={"ConversationStore": store},
    )


def test_it_is_healthy_when_everything_it_needs_is() -> None:
    well = report()

    assert (well["overallStatus"], well["uptimeSeconds"], well["activeTurnsProcessed"]) == ("HEALTHY", 120, 4)
    assert well["dependenciesStatus"] == [{"componentName": "ConversationStore", "status": "HEALTHY"}]


def test_a_store_or_a_memory_that_is_away_degrades_it_and_is_named() -> None:
    assert report(store=AWAY)["overallStatus"] == "DEGRADED"
    assert report(found=AWAY)["overallStatus"] == "DEGRADED"
    told = memory_health(0, 2, AWAY)
    assert told["ragSystemStats"]["isHealthy"] is False
    assert [(issue["severity"], issue["component"]) for issue in told["issues"]] == [("warning", "CognitiveMemory")]


def test_it_tells_the_last_five_errors() -> None:
    errors = report()["recentErrors"]

    assert isinstance(errors, list)
    assert [entry["message"] for entry in errors] == ["e4", "e5", "e6", "e7", "e8"]
