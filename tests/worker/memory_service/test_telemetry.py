"""What is counted and logged, and that nothing of anybody's words or keys is in it."""

import json
import logging

import pytest

from activities.store.errors import SnapshotDamaged
from tests.worker.memory_service.calls import Running, refused
from worker.memory_service.logs import JsonLines
from worker.memory_service.metrics import Metrics
from worker.memory_service.rates import Rates

WORDS = "Our staging build is ZQ7X4M2K"


async def test_logs_and_metrics_have_no_words_and_no_keys(at: Running, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caller = await at.caller()
    memory = (await caller.remember(WORDS))["stored"][0]
    await caller.post("/context", {"userMessage": "look at ZQ7X4M2K"})
    await caller.recalled("ZQ7X4M2K")
    await caller.send("GET", f"/memories/{memory['id']}")
    await caller.send("GET", "/memories/ZQ7X4M2K")
    await caller.send("POST", "/recall", {"ZQ7X4M2K": 1})
    await at.with_key("cmi_dev_00000000_" + "B" * 43).send("GET", "/stats")
    await at.http.get("/?q=ZQ7X4M2K")
    ours = [record for record in caplog.records if record.name.startswith(("turnhold", "uvicorn"))]
    lines = [JsonLines().format(record) for record in ours]
    told = "\n".join(lines) + (await at.http.get("/metrics")).text
    secret = caller.key.split("_", 3)[3]
    for word in ("ZQ7X4M2K", "staging", secret, caller.key[:16], "B" * 43, memory["id"]):
        assert word not in told
    requests = [line for line in map(json.loads, lines) if line["event"] == "request"]
    assert {"GET /memories/{memory_id:path} 404", "POST /recall 400"} <= {
        f"{line['method']} {line['route'].removeprefix('/api/v1')} {line['status']}" for line in requests
    }
    [context] = [line for line in map(json.loads, lines) if line["event"] == "context"]
    assert context["reasons"] == {"trigger": 1}
    assert (context["identifiers"], context["bodies"], context["indexLines"]) == (1, 1, 0)


async def test_metrics_count_requests_by_route(at: Running) -> None:
    caller = await at.caller()
    await caller.recalled("anything")
    exposed = (await at.http.get("/metrics")).text
    assert 'turnhold_memory_requests_total{method="POST"' in exposed
    assert "turnhold_memory_request_seconds_bucket" in exposed
    assert "python_info" not in exposed


async def test_a_fault_is_answered_without_its_words(
    at: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(f"while reading {WORDS}")

    caller = await at.caller()
    monkeypatch.setattr("worker.memory_service.routes.stats.stats_of", broken)
    answer = await caller.send("GET", "/stats")
    refused(answer, 500, "Internal")
    lines = [JsonLines().format(record) for record in caplog.records if record.name.startswith("turnhold")]
    assert any("RuntimeError" in line for line in lines)
    assert WORDS not in answer.text + "".join(lines)


async def test_a_store_that_cannot_be_used_is_told_without_its_words(
    at: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def damaged(*_: object) -> None:
        raise SnapshotDamaged(WORDS)

    caller = await at.caller()
    monkeypatch.setattr(type(at.service.keeper), "read", damaged)
    body = refused(await caller.send("GET", "/stats"), 500, "StorageFailure")
    lines = [JsonLines().format(record) for record in caplog.records if record.name.startswith("turnhold")]
    assert any("SnapshotDamaged" in line for line in lines)
    assert WORDS not in body["message"] + "".join(lines)


async def test_every_answer_has_an_id_and_is_not_kept_by_caches(at: Running) -> None:
    answers = [await at.http.get("/health"), await at.with_key("").send("GET", "/stats")]
    assert len({answer.headers["x-request-id"] for answer in answers}) == 2
    assert {answer.headers["cache-control"] for answer in answers} == {"no-store"}


def test_two_services_of_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.open.inc()
    assert b"open_requests 1.0" in one.exposition()
    assert b"open_requests 0.0" in other.exposition()


def test_a_bucket_is_refilled_evenly() -> None:
    rates = Rates(rate=2, burst=3)
    assert [rates.wait("a", 0.0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert rates.wait("b", 0.0) == 0
    assert rates.wait("a", 0.5) == 0
    assert rates.wait("a", 0.5) == 0.5
    assert [rates.wait("a", 100.0) for _ in range(4)] == [0, 0, 0, 0.5]


def test_a_clock_that_runs_back_gives_nothing() -> None:
    rates = Rates(rate=1, burst=1)
    assert rates.wait("a", 10.0) == 0
    assert rates.wait("a", 5.0) == 1


def test_the_buckets_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.memory_service.rates.MOST_CALLERS", 3)
    rates = Rates(rate=1, burst=1)
    for number in range(10):
        rates.wait(str(number), 0.0)
    assert rates.wait("9", 0.0) > 0
    assert rates.wait("0", 0.0) == 0
