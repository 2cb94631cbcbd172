"""Personas in the database: a version for each put, and of two writers who expect the same the second is refused."""

import pytest

from activities.personas import Persona
from activities.store.database import Database
from activities.store.errors import PersonaConflict
from activities.store.persona_store import PersonaStore
from tests.activities.store.racing import race


def test_each_put_is_a_version_and_the_newest_is_read(database: Database) -> None:
    store, other = PersonaStore(database), PersonaStore(database)
    first, second = Persona(id="p\0é", name="One"), Persona(id="p\0é", name="Two")

    assert store.get(first.id) is None
    assert [store.put(first, 1), other.put(second, 2)] == [1, 2]
    found = store.get(first.id)
    assert found is not None
    assert (found.persona.name, found.version, found.updated_ms) == ("Two", 2, 2)
    assert store.get(first.id) is found
    assert [(each.version, each.updated_ms) for each in store.list()] == [(2, 2)]


def test_a_removed_persona_is_gone_and_begins_anew(database: Database) -> None:
    store = PersonaStore(database)
    store.put(Persona(id="p", name="One"), 1)
    assert store.get("p") is not None
    assert [store.remove("p"), store.remove("p")] == [True, False]
    assert store.get("p") is None
    assert store.put(Persona(id="p", name="Two"), 2) == 1
    found = store.get("p")
    assert found is not None
    assert found.persona.name == "Two"


def test_who_expects_another_version_is_refused(database: Database) -> None:
    store = PersonaStore(database)
    assert store.put(Persona(id="p"), 1, expected=0) == 1
    for expected in (0, 2):
        with pytest.raises(PersonaConflict, match="at version 1 now"):
            store.put(Persona(id="p", name="Late"), 2, expected=expected)
    assert store.put(Persona(id="p"), 3, expected=1) == 2


PUT = """
from activities.personas import Persona
from activities.store.database import open_database
from activities.store.errors import PersonaConflict
from activities.store.persona_store import PersonaStore
address, name, expected = sys.argv[1:]
store = PersonaStore(open_database(address))
"""
TRY = """
try:
    print(store.put(Persona(id="p", name=name), 1, int(expected) if expected else None))
except PersonaConflict:
    print("refused")
"""


@pytest.mark.parametrize(("expected", "said"), [("0", {"1", "refused"}), ("", {"1", "2"})])
def test_of_two_writers_at_once_both_are_told_what_became_of_theirs(
    address: str, expected: str, said: set[str]
) -> None:
    assert set(race(PUT, TRY, [[address, name, expected] for name in ("a", "b")])) == said
