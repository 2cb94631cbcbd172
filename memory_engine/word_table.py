"""The words of many texts at once, as columns of numbers.

A loaded memory is indexed as a whole. Each spelling is then looked at once and all the rest is arithmetic on arrays, which
takes a fraction of the time of reading text after text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .text import SCAN_LIMIT
from .tokens import ASCII_WORD, Word, word_of, words

Numbers = NDArray[np.int64]

_END = "\0"
_PIECE = re.compile(rf"{ASCII_WORD}|{_END}")
_TEXTS_AT_ONCE = 4_096
_END_NUMBER, _CAPITAL_NUMBER = -1, -2


@dataclass(frozen=True, slots=True)
class Words:
    """(n,) the texts' places and (n,) the numbers of their words, side by side, in no particular order."""

    texts: Numbers
    words: Numbers


class WordTable:
    """Numbers words in the order in which they are first met; `words[number]` is the word."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self._numbers: dict[Word, int] = {}
        self._spellings = _Spellings(self._number)

    def read(self, texts: Sequence[str]) -> Words:
        """The same words that `tokens.words` finds in each text."""
        read = [
            part
            for start in range(0, len(texts), _TEXTS_AT_ONCE)
            for part in self._read(texts[start : start + _TEXTS_AT_ONCE], start)
        ]
        if not read:
            return Words(np.zeros(0, np.int64), np.zeros(0, np.int64))
        return Words(np.concatenate([part.texts for part in read]), np.concatenate([part.words for part in read]))

    def _read(self, texts: Sequence[str], first: int) -> Iterator[Words]:
        is_plain = [text.isascii() and len(text) <= SCAN_LIMIT and _END not in text for text in texts]
        joined = _END.join(text if plain else "" for text, plain in zip(texts, is_plain, strict=True)) + _END
        pieces = _PIECE.findall(joined)
        numbers = np.fromiter(map(self._spellings.__getitem__, pieces), np.int64, len(pieces))
        places = np.cumsum(numbers == _END_NUMBER)
        # What a capital that stands alone is, a name or the beginning of a sentence, its neighbours tell.
        one_by_one = {at for at, plain in enumerate(is_plain) if not plain}
        one_by_one.update(places[numbers == _CAPITAL_NUMBER].tolist())
        kept = (numbers >= 0) & ~np.isin(places, np.fromiter(one_by_one, np.int64, len(one_by_one)))
        yield Words(places[kept] + first, numbers[kept])
        for at in sorted(one_by_one):
            found = [self._number(word) for word in words(texts[at])]
            yield Words(np.full(len(found), at + first, np.int64), np.array(found, np.int64))

    def _number(self, word: Word) -> int:
        number = self._numbers.setdefault(word, len(self.words))
        if number == len(self.words):
            self.words.append(word)
        return number


class _Spellings(dict[str, int]):
    """The number of each spelling, worked out when it is first asked for."""

    def __init__(self, number: Callable[[Word], int]) -> None:
        super().__init__({_END: _END_NUMBER})
        self._number = number

    def __missing__(self, raw: str) -> int:
        is_capital = len(raw) == 1 and raw.isupper()
        self[raw] = number = _CAPITAL_NUMBER if is_capital else self._number(word_of(raw))
        return number
