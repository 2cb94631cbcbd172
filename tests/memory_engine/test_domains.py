from __future__ import annotations

import pytest

from memory_engine.domains import DOMAIN_KEYWORDS, Keywords, extract_domains
from memory_engine.profile import Profile


@pytest.mark.parametrize(
    ("text", "ts", "v1"),
    [
        ("fix the auth middleware", ["auth"], ["auth"]),
        ("write a drizzle migration", ["database"], ["database"]),
        ("build the guide", ["frontend"], []),
        ("author page", ["auth"], []),
        ("restore the branch and require a build", ["frontend", "api", "git"], ["git"]),
        ("CSS layout in tsx", ["frontend"], ["frontend"]),
        ("authentication tokens in MySQL", ["auth", "database"], ["auth", "database"]),
        ("", [], []),
    ],
)
def test_domains_follow_each_profile(text: str, ts: list[str], v1: list[str]) -> None:
    assert extract_domains(text, Profile.TS) == ts
    assert extract_domains(text) == v1


@pytest.mark.parametrize("text", ["authentic food", "two authors", "a vitest run"])
def test_v1_does_not_stretch_a_keyword_over_another_word(text: str) -> None:
    assert extract_domains(text) == []


@pytest.mark.parametrize("text", ["oauth", "authn", "authorization header", "NoSQL", "postgresql"])
def test_v1_knows_the_variants_of_a_keyword(text: str) -> None:
    assert len(extract_domains(text)) == 1


def test_a_caller_adds_a_domain_of_their_own() -> None:
    table = {**DOMAIN_KEYWORDS, "billing": Keywords(("invoice",))}
    assert extract_domains("two invoices for the login", table=table) == ["auth", "billing"]
