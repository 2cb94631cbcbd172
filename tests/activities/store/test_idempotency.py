"""Recorded answers on both databases."""

from collections.abc import Iterable

import pytest

from activities.store.database import Database
from activities.store.errors import Collision
from activities.store.idempotency import (
    KEPT_MS,
    Recorded,
    add_records,
    find_records,
    forget_in_records,
    sweep_records,
)
from activities.store.records import Scope

SCOPE = Scope("acme", "ren", "support")
ANSWER = Recorded("k1", "print", 201, '{"id":"mem_1"}')


def add(database: Database, answers: Iterable[Recorded], scope: Scope = SCOPE, now_ms: int = 0) -> None:
    with database.write() as connection:
        add_records(connection, scope, answers, now_ms)


def test_an_answer_is_found_in_its_scope_for_a_day(database: Database) -> None:
    add(database, [ANSWER])
    assert find_records(database, SCOPE, ["k1", "k2"], KEPT_MS - 1) == {"k1": ANSWER}
    assert find_records(database, SCOPE, ["k1"], KEPT_MS) == {}
    assert find_records(database, Scope("acme", "sam", "support"), ["k1"], 0) == {}
    assert find_records(database, SCOPE, [], 0) == {}


def test_a_second_answer_under_a_key_is_refused_until_the_first_is_too_old(database: Database) -> None:
    add(database, [ANSWER])
    with pytest.raises(Collision):
        add(database, [Recorded("k1", "other", 200, "{}")])
    later = Recorded("k1", "other", 200, "{}")
    add(database, [later], now_ms=KEPT_MS)
    assert find_records(database, SCOPE, ["k1"], KEPT_MS) == {"k1": later}


def test_what_is_forgotten_leaves_the_answer_s_place(database: Database) -> None:
    others = [Recorded("k2", "print", 201, '{"id":"mem_12"}'), Recorded("k3", "print", 201, '{"id":"100%_"}')]
    add(database, [ANSWER, *others])
    with database.write() as connection:
        forget_in_records(connection, SCOPE, ['"mem_1"', '"%"', '"_"'])
    found = find_records(database, SCOPE, ["k1", "k2", "k3"], 0)
    assert [found[name].body for name in ("k1", "k2", "k3")] == [None, others[0].body, others[1].body]


def test_old_answers_are_swept(database: Database) -> None:
    add(database, [Recorded(f"k{number}", "print", 200, "{}") for number in range(5)])
    add(database, [Recorded("new", "print", 200, "{}")], now_ms=10)
    assert sweep_records(database, KEPT_MS) == 5
    assert sweep_records(database, KEPT_MS) == 0
    assert list(find_records(database, SCOPE, ["k1", "new"], 5)) == ["new"]
