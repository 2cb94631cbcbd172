from __future__ import annotations

import pytest

from memory_engine.estimate import estimate_tokens, quarters
from memory_engine.profile import Profile

LINE = "The staging build id is ZQ7X4M2K (deployment)"


@pytest.mark.parametrize(
    ("value", "ts", "v1"),
    [
        ("", 0, 0),
        ("abcd", 1, 1),
        ("abcde", 2, 2),
        ("日本語", 1, 3),
        ("😀" * 5, 3, 5),
        (LINE, 12, 12),
        (f"{LINE}The staging build id is ZQ7X4M2K", 20, 20),
    ],
)
def test_tokens_are_estimated_per_profile(value: str, ts: int, v1: int) -> None:
    assert estimate_tokens(value, Profile.TS) == ts
    assert estimate_tokens(value) == v1


def test_quarters_add_up_over_pieces() -> None:
    assert quarters("порт 端口 ok") == quarters("порт ") + quarters("端口") + quarters(" ok")
