"""No text, however built, makes a primitive slow: time grows with the text and not with its square."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from memory_engine import (
    CognitiveMemory,
    Profile,
    distinctive_tokens,
    estimate_tokens,
    extract_deterministic,
    extract_domains,
    extract_identifiers,
    gist_of,
    has_secret,
    is_interaction_scoped,
    is_lossy_rewrite,
    new_item,
    normalise,
    parse_evaluation,
    parse_extraction,
    relevance_tokens,
    render_safe,
    run_fast_gate,
    screen_injection,
    similarity,
    ungrounded,
)
from memory_engine.conflicts import judge
from memory_engine.rulings import merged_text, refused_replacement

LENGTH = 20_000
PIECES = [
    *("a-", "0f-", "a.", "aa.", "a/", "aA", "A_", " ", "x is ", "always ", "http://", "actually, we "),
    *(
        "a'",
        '"',
        "`",
        "```",
        "\n",
        "0",
        "1.",
        "<",
        "#",
        "not ",
        "my x is ",
        "password is ",
        "ignore all ",
        "i like ",
        "是",
        "é",
        "?",
        "ab",
    ),
    *(
        "we use ",
        "don't ",
        "user@",
        "moved to ",
        "(",
        "for this ",
        "no, ",
        "the ",
        "send https://",
        "i moved the x to ",
        "we use x instead of ",
        "no longer ",
        "mia carries x, uses ",
        "x and is ",
        "used to ",
        "a says ",
        "ich mag ",
        "我喜欢",
        "4111 ",
        "log in as x: ",
        "key is a1",
        "=",
        "token=",
        "sk-",
        "eyJ",
        "room 1 ",
    ),
]
PRIMITIVES: dict[str, Callable[[str], Any]] = {
    "normalise": normalise,
    "normalise_ts": lambda text: normalise(text, Profile.TS),
    "relevance_tokens": relevance_tokens,
    "relevance_tokens_ts": lambda text: relevance_tokens(text, Profile.TS),
    "distinctive_tokens": distinctive_tokens,
    "distinctive_tokens_ts": lambda text: distinctive_tokens(text, Profile.TS),
    "extract_identifiers": extract_identifiers,
    "extract_identifiers_ts": lambda text: extract_identifiers(text, Profile.TS),
    "extract_domains": extract_domains,
    "extract_domains_ts": lambda text: extract_domains(text, Profile.TS),
    "similarity": lambda text: similarity(text, f"{text}x"),
    "is_lossy_rewrite": lambda text: is_lossy_rewrite(text, f"{text}x"),
    "is_interaction_scoped": is_interaction_scoped,
    "is_interaction_scoped_ts": lambda text: is_interaction_scoped(text, Profile.TS),
    "gist_of": lambda text: gist_of(new_item(text, id="m", now=0)),
    "gist_of_ts": lambda text: gist_of(new_item(text, id="m", now=0), Profile.TS),
    "estimate_tokens": estimate_tokens,
    "run_fast_gate": run_fast_gate,
    "run_fast_gate_ts": lambda text: run_fast_gate(text, Profile.TS),
    "extract_deterministic": extract_deterministic,
    "extract_deterministic_ts": lambda text: extract_deterministic(text, Profile.TS),
    "render_safe": render_safe,
    "screen_injection": screen_injection,
    "has_secret": has_secret,
    "judge": lambda text: judge(text[:600], f"{text[:600]}x", is_correction=True),
    "remember": lambda text: CognitiveMemory().remember([text[:4_000], f"{text[:3_990]}x"], now=1),
    "search": lambda text: CognitiveMemory().search(text),
    "parse_extraction": parse_extraction,
    "parse_evaluation": parse_evaluation,
    "ungrounded": lambda text: ungrounded(text[:600], f"{text}x"),
    "merged_text": lambda text: merged_text(text[:600], f"{text[:600]}x", text[:600]),
    "refused_replacement": lambda text: refused_replacement(text, f"{text}x", is_named=True),
    "search_neighbours": lambda text: CognitiveMemory().search(text, 8, 1),
    "post_turn": lambda text: CognitiveMemory().post_turn(text, text, now=1),
}
# Generous, as tests share the machine with others; a quadratic pattern takes seconds to minutes here.
CEILING_SECONDS = 0.5


@pytest.mark.parametrize("name", PRIMITIVES)
def test_no_text_of_20_kb_is_slow(name: str) -> None:
    slow: list[tuple[str, float]] = []
    for piece in PIECES:
        for tail in ("", "!"):
            text = piece * (LENGTH // len(piece)) + tail
            started = time.thread_time()
            PRIMITIVES[name](text)
            spent = time.thread_time() - started
            if spent > CEILING_SECONDS:
                slow.append((piece, spent))
    assert slow == []
