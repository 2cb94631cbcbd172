from __future__ import annotations

import pytest

from memory_engine.identifiers import extract_identifiers
from memory_engine.profile import Profile

HOST = "internal-hbr-2291.pineapple.example"


@pytest.mark.parametrize(
    ("text", "ts", "v1"),
    [
        (
            f"deploy ZQ7X4M2K to {HOST} using runMigrations and the path src/server/db",
            [HOST, "src/server/db", "ZQ7X4M2K", "runMigrations", "internal-hbr-2291"],
            ["ZQ7X4M2K", HOST, "runMigrations", "src/server/db"],
        ),
        ("please deploy this when you can", [], []),
        ("set API_KEY and DB2-PRIMARY", ["API_KEY", "DB2-PRIMARY"], ["API_KEY", "DB2-PRIMARY"]),
        ("see https://x.dev/a?b=1.", ["https://x.dev/a?b=1.", "dev/a"], ["https://x.dev/a?b=1"]),
        ("commit deadbeef1 or 4f9a2c", ["deadbeef1", "4f9a2c"], ["deadbeef1", "4f9a2c"]),
        ("defaced facade", ["defaced", "facade"], []),
        ("version 1.2.3 of node", [], ["1.2.3"]),
        ("192.168.0.1:8080", [], ["192.168.0.1:8080"]),
        ("user@example.com", ["example.com"], ["user@example.com"]),
        ("e.g. the config", [], []),
        ("Edit README.md; etc. No.", ["README.md"], ["README.md"]),
        ("and/or, yes/no, n/a", ["and/or", "yes/no"], []),
        ("./a/b and ../c/d", [], ["./a/b", "../c/d"]),
        ("one-two three-part-name", ["three-part-name"], ["three-part-name"]),
    ],
)
def test_identifiers_follow_each_profile(text: str, ts: list[str], v1: list[str]) -> None:
    assert extract_identifiers(text, Profile.TS) == ts
    assert extract_identifiers(text) == v1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("API_KEY=abc123 set", ["API_KEY", "abc123"]),
        ("(see `src/app.py:42`)", ["src/app.py"]),
        ("端口https://a.io/x。", ["https://a.io/x"]),
        ("call snake_case_name()", ["snake_case_name"]),
        ("state-of-the-art and up-to-date work", []),
        ("ship build zq7x4m2k", ["zq7x4m2k"]),
        ("550e8400-e29b-41d4-a716-446655440000", ["550e8400-e29b-41d4-a716-446655440000"]),
        ("README.md README.md", ["README.md"]),
    ],
)
def test_v1_takes_whole_names_and_leaves_prose(text: str, expected: list[str]) -> None:
    assert extract_identifiers(text) == expected


def test_a_long_run_of_hyphens_is_no_identifier() -> None:
    assert extract_identifiers("a-" * 10_000) == []
