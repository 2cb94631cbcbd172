from __future__ import annotations

import pytest

from memory_engine import CognitiveMemory
from memory_engine.knowledge import ProprioceptiveSelfModel
from memory_engine.self_model import domain_key, percent, record_outcome, weak_domains


@pytest.mark.parametrize(
    ("outcomes", "score"),
    [
        ("F", 0.533),
        ("FF", 0.4),
        ("FFF", 0.32),
        ("F" * 12, 0.112),
        ("S", 0.867),
        ("SS", 0.9),
        ("SSS", 0.92),
    ],
)
def test_outcomes_move_the_score_from_a_prior(outcomes: str, score: float) -> None:
    model = ProprioceptiveSelfModel()
    for outcome in outcomes:
        record_outcome(model, "auth", outcome == "S")
    assert model.domains["auth"].reliability_score == score
    assert model.domains["auth"].sample_count == len(outcomes)


@pytest.mark.parametrize(("success", "factor"), [(False, 0.92), (True, 1.0)])
def test_confidence_that_was_wrong_lowers_the_calibration(success: bool, factor: float) -> None:
    model = ProprioceptiveSelfModel()
    record_outcome(model, "auth", success)
    assert model.calibration_factor == factor


def test_a_pattern_is_kept_once_and_only_on_failure() -> None:
    model = ProprioceptiveSelfModel()
    record_outcome(model, "auth", False, "race", "ignored")
    record_outcome(model, "auth", False, "race")
    record_outcome(model, "auth", True, "not a failure", "retry with a lock")
    assert model.domains["auth"].known_failure_patterns == ["race"]
    assert model.domains["auth"].recommended_strategies == ["retry with a lock"]


def test_only_the_newest_ten_patterns_are_kept() -> None:
    model = ProprioceptiveSelfModel()
    for at in range(12):
        record_outcome(model, "auth", False, f"pattern {at}")
    assert model.domains["auth"].known_failure_patterns[0] == "pattern 2"


def test_one_field_of_work_has_one_key() -> None:
    assert domain_key(" Data  Base ") == "data-base"


def test_a_first_failure_makes_the_domain_active_and_weak() -> None:
    model = ProprioceptiveSelfModel()
    record_outcome(model, "Auth", False)
    record_outcome(model, "css", True)
    assert model.active_domains == ["auth", "css"]
    assert weak_domains(model) == ["auth"]


def test_a_domain_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="must have a name"):
        record_outcome(ProprioceptiveSelfModel(), "  ", True)


def test_half_a_percent_is_rounded_up() -> None:
    assert [percent(0.5), percent(0.125), percent(0.533)] == [50, 13, 53]


def test_a_reset_takes_score_samples_and_guardrail_together() -> None:
    engine = CognitiveMemory()
    engine.record_domain_outcome("Database ", False, "slow query")
    engine.record_domain_outcome("css", False)
    assert engine.reset_domain("database")
    assert list(engine.self_model.domains) == ["css"]
    assert engine.self_model.active_domains == ["css"]
    assert "database" not in engine.plan_injection().text
    assert not engine.reset_domain("database")
    assert engine.record_domain_outcome("database", True).reliability_score == 0.867
