"""The lines of a plan, beside their turn, on both databases."""

import pytest

from activities.contracts import MemoryPlan
from activities.store.database import Database
from activities.store.memory_plans import KeptPlan, PlannedLine, last_plan
from activities.store.records import Scope
from activities.store.turn_store import TurnStore
from tests.activities.store.values import begin, commit

LINE = PlannedLine(id="m1", tier="L1", reason="index", gist="Likes tea", tokens=4)
PLAN = KeptPlan(entries=1, tokens=9, lines=(LINE,))
ANA = Scope("acme", "ana", "default")


def planned(store: TurnStore, turn: str, plan: MemoryPlan, at_ms: int, **fields: str) -> None:
    """A turn that ended, with its plan."""
    store.claim(begin(turn, at=turn, **fields).model_copy(update={"now_ms": at_ms}), "default")
    store.save_plan(turn, "Likes tea", plan)
    store.commit(commit(turn, at=turn))


def test_the_newest_plan_of_a_scope_is_given_with_its_lines(database: Database, store: TurnStore) -> None:
    planned(store, "t1", PLAN, 1_000, userId="ana", organizationId="acme")
    planned(store, "t2", PLAN.model_copy(update={"tokens": 12}), 2_000, userId="ana", organizationId="acme")
    planned(store, "t3", PLAN, 3_000, userId="bob", organizationId="acme")
    planned(store, "t4", PLAN, 4_000, userId="ana")
    found = last_plan(database, ANA, is_default_organization=False)
    assert found is not None
    assert (found.turn_id, found.created_ms, found.plan.tokens, found.plan.lines) == ("t2", 2_000, 12, (LINE,))
    assert last_plan(database, Scope("acme", "ana", "other"), is_default_organization=False) is None


@pytest.mark.parametrize("fields", [{}, {"organizationId": "local"}])
def test_a_turn_without_an_organization_is_one_of_the_default_one(
    database: Database, store: TurnStore, fields: dict[str, str]
) -> None:
    planned(store, "t1", PLAN, 1_000, userId="ana", **fields)
    found = last_plan(database, Scope("local", "ana", "default"), is_default_organization=True)
    assert found is not None
    assert found.turn_id == "t1"


def test_a_plan_from_before_lines_were_kept_has_none(database: Database, store: TurnStore) -> None:
    planned(store, "t1", MemoryPlan(entries=3, tokens=40), 1_000, userId="ana", organizationId="acme")
    found = last_plan(database, ANA, is_default_organization=False)
    assert found is not None
    assert (found.plan.entries, found.plan.lines) == (3, ())
