"""Words, in every script, and the sets of them that decide relevance and identity.

A word is a run of letters, marks and digits; an apostrophe inside it is dropped. Scripts that do not put spaces between
words (Han, Kana, Thai, Lao, Khmer, Myanmar) give overlapping pairs of characters. Hangul gives the word and its pairs, as
particles are glued to it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import lru_cache

from .inflection import fold_plural, stem
from .profile import Profile
from .text import SCAN_LIMIT, fold_width, vocabulary

STOP_WORDS = vocabulary(
    "about after all also and any are been being but can could did does for from get give has have her here him his how "
    "into its just know like made make need new not now one our out please shall she should show tell than that the them "
    "then there they this two use used using want was were what when which will with would you your"
)
FILLERS = vocabulary(
    "about after also always before each every file files from here into just more most must name names never note only "
    "over project repo repository same should some such than that their them then there these they this those under very "
    "what when where which with your"
)
CONTRACTED_NOT = vocabulary(
    "dont doesnt didnt isnt arent wasnt werent cant wont shouldnt mustnt couldnt wouldnt havent hasnt hadnt neednt aint"
)
_V1_FILLERS = (FILLERS - {"only"}) | CONTRACTED_NOT | {"cannot"}

_LABEL = re.compile(r"\s*User(?: requirement \([^()]{1,20}\)| preference|-provided URL):\s*")


def _mark_class() -> str:
    """Combining marks are no word characters to `re`, yet Devanagari or Arabic words are broken without them."""
    blocks = (*range(0x300, 0x2000), 0x3099, 0x309A, *range(0xA66F, 0xAAF7), *range(0xFE20, 0xFE30))
    return "".join(chr(code) for code in blocks if unicodedata.category(chr(code)).startswith("M"))


_MARKS = _mark_class()
ASCII_WORD = r"[A-Za-z0-9]++(?:'[A-Za-z0-9]++)*+"
"""The pattern of a word in a text that is all ASCII."""
_ASCII_WORD = re.compile(ASCII_WORD)
_LONE_CAPITAL = re.compile(r"(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])")
_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}])++(?:['’ʼ](?:[^\W_]|[{_MARKS}])++)*+")
_UNSPACED_RANGES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_UNSPACED_OR_OTHER = re.compile(rf"[{_UNSPACED_RANGES}]+|[^{_UNSPACED_RANGES}]+")
_UNSPACED = re.compile(rf"[{_UNSPACED_RANGES}]")
_HANGUL = re.compile("[\uac00-\ud7a3]+")
_LATIN_BASE = {
    code: unicodedata.normalize("NFD", chr(code))[0]
    for block in (range(0xC0, 0x250), range(0x1E00, 0x1F00))
    for code in block
    if unicodedata.normalize("NFD", chr(code))[0].isascii()
} | dict.fromkeys(range(0x300, 0x370))
_TS_SEPARATOR = re.compile(r"[^a-z0-9]+")


class Word:
    """A word as written, with what the rules ask of it, worked out once per spelling."""

    __slots__ = ("folded", "is_distinctive", "is_lone_capital", "is_marked", "is_relevant", "singular", "stem")

    def __init__(self, folded: str, *, is_acronym: bool = False, is_lone_capital: bool = False) -> None:
        self.folded = folded
        self.is_lone_capital = is_lone_capital
        self.is_marked = is_acronym or is_lone_capital or not folded.isascii() or _has_digit(folded)
        """Whether it carries meaning at any length: it has a digit, is not ASCII, or is written as a name."""
        self.is_relevant = (len(folded) >= 3 or self.is_marked) and folded not in STOP_WORDS
        self.is_distinctive = (len(folded) >= 4 or self.is_marked) and folded not in _V1_FILLERS
        self.singular = fold_plural(folded)
        self.stem = stem(folded)


def _has_digit(token: str) -> bool:
    return any(character.isdigit() for character in token)


def words(value: str) -> list[Word]:
    """The words of a text in order, those of unspaced scripts as pairs of characters."""
    text = fold_width(value[:SCAN_LIMIT])
    if text.isascii():
        if _LONE_CAPITAL.search(text) is None:
            return list(map(word_of, _ASCII_WORD.findall(text)))
        return [_spaced_word(match.group(), text, match.start()) for match in _ASCII_WORD.finditer(text)]
    return [word for match in _WORD.finditer(text) for word in _words_of_run(match.group(), text, match.start())]


def _words_of_run(run: str, text: str, start: int) -> Iterator[Word]:
    if run.isascii():
        yield _spaced_word(run, text, start)
        return
    for piece in _UNSPACED_OR_OTHER.findall(run):
        if _UNSPACED.match(piece):
            for pair in _pairs(piece):
                yield word_of(pair)
            continue
        yield _spaced_word(piece, text, start)
        for hangul in _HANGUL.findall(piece):
            for pair in _pairs(hangul):
                if pair != piece:
                    yield word_of(pair)


def _pairs(piece: str) -> list[str]:
    if len(piece) == 1:
        return [piece]
    return [piece[at : at + 2] for at in range(len(piece) - 1)]


def _spaced_word(raw: str, text: str, start: int) -> Word:
    if len(raw) > 1 or not raw.isupper():
        return word_of(raw)
    return _capital(raw, raw != "I" and not _opens_sentence(text, start))


@lru_cache(maxsize=65_536)
def word_of(raw: str) -> Word:
    """The word of a spelling that needs no neighbours to be understood: all but a capital that stands alone."""
    bare = raw.replace("'", "").replace("’", "").replace("ʼ", "")
    return Word(_folded(bare), is_acronym=len(bare) >= 2 and bare.isupper())


@lru_cache(maxsize=1_024)
def _capital(raw: str, is_lone_capital: bool) -> Word:
    return Word(_folded(raw), is_lone_capital=is_lone_capital)


def _folded(bare: str) -> str:
    return bare.lower() if bare.isascii() else bare.casefold().translate(_LATIN_BASE)


def _opens_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 8) : start].rstrip(" \t\"'(")
    return not before or before[-1] in ".!?。！？\n:"


def relevance_tokens(value: str, profile: Profile = Profile.V1) -> set[str]:
    """The content words worth matching a memory against.

    TS: ASCII words of three letters or more that are not among 68 stop words. V1 adds every script, numbers and
    acronyms of any length.
    """
    if profile is Profile.TS:
        pieces = _TS_SEPARATOR.split(value.lower())
        return {piece for piece in pieces if len(piece) >= 3 and piece not in STOP_WORDS}
    return {word.folded for word in words(value) if word.is_relevant}


def overlap_score(query: AbstractSet[str], candidate: AbstractSet[str]) -> float:
    """The words in common divided by the smaller set; 0.0 when either is empty. Symmetric, in [0, 1]."""
    smaller = min(len(query), len(candidate))
    return len(query & candidate) / smaller if smaller else 0.0


def distinctive_tokens(value: str, profile: Profile = Profile.V1) -> set[str]:
    """The words that carry a statement's identity: four letters or more, or with a digit, and no filler.

    V1 leaves out the label an extractor put in front, keeps acronyms and qualifiers such as `only`, and folds plurals.
    """
    if profile is Profile.TS:
        pieces = _TS_SEPARATOR.split(value.lower().replace("'", ""))
        return {piece for piece in pieces if piece and _is_distinctive_ts(piece)}
    return set(distinctive(value))


def _is_distinctive_ts(piece: str) -> bool:
    return (len(piece) >= 4 or _has_digit(piece)) and piece not in FILLERS


@lru_cache(maxsize=4096)
def distinctive(value: str) -> frozenset[str]:
    """`distinctive_tokens` of V1, to be looked at and not changed."""
    return frozenset(word.singular for word in words(without_label(value)) if word.is_distinctive)


def spoken_tokens(value: str) -> set[str]:
    """Every word with a meaning of its own, fillers included, plurals folded; the set a rewrite is checked against."""
    return {word.singular for word in words(without_label(value)) if len(word.folded) >= 2 or word.is_marked}


def without_label(value: str) -> str:
    """The statement without the label an extractor put in front of it."""
    label = _LABEL.match(value)
    return value[label.end() :] if label else value


def label_of(value: str) -> str:
    """The label an extractor put in front of a statement, or nothing."""
    label = _LABEL.match(value)
    return label.group() if label else ""
