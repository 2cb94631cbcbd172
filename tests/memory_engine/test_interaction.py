from __future__ import annotations

import pytest

from memory_engine.interaction import interaction_reason, is_interaction_scoped
from memory_engine.profile import Profile


@pytest.mark.parametrize(
    ("content", "ts", "v1"),
    [
        ("Do not verify this against the repository", True, True),
        ("Do not verify the staging build ID against the repository.", True, True),
        ("just remember this for now", True, True),
        ("ok", True, True),
        ("Got it!", True, True),
        ("For this session only.", True, True),
        ("Remembered but not verified.", True, True),
        ("The staging host is internal-hbr-2291.pineapple.example", False, False),
        ("Never run migrations against production", False, False),
        ("Always check the migration before deploying.", False, False),
        ("Never check secrets into git", True, False),
        ("Emails are not verified at signup", True, False),
        ("Ok, the port is 80", False, False),
        ("thanks a lot", False, False),
    ],
)
def test_an_instruction_about_the_conversation_is_told_from_a_fact(content: str, ts: bool, v1: bool) -> None:
    assert is_interaction_scoped(content, Profile.TS) is ts
    assert is_interaction_scoped(content) is v1


@pytest.mark.parametrize(
    "content",
    [
        "Don’t verify it",
        "never check this",
        "Never verify the id against the repo",
        "held for this conversation",
        "Use this name in this chat",
    ],
)
def test_v1_catches_other_spellings(content: str) -> None:
    assert is_interaction_scoped(content)


@pytest.mark.parametrize("content", ["Don't check in node_modules", "Never search production logs by hand"])
def test_v1_keeps_rules_about_the_work(content: str) -> None:
    assert not is_interaction_scoped(content)


def test_a_hit_says_why() -> None:
    assert interaction_reason("just remember this") == "about this conversation: asks to hold something for now"
    assert interaction_reason("The port is 80") is None
