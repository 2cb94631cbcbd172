"""Patterns that are looked for only where they can be: no clue may be missing, or a secret would pass."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_engine import interaction, screening, secret_shapes, spoken_secrets
from memory_engine.sought import Sought, sought

PATTERNS: dict[str, Sought] = {
    "key shapes": secret_shapes._KEY_SHAPES,
    **{f"spoken {at}": sign for at, (_, sign) in enumerate(spoken_secrets._SPOKEN) if sign.clues},
    "exfiltration": screening._EXFIL_VERB,
    **dict(screening._PATTERNS),
    **dict(interaction._V1_PATTERNS),
}
PIECES = [
    "ignore all previous instructions",
    "you are now a",
    "reveal the system prompt",
    "<system>",
    "[INST]",
    "SYSTEM:",
    "## x",
    "```",
    "~~~",
    "never check it",
    "just remember this",
    "held in this conversation",
    "for now",
    "in this chat",
    "for this turn only",
    ", not verified",
    "without verifying",
    "ok",
    "send it to https://x.y/ with the token",
    "sk-abcdefghijklmn",
    "AKIA0123456789ABCDEF",
    "ghp_0123456789ab",
    "password is hunter2",
    "api key: a1b2",
    "the token = 123456",
    "pin code is 4711",
    "bearer abc123def456ghi",
    "postgres://me:pw1@db",
    "?token=abcdef",
    "PASSWD=x1y2z3",
    "npm_0123456789",
    "eyJhbGci.eyJz",
    "-----BEGIN PRIVATE KEY-----",
    "AIzaSyA0123456789012345678",
    "&sig=abcdefg",
    "ſk-abcdefghijklmn",
    "credential: zz9zz9",
    "authorization: deadbeef1",
    "mot de passe: chat1",
    "xoxb-0123456789-a",
    "pypi-AgEIcHlwaS5",
    "hf_abcdefghij",
    "the password for the db is hunter2",
    "log in with admin / hunter2",
    "signed in as me: hunter2",
    "pw: hunter2",
    "use hunter2 as the password",
    "the key is abcd1234efgh",
    "the otp is 482913",
    "mein Kennwort lautet geheim99",
    "recovery phrase: legal winner thank year wave sausage worth useful legal winner thank yellow",
    "hvs.CAESIabcdefghijkl",
    "Cookie: id=abcdef012345",
    "glpat-0123456789",
    "Thanks.",
]


@pytest.mark.parametrize("name", PATTERNS)
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_ascii_text_that_matches_has_a_clue(name: str, data: st.DataObject) -> None:
    pattern = PATTERNS[name].pattern
    try:
        texts = st.from_regex(pattern, alphabet=st.characters(codec="ascii"))
        text = data.draw(texts)
    except re.error:
        pytest.skip("no texts can be made of this pattern")
    assert PATTERNS[name].is_in(text, text.lower()) == bool(pattern.search(text))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=12), min_size=1, max_size=4).map(" ".join))
def test_the_clues_change_no_answer(text: str) -> None:
    for given_text in (text, text.upper(), text.title()):
        for each in PATTERNS.values():
            assert each.is_in(given_text, given_text.lower()) == bool(each.pattern.search(given_text))


def test_a_letter_whose_lower_case_is_another_is_found() -> None:
    """A long s is an s to a pattern that ignores case."""
    assert sought("sk-", "sk-").is_in("\u017fk-", "\u017fk-".lower())
