from __future__ import annotations

import pytest

from memory_engine import CognitiveMemory, TrajectoryPrediction, dump_snapshot, new_item, parse_snapshot


def counts(engine: CognitiveMemory) -> tuple[int, int]:
    return engine.stats.predictions_hit, engine.stats.predictions_total


def pending(engine: CognitiveMemory) -> TrajectoryPrediction:
    prediction = engine.pending_prediction
    assert prediction is not None
    return prediction


def test_the_next_turn_judges_the_prediction() -> None:
    engine = CognitiveMemory()
    engine.post_turn("fix auth login", "ok", now=1)
    assert pending(engine).predicted_domains == ["auth"]
    assert counts(engine) == (0, 0)
    engine.post_turn("rotate the jwt", "ok", now=2)
    assert counts(engine) == (1, 1)
    engine.post_turn("css bug", "ok", now=3)
    assert counts(engine) == (1, 2)


def test_where_nothing_is_predicted_nothing_is_counted() -> None:
    engine = CognitiveMemory()
    engine.post_turn("hello", "hi", now=1)
    assert pending(engine).confidence == 0
    engine.post_turn("hello again", "hi", now=2)
    assert counts(engine) == (0, 0)


def test_a_file_that_is_opened_next_is_a_hit() -> None:
    engine = CognitiveMemory()
    engine.post_turn("look at src/server/db.py", "and at README.md, or https://x.dev/a", now=1)
    assert pending(engine).predicted_files == ["src/server/db.py", "README.md"]
    engine.post_turn("now README.md please", "ok", now=2)
    assert counts(engine) == (1, 1)


def test_a_memory_that_is_needed_next_is_a_hit() -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("The auth token lives on vault-01.acme.io", id="m", now=0))
    engine.post_turn("fix the auth login", "ok", now=1)
    assert "m" in pending(engine).prefetch_memory_ids
    engine.post_turn("ping vault-01.acme.io", "ok", now=2)
    assert counts(engine) == (1, 1)


def test_what_followed_before_is_predicted_again() -> None:
    engine = CognitiveMemory()
    for at in range(3):
        engine.post_turn("fix the auth login", "ok", now=2 * at)
        engine.post_turn("rebase the branch", "ok", now=2 * at + 1)
    engine.post_turn("fix the auth login", "ok", now=9)
    assert pending(engine).predicted_domains == ["auth", "git"]


def test_the_prediction_survives_a_snapshot_and_is_lost_without_harm() -> None:
    engine, other, third = CognitiveMemory(), CognitiveMemory(), CognitiveMemory()
    engine.post_turn("fix auth login", "ok", now=1)
    other.load_snapshot(parse_snapshot(dump_snapshot(engine.get_snapshot())))
    assert other.pending_prediction == engine.pending_prediction
    other.post_turn("rotate the jwt", "ok", now=2)
    assert counts(other) == (1, 1)
    snapshot = engine.get_snapshot()
    snapshot.ext = None
    third.load_snapshot(snapshot)
    third.post_turn("rotate the jwt", "ok", now=2)
    assert counts(third) == (0, 0)


@pytest.mark.parametrize(
    "damage",
    [
        {"pendingPrediction": 7},
        {"pendingPrediction": {"confidence": "high"}},
        {"domainFollowers": [1]},
        {"domainFollowers": {"auth": {"git": "x"}, "git": 3}},
    ],
)
def test_a_damaged_prediction_is_none(damage: dict[str, object]) -> None:
    engine = CognitiveMemory()
    engine.load_snapshot({"ext": {"schemaVersion": 1, **damage}})
    engine.post_turn("fix the auth login", "ok", now=1)
    engine.post_turn("rebase the branch", "ok", now=2)
    assert counts(engine) == (0, 1)


def test_a_prefetched_memory_is_no_body_in_the_next_prompt() -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("The auth token lives on vault-01.acme.io", id="m", now=0))
    engine.post_turn("fix the auth login", "ok", now=1)
    assert all(entry.body is None for entry in engine.plan_injection("hello").entries)
