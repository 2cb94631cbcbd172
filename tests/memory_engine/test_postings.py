from __future__ import annotations

import numpy as np
import pytest

from memory_engine.postings import Postings, counted


def test_a_word_gives_its_documents_and_counts() -> None:
    postings = Postings()
    postings.add(0, {"port": 2, "host": 1})
    postings.add(7, {"port": 300})
    np.testing.assert_array_equal(postings.slots("port"), [0, 7])
    np.testing.assert_array_equal(postings.counts("port"), [2, 255])
    assert (postings.length("port"), postings.length("nope"), "host" in postings) == (2, 0, True)


def test_compaction_moves_the_living_and_drops_the_dead() -> None:
    postings = Postings()
    for slot in range(4):
        postings.add(slot, {"port": slot + 1})
    postings.add(1, {"gone": 1})
    compact = postings.compacted(np.array([0, -1, 1, -1]))
    np.testing.assert_array_equal(compact.slots("port"), [0, 1])
    np.testing.assert_array_equal(compact.counts("port"), [1, 3])
    assert "gone" not in compact


def test_what_came_in_bulk_and_what_came_after_are_one() -> None:
    slots, words = np.array([0, 2, 0, 2, 1]), np.array([1, 0, 0, 0, 1])
    postings = Postings.of_pairs(slots, words, ["port", "host", "unused"])
    postings.add(5, {"port": 3, "mail": 1})
    np.testing.assert_array_equal(postings.slots("port"), [0, 2, 5])
    np.testing.assert_array_equal(postings.counts("port"), [1, 2, 3])
    np.testing.assert_array_equal(postings.slots("host"), [0, 1])
    np.testing.assert_array_equal(postings.words_by_slot(4), [2, 1, 1, 0])
    assert ("mail" in postings, "unused" in postings, postings.length("unused")) == (True, False, 0)


def test_the_dead_are_not_counted_among_the_living() -> None:
    postings = Postings()
    for slot in range(3):
        postings.add(slot, {"port": 1})
    postings.bury(["port"])
    assert (postings.length("port"), postings.living("port"), postings.fork().living("port")) == (3, 2, 2)
    assert postings.compacted(np.array([0, -1, 1])).living("port") == 2


@pytest.mark.parametrize("asked", [[0], [5], [1, 4, 7, 99], list(range(0, 200, 2)), list(range(200)), []])
def test_the_counts_of_chosen_documents_are_zero_where_the_word_is_missing(asked: list[int]) -> None:
    postings = Postings()
    for slot in range(0, 150, 3):
        postings.add(slot, {"port": slot % 5 + 1})
    slots = np.array(asked, np.int64)
    expected = [slot % 5 + 1 if slot % 3 == 0 and slot < 150 else 0 for slot in asked]
    np.testing.assert_array_equal(postings.counts_at("port", slots), expected)


def test_words_are_counted_in_order() -> None:
    assert list(counted(["b", "a", "b"]).items()) == [("b", 2), ("a", 1)]
