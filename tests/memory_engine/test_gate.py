from __future__ import annotations

import pytest

from memory_engine.gate import run_fast_gate
from memory_engine.profile import Profile


@pytest.mark.parametrize(
    ("message", "ts", "v1"),
    [
        ("Actually, we switched to Postgres last week", True, True),
        ("That's wrong", True, True),
        ("That’s wrong", False, True),
        ("use pnpm instead of npm", True, True),
        ("Stop using tabs", True, True),
        ("no, do not use that", False, True),
        ("casino it is", True, False),
        ("I know, it's fine", False, False),
        ("add a column to the users table", False, False),
        ("Actually we should look", False, False),
        ("", False, False),
    ],
)
def test_a_correction_asks_for_caution(message: str, ts: bool, v1: bool) -> None:
    assert (run_fast_gate(message, Profile.TS).action == "inject_caution") is ts
    assert (run_fast_gate(message).action == "inject_caution") is v1


def test_the_gate_names_the_domains() -> None:
    assert run_fast_gate("Actually, we switched to Postgres last week").detected_domains == ["database"]
    assert run_fast_gate("use pnpm instead of npm").detected_domains == ["build"]


def test_a_blank_message_has_no_domains() -> None:
    assert run_fast_gate("  ").detected_domains is None


def test_a_caution_shows_what_was_matched() -> None:
    gate = run_fast_gate("Hm, that's incorrect I fear")
    assert gate.matched == "that's incorrect"
    assert gate.caution_note


@pytest.mark.parametrize(
    "message", ["No, my order is #1055", "Actually Harbor moved to Svelte", "Actually, the day is Friday"]
)
def test_v1_hears_a_correction_of_any_subject(message: str) -> None:
    assert run_fast_gate(message).action == "inject_caution"


@pytest.mark.parametrize("message", ['the log says "that is wrong"', "```\nno, it is fine\n```", "see `stop using`"])
def test_quoted_text_corrects_nothing(message: str) -> None:
    assert run_fast_gate(message).action == "proceed"


def test_only_the_ends_of_a_long_message_are_read() -> None:
    filler = "plain words " * 1000
    assert run_fast_gate(f"{filler}that's wrong").action == "inject_caution"
    assert run_fast_gate(f"{filler}that's wrong {filler}").action == "proceed"
