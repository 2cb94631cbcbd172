"""Groups of writers on both databases: one version, exact answers, and no half of anything."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.memory_service import AnswerForgotten, Change, GroupKeeper, KeyReused, Refusal, Repeatable, Reply
from activities.store.database import Database, open_database
from activities.store.idempotency import find_records
from activities.store.records import Scope
from memory_engine import CognitiveMemory
from tests.postgres import missing_postgres, running_postgres

SCOPE = Scope("acme", "ren", "support")
NOW = 1_700_000_000_000


@pytest.fixture(scope="module")
def postgres_address() -> Iterator[str]:
    if reason := missing_postgres():
        pytest.skip(reason)
    with running_postgres() as server:
        yield server.url(server.new_database())


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    is_sqlite = request.param == "sqlite"
    opened = open_database(
        f"sqlite:///{tmp_path}/store.db" if is_sqlite else request.getfixturevalue("postgres_address")
    )
    yield opened
    opened.close()


@pytest.fixture
def scope(request: pytest.FixtureRequest) -> Scope:
    """A memory of this test's own."""
    return Scope("acme", request.node.name, "support")


def fact(number: int) -> str:
    return f"Berth {number} of the harbour has {number + 3} cranes"


def remembering(number: int, key: str | None = None, fingerprint: str = "print") -> Change:
    def work(engine: CognitiveMemory, now_ms: int) -> Reply:
        result = engine.remember([fact(number)], now=now_ms)
        memory = (result.stored or result.merged_into)[0]
        return Reply(201, f'{{"id":"{memory.id}","stored":{len(result.stored)}}}')

    return Change(work, None if key is None else Repeatable(key, fingerprint))


def forgetting(memory_id: str, key: str | None = None) -> Change:
    def work(engine: CognitiveMemory, now_ms: int) -> Reply:
        deleted = engine.remove_memory(memory_id)
        return Reply(200, f'{{"id":"{memory_id}"}}', changed=deleted, removed=(memory_id,) if deleted else ())

    return Change(work, None if key is None else Repeatable(key, "forget"))


def refusing(engine: CognitiveMemory, now_ms: int) -> Reply:
    raise Refusal("no")


def held(keeper: GroupKeeper, scope: Scope) -> list[str]:
    return keeper.read(scope, lambda engine: sorted(item.content for item in engine.memories()))


def body(outcome: Reply | Refusal) -> str:
    assert isinstance(outcome, Reply)
    return outcome.body


def test_a_group_is_one_version(database: Database, scope: Scope) -> None:
    keeper = GroupKeeper(database)
    outcomes = keeper.commit(scope, [remembering(1), Change(refusing), remembering(2)], NOW)
    assert [isinstance(outcome, Reply) for outcome in outcomes] == [True, False, True]
    assert keeper.version(scope) == 1
    assert held(GroupKeeper(database), scope) == [fact(1), fact(2)]


def test_a_group_that_changes_nothing_is_not_stored(database: Database, scope: Scope) -> None:
    keeper = GroupKeeper(database)
    keeper.commit(scope, [remembering(1)], NOW)
    keeper.commit(scope, [Change(refusing), forgetting("none", "k")], NOW)
    assert keeper.version(scope) == 1
    assert find_records(database, scope, ["k"], NOW) == {}


def test_a_fault_stores_nothing_of_its_group(database: Database, scope: Scope) -> None:
    def breaks(engine: CognitiveMemory, now_ms: int) -> Reply:
        raise ZeroDivisionError

    keeper = GroupKeeper(database)
    with pytest.raises(ZeroDivisionError):
        keeper.commit(scope, [remembering(1, "k"), Change(breaks)], NOW)
    assert held(keeper, scope) == []
    assert find_records(database, scope, ["k"], NOW) == {}
    assert body(keeper.commit(scope, [remembering(1, "k")], NOW)[0]).endswith('"stored":1}')


def test_a_request_is_done_once_in_a_group_and_after_it(database: Database, scope: Scope) -> None:
    keeper = GroupKeeper(database)
    first, second = keeper.commit(scope, [remembering(1, "k"), remembering(1, "k")], NOW)
    [third] = GroupKeeper(database).commit(scope, [remembering(1, "k")], NOW)
    assert body(first) == body(second) == body(third)
    assert body(first).endswith('"stored":1}')


def test_a_key_of_another_request_is_refused(database: Database, scope: Scope) -> None:
    keeper = GroupKeeper(database)
    outcomes = keeper.commit(scope, [remembering(1, "k"), remembering(2, "k", "other")], NOW)
    assert isinstance(outcomes[1], KeyReused)
    assert held(keeper, scope) == [fact(1)]


def test_an_answer_does_not_outlive_the_memory_it_shows(database: Database, scope: Scope) -> None:
    keeper = GroupKeeper(database)
    [made] = keeper.commit(scope, [remembering(1, "before")], NOW)
    memory_id = body(made).split('"')[3]
    outcomes = keeper.commit(scope, [remembering(1, "same"), forgetting(memory_id, "forget")], NOW)
    assert body(outcomes[1]) == f'{{"id":"{memory_id}"}}'
    for key in ("before", "same"):
        [outcome] = keeper.commit(scope, [remembering(1, key)], NOW)
        assert isinstance(outcome, AnswerForgotten)
    assert body(keeper.commit(scope, [forgetting(memory_id, "forget")], NOW)[0]) == body(outcomes[1])
    assert held(keeper, scope) == []


def test_keepers_that_race_lose_nothing(database: Database, scope: Scope) -> None:
    def write(keeper: GroupKeeper, first: int) -> None:
        for number in range(first, first + 10):
            keeper.commit(scope, [remembering(number, f"k{number}")], NOW)

    threads = [threading.Thread(target=write, args=(GroupKeeper(database), first)) for first in (0, 10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(held(GroupKeeper(database), scope)) == 30
    assert len(find_records(database, scope, [f"k{number}" for number in range(30)], NOW)) == 30
