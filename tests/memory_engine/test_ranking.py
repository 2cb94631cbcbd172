from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory_engine.matches import Matches
from memory_engine.ranking import leading, nth_best

scores_of_few_values = st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0, 7.0]), min_size=1, max_size=400)


@given(scores_of_few_values, st.integers(1, 40))
def test_the_leaders_are_the_beginning_of_the_full_order(scores: list[float], count: int) -> None:
    some = np.random.default_rng(len(scores))
    shares, created = some.integers(0, 3, len(scores)) / 2, some.integers(0, 4, len(scores))
    slots = np.arange(len(scores), dtype=np.int64)
    matches = Matches(slots, np.array(scores, np.float32), lambda asked: shares[asked].astype(np.float32))

    best = leading(matches, created, count)

    full = sorted(slots.tolist(), key=lambda slot: (-scores[slot], -shares[slot], -created[slot], slot))
    assert len(best.slots) >= min(count, len(scores))
    told = [slot for group in best.groups() for slot in sorted(group)]
    assert told == full[: len(told)]
    assert len(told) == len(full) or scores[full[len(told)]] < scores[told[-1]]


@given(scores_of_few_values, st.integers(1, 40))
def test_the_nth_best_is_that_of_the_sorted_scores(scores: list[float], count: int) -> None:
    if count <= len(scores):
        assert nth_best(np.array(scores, np.float32), count) == sorted(scores, reverse=True)[count - 1]


def test_what_was_seen_is_left_out_of_the_rest() -> None:
    matches = Matches(np.arange(4), np.array([1, 3, 2, 3], np.float32), lambda slots: np.zeros(len(slots), np.float32))
    best = leading(matches, np.zeros(4, np.int64), 2)
    assert sorted(best.slots.tolist()) == [1, 3]
    assert matches.without(best.places).slots.tolist() == [0, 2]
