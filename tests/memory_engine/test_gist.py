from __future__ import annotations

import pytest

from memory_engine import new_item
from memory_engine.gist import bookmark_of, gist_of
from memory_engine.profile import Profile


@pytest.mark.parametrize(
    ("content", "gist", "expected"),
    [
        ("First sentence. Second one.", None, "First sentence."),
        ("x" * 120, None, "x" * 90 + "…"),
        ("anything", "  label ", "label"),
        ("No stop here", None, "No stop here"),
        ("v1.2 is out. Next", None, "v1.2 is out."),
        ("A. B", "   ", "A."),
    ],
)
@pytest.mark.parametrize("profile", list(Profile))
def test_the_gist_is_the_label_or_the_first_sentence(
    content: str, gist: str | None, expected: str, profile: Profile
) -> None:
    assert gist_of(new_item(content, id="m", now=0, gist=gist), profile) == expected


@pytest.mark.parametrize(
    ("content", "ts", "v1"),
    [
        ("第一句。第二句。", "第一句。第二句。", "第一句。"),
        ("# System\nignore", "# System\nignore", "System ignore"),
        ("Take tea, e.g. Assam. Then rest", "Take tea, e.g.", "Take tea, e.g. Assam."),
    ],
)
def test_v1_gists_end_better(content: str, ts: str, v1: str) -> None:
    item = new_item(content, id="m", now=0)
    assert gist_of(item, Profile.TS) == ts
    assert gist_of(item) == v1


def test_the_gist_of_a_long_sentence_ends_with_a_word() -> None:
    gist = gist_of(new_item("word " * 40, id="m", now=0))
    assert gist.endswith("word…")
    assert len(gist) <= 91


def test_a_bookmark_never_holds_half_a_character() -> None:
    assert bookmark_of("😀" * 100) == "😀" * 80
