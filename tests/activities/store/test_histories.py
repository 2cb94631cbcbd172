"""Stored histories: kept once, checked, and their owner's alone."""

import pytest

from activities.store.database import Database
from activities.store.histories import HistoryStore

HISTORY = [
    {"type": "text", "role": "user", "text": "Call me Ren. 日本"},
    {"type": "text", "role": "assistant", "text": "Hi."},
]


def test_a_history_is_found_by_its_name(database: Database) -> None:
    histories = HistoryStore(database)
    ref = histories.put(HISTORY, None, "ren", 1)

    assert histories.get(ref, None, "ren") == tuple(HISTORY)
    assert histories.put(HISTORY, None, "ren", 2) == ref


def test_another_owner_does_not_find_it(database: Database) -> None:
    histories = HistoryStore(database)
    ref = histories.put(HISTORY, "acme", "ren", 1)

    assert histories.get(ref, "acme", "ana") is None
    assert histories.get(ref, None, "ren") is None
    assert histories.get("nowhere", "acme", "ren") is None
    assert histories.put(HISTORY, "acme", "ana", 1) != ref


def test_a_malformed_entry_is_named_and_nothing_is_kept(database: Database) -> None:
    with pytest.raises(ValueError, match=r"histories\[1\]"):
        HistoryStore(database).put([*HISTORY[:1], {"type": "strange"}], None, "ren", 1)
