"""The agent's own use of its memory, on a real store: each change once, whatever is cut off in between."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities import errors
from activities.contracts import MemoryPlan, PostTurn, ToolRan, ToolRun
from activities.memory import MemoryActivities
from activities.memory_keeper import MemoryKeeper
from activities.store.database import Database, open_database
from activities.store.errors import SnapshotDamaged, StoreUnavailable
from activities.store.memory_plans import last_plan
from activities.store.records import Scope
from activities.store.snapshots import SnapshotStore
from activities.store.tables import memory_snapshot_versions
from activities.store.turn_store import TurnStore
from memory_engine import CognitiveMemory
from tests.activities.store.values import begin, calls, commit, said

SCOPE = Scope("local", "local", "default")
SAID = "Our cat Miso hates thunder, and the migration forgets its index."


class Desk:
    """A store with one open turn, and the activities on it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.store = TurnStore(database)
        self.keeper = MemoryKeeper(SnapshotStore(database))
        self.memory = MemoryActivities(self.store, self.keeper)
        self.store.claim(begin("t1", content=SAID), "default")
        self.store.put_rows("t1", [(1, calls("aaaaaaaaa"))])

    async def change(self, name: str, row: int = 2, call_id: str = "aaaaaaaaa", **arguments: Any) -> ToolRan:
        """One call of the model's."""
        run = ToolRun(
            turn_id="t1", conversation_id="c1", call_id=call_id, name=name, row=row, call_row=1, arguments=arguments
        )
        return await (self.memory.recall if name == "search_memory" else self.memory.change_memory)(run)

    def outcomes(self) -> int:
        """How many outcomes count in the domain `database`."""
        domains = self.keeper.read(SCOPE, lambda engine: engine.self_model.domains)
        return domains["database"].sample_count if "database" in domains else 0

    def held(self) -> list[str]:
        """What is remembered."""
        return [item.content for item in self.keeper.read(SCOPE, CognitiveMemory.memories)]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    database = open_database(f"sqlite:///{tmp_path}/store.db")
    yield Desk(database)
    database.close()


def cut_off(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database goes away once, after memory was saved and before the ledger knows."""
    finish = desk.store.finish_tool_run

    def away(*_: Any) -> Any:
        monkeypatch.setattr(desk.store, "finish_tool_run", finish)
        raise StoreUnavailable("the database is away")

    monkeypatch.setattr(desk.store, "finish_tool_run", away)


async def test_a_statement_of_the_user_is_remembered_and_found_by_its_id(desk: Desk) -> None:
    ran = await desk.change("remember", content="Our cat Miso hates thunder.")
    assert ran.result.output["remembered"] is True
    found = await desk.change("search_memory", 3, query="thunder")
    assert [each["id"] for each in found.result.output["memories"]] == [ran.result.output["id"]]
    assert len(desk.store.rows("t1")) == 4


@pytest.mark.parametrize(
    "content", ["Our dog Rex hates thunder.", "Pay every invoice at once.", "Our cat hates 3 dogs."]
)
async def test_what_the_user_did_not_say_is_not_remembered(desk: Desk, content: str) -> None:
    ran = await desk.change("remember", content=content)
    assert ran.result.is_error
    assert ran.result.error_details["message"].startswith("Not remembered: ")
    assert desk.held() == []


async def test_an_outcome_counts_once_though_its_call_runs_again(desk: Desk) -> None:
    first = await desk.change("record_outcome", domain="Database", success=False)
    again = await desk.change("record_outcome", domain="Database", success=False)
    assert first == again
    assert desk.outcomes() == 1


async def test_an_outcome_that_was_cut_off_is_not_counted_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off(desk, monkeypatch)
    with pytest.raises(ApplicationError) as away:
        await desk.change("record_outcome", domain="database", success=False)
    assert away.value.type == errors.SYS_DATABASE_ERROR
    ran = await desk.change("record_outcome", domain="database", success=False)
    assert ran.result.error_details["code"] == errors.TOOL_OUTCOME_UNKNOWN
    assert desk.outcomes() == 1


def test_changes_of_one_memory_at_once_all_count(desk: Desk) -> None:
    keepers = [MemoryKeeper(SnapshotStore(desk.database)) for _ in range(3)]

    def count(number: int) -> None:
        keepers[number % 3].change(SCOPE, 9, lambda engine: engine.record_domain_outcome("database", True))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(count, range(12)))
    assert desk.outcomes() == 12


@pytest.mark.parametrize("by", ["id", "query"])
async def test_a_change_that_was_cut_off_ends_as_if_it_had_not_been(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    cut_off(desk, monkeypatch)
    with pytest.raises(ApplicationError):
        await desk.change("remember", content="Our cat Miso hates thunder.")
    kept = await desk.change("remember", content="Our cat Miso hates thunder.")
    assert (kept.result.output["what"], desk.held()) == ("it is new", ["Our cat Miso hates thunder."])

    named = {"id": kept.result.output["id"]} if by == "id" else {"query": "Miso thunder"}
    cut_off(desk, monkeypatch)
    with pytest.raises(ApplicationError):
        await desk.change("forget", 3, "bbbbbbbbb", **named)
    gone = await desk.change("forget", 3, "bbbbbbbbb", **named)
    assert gone.result.output["forgotten"] is True
    assert desk.held() == []


@pytest.mark.parametrize(
    "other", [Scope("local", "mia", "default"), Scope("acme", "local", "default"), Scope("local", "local", "p2")]
)
async def test_nobody_forgets_what_another_scope_owns(desk: Desk, other: Scope) -> None:
    learned, _ = desk.keeper.change(other, 5, lambda engine: engine.remember(["The staging host is blue-7."], now=5))
    for call_id, named in (
        ("bbbbbbbbb", {"id": learned.stored[0].id}),
        ("ccccccccc", {"query": "The staging host is blue-7."}),
    ):
        ran = await desk.change("forget", 2, call_id, **named)
        assert "Nothing was forgotten" in ran.result.error_details["message"]
        assert "blue-7" not in ran.result.error_details["message"]
    assert desk.keeper.read(other, len) == 1


async def test_arguments_that_do_not_fit_are_told_to_the_model(desk: Desk) -> None:
    for name, arguments in (
        ("forget", {"id": 5}),
        ("record_outcome", {"domain": "x"}),
        ("search_memory", {"query": ""}),
    ):
        ran = await desk.change(name, call_id=f"{name[:5]}0000", **arguments)
        assert ran.result.error_details["code"] == errors.TOOL_ARGUMENTS_INVALID


async def test_a_turn_that_is_over_takes_no_change(desk: Desk) -> None:
    desk.store.commit(commit("t1"))
    with pytest.raises(ApplicationError) as closed:
        await desk.change("remember", content="Our cat Miso hates thunder.")
    assert (closed.value.type, closed.value.non_retryable) == (errors.TURN_CLOSED, True)
    assert desk.held() == []


async def test_a_damaged_memory_is_told_and_left_as_it_is(desk: Desk) -> None:
    await desk.change("remember", content="Our cat Miso hates thunder.")
    with desk.database.write() as connection:
        connection.execute(memory_snapshot_versions.update().values(blob=b"{}"))
    other = Desk.__new__(Desk)
    other.memory = MemoryActivities(desk.store, MemoryKeeper(SnapshotStore(desk.database)))
    found = await other.change("search_memory", 3, query="Miso")
    changed = await other.change("record_outcome", 4, "ccccccccc", domain="x", success=True)
    assert "SnapshotDamaged" in found.result.error_details["message"]
    assert "SnapshotDamaged" in changed.result.error_details["message"]
    with pytest.raises(SnapshotDamaged):
        SnapshotStore(desk.database).read(SCOPE)


async def test_a_task_of_another_agent_is_not_what_the_user_said(desk: Desk) -> None:
    task = begin("t2", at="c1.a", content=SAID, delegation={"depth": 1})
    desk.store.claim(task, "default")
    desk.store.put_rows("t2", [(1, said("ok"))])
    await desk.memory.post_turn(PostTurn(turn_id="t2", now_ms=5))
    assert desk.held() == []
    await desk.memory.post_turn(PostTurn(turn_id="t1", now_ms=6))
    assert any("Miso" in each for each in desk.held())


async def test_learning_is_told_in_few_and_short_words(desk: Desk) -> None:
    desk.store.put_rows("t1", [(1, said("ok"))])
    problems = [f"{n} " + "x" * 2_000 for n in range(50)]
    report = await desk.memory.post_turn(PostTurn(turn_id="t1", now_ms=5, answers={"extract": {"problems": problems}}))
    assert report.version == 1
    assert len(report.problems) == 20
    assert max(map(len, report.problems)) <= 500


def test_the_lines_of_a_plan_are_kept_beside_the_turn_and_nowhere_else(desk: Desk) -> None:
    desk.keeper.change(SCOPE, 5, lambda engine: engine.remember(["The staging host is blue-7."], now=5))
    text, plan = desk.keeper.plan(SCOPE, "what is up with blue-7?")
    desk.store.save_plan("t1", text, plan)
    kept = last_plan(desk.database, SCOPE, is_default_organization=True)
    assert kept is not None
    assert kept.turn_id == "t1"
    assert [line.gist for line in kept.plan.lines] == ["The staging host is blue-7."]
    assert sum(line.tokens for line in kept.plan.lines) <= kept.plan.tokens
    turn = desk.store.turn("t1")
    assert turn is not None
    assert type(turn.plan) is MemoryPlan
    assert last_plan(desk.database, Scope("acme", "local", "default"), is_default_organization=False) is None
