"""Workers of one queue share a database, and one that does not is told at its start."""

import logging
from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.taskqueue.v1 import PollerInfo

from activities.store.database import open_database
from tests.support import Harness, until
from worker.databases import warn_of_other_databases, with_other_databases, worker_identity
from worker.pollers import FRESH, pollers

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def poller(identity: str, age: timedelta = timedelta()) -> PollerInfo:
    asked = Timestamp()
    asked.FromDatetime(NOW - age)
    return PollerInfo(identity=identity, last_access_time=asked)


def test_only_a_worker_that_lives_and_names_another_database_is_one() -> None:
    found = [
        poller("1@a#aaaa"),
        poller("2@b#bbbb"),
        poller("3@c#cccc", FRESH + timedelta(seconds=1)),
        poller("4@d"),
    ]
    assert with_other_databases("9@z#aaaa", found, NOW) == ["2@b#bbbb"]


async def test_a_worker_that_meets_another_database_warns(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    await harness.work()
    own = open_database(harness.settings.database_url)
    harness.stack.callback(own.close)

    async def polled() -> bool:
        return bool(await pollers(harness.client, harness.task_queue))

    await until(polled)
    with caplog.at_level(logging.WARNING):
        await warn_of_other_databases(harness.client, harness.task_queue, worker_identity("1@b", own.identity()))
        assert not caplog.records
        await warn_of_other_databases(harness.client, harness.task_queue, worker_identity("1@b", "another"))
    [record] = caplog.records
    assert f"#{own.identity()[:12]}" in record.getMessage()
    assert "TURNHOLD_DATABASE_URL" in record.getMessage()
