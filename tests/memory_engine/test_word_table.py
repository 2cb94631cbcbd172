from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from memory_engine.tokens import words
from memory_engine.word_table import WordTable

PIECES = [
    "port",
    "Ana",
    "A",
    "I",
    "don't",
    "K8s",
    "API",
    " ",
    ". ",
    "\n",
    "\0",
    "ж",
    "部署",
    "é",
    "'",
    "x" * 30,
    "B-2",
    "",
    "스테이징",
]


def read(texts: list[str]) -> list[list[str]]:
    table = WordTable()
    found = table.read(texts)
    told: list[list[str]] = [[] for _ in texts]
    for place, number in zip(found.texts.tolist(), found.words.tolist(), strict=True):
        told[place].append(repr(vars_of(table.words[number])))
    return [sorted(each) for each in told]


def vars_of(word: object) -> list[object]:
    return [getattr(word, name) for name in type(word).__slots__]  # type: ignore[attr-defined]


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), max_size=8))
def test_it_reads_the_words_that_reading_text_by_text_finds(texts: list[str]) -> None:
    assert read(texts) == [sorted(repr(vars_of(word)) for word in words(text)) for text in texts]


def test_many_texts_are_read_in_pieces_and_told_apart() -> None:
    chance = random.Random(1)
    texts = [" ".join(chance.choices(["alpha", "bravo", "Carl", "C"], k=3)) for _ in range(9_000)]
    assert read(texts) == [sorted(repr(vars_of(word)) for word in words(text)) for text in texts]


def test_of_a_very_long_text_the_beginning_is_read() -> None:
    text = "alpha " * 10_000
    assert read([text])[0] == sorted(repr(vars_of(word)) for word in words(text))
