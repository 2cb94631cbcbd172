from __future__ import annotations

import numpy as np

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


def test_words_are_counted_in_order() -> None:
    assert list(counted(["b", "a", "b"]).items()) == [("b", 2), ("a", 1)]
