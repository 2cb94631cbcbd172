"""Many statements about one subject, each of which is judged beside all the others."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_engine import CognitiveMemory, conflicts, normalise, tensions

ABOUT_ONE = st.lists(
    st.sampled_from(["The harbour crane is", "Our port is", "The harbour moved to", "I use", "The build is"]).flatmap(
        lambda opening: st.sampled_from(
            [
                "number 4",
                "number 5",
                "not number 4",
                "port 80, host blue and room 7",
                "port 81",
                "blue",
                "now blue-7",
                "x",
                "",
            ]
        ).map(lambda rest: f"{opening} {rest} of the fleet" if rest else opening)
    ),
    max_size=10,
)


@settings(max_examples=60, deadline=None)
@given(ABOUT_ONE)
def test_remembering_what_a_statement_was_read_as_changes_nothing(contents: list[str]) -> None:
    """Against the same rules worked out for each pair anew."""
    quick, plain = CognitiveMemory(), CognitiveMemory()
    quick.remember(contents, turn_id="r", now=5)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_frames_of", "told_apart", "frame_of", "_is_simple", "_is_specific"):
            patch.setattr(conflicts, name, getattr(conflicts, name).__wrapped__)
        patch.setattr(conflicts, "_opening", str.split)
        patch.setattr(tensions, "_normalised", normalise)
        patch.setattr(tensions, "tension_key", tensions.tension_key.__wrapped__)
        patch.setattr(tensions, "copy_of", lambda tension: tension.model_copy(deep=True))
        plain.remember(contents, turn_id="r", now=5)
    assert quick.dump() == plain.dump()


def test_many_long_statements_about_one_subject_are_learned_soon() -> None:
    padding = " lorem ipsum dolor sit amet consectetur" * 97
    contents = [f"The harbour crane is number {at} of the fleet.{padding}" for at in range(200)]
    began = time.thread_time()
    learned = CognitiveMemory().remember(contents, now=1)
    assert learned.counts.stored == 200
    assert time.thread_time() - began < 4.0


def test_no_more_contradictions_are_raised_than_somebody_could_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensions, "MOST_OPEN", 3)
    engine = CognitiveMemory()
    learned = engine.remember([f"The harbour crane is number {at} of the fleet" for at in range(5)], now=1)
    assert (learned.counts.stored, len(engine.tensions("active"))) == (5, 3)
    assert any("not raised" in error for error in learned.errors)
