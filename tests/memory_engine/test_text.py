from __future__ import annotations

import pytest

from memory_engine.profile import Profile
from memory_engine.text import clip, normalise, sentences, without_lone_surrogates


@pytest.mark.parametrize(
    ("value", "ts", "v1"),
    [
        ("  Hello ", "hello", "hello"),
        ("HELLO\u00a0 World", "hello\u00a0 world", "hello world"),
        ("ＡＰＩ\u3000key", "ａｐｉ\u3000key", "api key"),
        ("Straße", "straße", "strasse"),
        ("STRASSE", "strasse", "strasse"),
        ("x²", "x²", "x²"),
        ("\ufeffA", "a", "a"),
        ("", "", ""),
    ],
)
def test_normalise_follows_each_profile(value: str, ts: str, v1: str) -> None:
    assert normalise(value, Profile.TS) == ts
    assert normalise(value) == v1


def test_normalise_trims_as_javascript_does_in_the_ts_profile() -> None:
    assert normalise("\x1cA\x1c", Profile.TS) == "\x1ca\x1c"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Our port is 8080. Our host is db.acme.io", ["Our port is 8080.", "Our host is db.acme.io"]),
        ("Use Python 3.11 here. Thanks!", ["Use Python 3.11 here.", "Thanks!"]),
        ("Pick a name, e.g. Harbor. Then go", ["Pick a name, e.g. Harbor.", "Then go"]),
        ("第一句。第二句。", ["第一句。", "第二句。"]),
        ("one\ntwo\n\nthree", ["one", "two", "three"]),
        ("Really?! Yes", ["Really?!", "Yes"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


def test_clip_cuts_between_words_and_never_inside_a_character() -> None:
    assert clip("alpha beta gamma", 11) == "alpha beta…"
    assert clip("😀" * 5, 3) == "😀😀😀…"
    assert clip("short", 5) == "short"


def test_half_an_emoji_becomes_the_replacement_character() -> None:
    assert without_lone_surrogates("a\ud83d") == "a\ufffd"
    assert without_lone_surrogates("😀") == "😀"
