"""Whether a statement that a model wrote says anything the user did not.

Models copy from the examples of their prompt, complete what they believe to know, and take a thought for a fact. Names and
numbers give that away: each of a statement must occur in what the user stated.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from .identifiers import identifier_keys
from .lossy import atoms
from .text import SCAN_LIMIT, fold_apostrophes, fold_width, sentences, vocabulary
from .tokens import STOP_WORDS, words

_OPENERS = vocabulary(
    "user users person people team teams company project projects prefers prefer likes like loves hates dislikes works "
    "lives uses runs wants needs keeps requires requirement preference provided always never must should only name their "
    "there when while before after because although since both each every most some all any none several "
    "deployment deployments deploys port host hosts file files code repository service services server servers database "
    "colleague manager order editor timezone language birthday address account device version"
)
_AFTER_A_NAME = vocabulary(
    "is are was were has have had will can does did uses runs owns likes prefers lives works and or"
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_SHORTEST_PREFIX = 4
_OVERLAP = 300
_USER_PREFIX = re.compile(r"(?:the\s+)?user(?:'s)?\s+(?:is\s+(?=called))?", re.IGNORECASE)


def ungrounded(statement: str, said: str) -> list[str]:
    """The names, numbers and identifiers of a statement that `said` does not hold, in order; empty when it is grounded.

    A statement without any of these must share a third of its words with `said`; of scripts without capitals, half.
    """
    spoken = _spoken(said)
    missing = [number for number in _NUMBER.findall(statement) if number not in spoken.numbers]
    missing += [name for name in _names(statement, spoken) if name not in missing]
    missing += sorted(identifier_keys(statement) - spoken.identifiers - {name.casefold() for name in missing})
    missing += sorted(atoms(statement) - spoken.atoms - set(missing))
    return list(dict.fromkeys(missing)) or _foreign_words(statement, spoken) or _unsaid_words(statement, spoken)


def without_user(statement: str) -> str:
    """The statement without "The user" before it, as the user would have said it."""
    opening = _USER_PREFIX.match(fold_apostrophes(statement))
    return statement[opening.end() :] if opening else statement


@lru_cache(maxsize=8)
def _spoken(said: str) -> _Spoken:
    return _Spoken(said)


class _Spoken:
    """What the user said, in the forms that are compared."""

    __slots__ = ("atoms", "caseless", "folded", "identifiers", "numbers", "prefixes", "stems")

    def __init__(self, said: str) -> None:
        # The primitives look at the beginning of a text only; here its end counts as much.
        parts = [said[start : start + SCAN_LIMIT] for start in range(0, len(said), SCAN_LIMIT - _OVERLAP)]
        heard = [word for part in parts for word in words(part)]
        self.folded = {word.folded for word in heard}
        self.stems = {word.stem for word in heard}
        self.prefixes = {word.folded[:_SHORTEST_PREFIX] for word in heard if len(word.folded) >= _SHORTEST_PREFIX}
        self.numbers = set(_NUMBER.findall(said))
        self.numbers |= {part for number in self.numbers for part in re.findall(r"\d+", number)}
        self.identifiers = frozenset[str]().union(*map(identifier_keys, parts))
        self.atoms = atoms(said)
        self.caseless = {word.folded for word in heard if not word.folded.isascii()}

    def has(self, word: str) -> bool:
        """Whether a name occurs, in any inflection."""
        return all(part.folded in self.folded or part.stem in self.stems for part in words(word))


def _names(statement: str, spoken: _Spoken) -> list[str]:
    found: list[str] = []
    for sentence in sentences(fold_width(statement)):
        written = _WORD.findall(sentence)
        for at, word in enumerate(written):
            if not word[0].isupper() or spoken.has(word) or word in ("I", "User"):
                continue
            if at == 0 and word[1:].islower() and _is_plain_opening(word, "".join(written[1:2]), spoken):
                continue
            found.append(word)
    return found


def _is_plain_opening(word: str, following: str, spoken: _Spoken) -> bool:
    """Whether a sentence's first word has its capital from standing there: "Enjoys hiking", but not "Oracle is used"."""
    folded = word.casefold().removesuffix("'s").removesuffix("’s")
    if folded in STOP_WORDS or folded in _OPENERS or len(folded) <= 3:
        return True
    if folded[:_SHORTEST_PREFIX] in spoken.prefixes:
        return True
    return folded.endswith(("s", "ed", "ing")) and following.casefold() not in _AFTER_A_NAME


def _unsaid_words(statement: str, spoken: _Spoken) -> list[str]:
    told = [word.folded for word in words(statement) if word.is_relevant and word.folded not in _OPENERS]
    missing = [word for word in told if not spoken.has(word) and word[:_SHORTEST_PREFIX] not in spoken.prefixes]
    return missing if 3 * (len(told) - len(missing)) < len(told) else []


def _foreign_words(statement: str, spoken: _Spoken) -> list[str]:
    others = [word.folded for word in words(statement) if not word.folded.isascii() and _is_caseless(word.folded)]
    missing = [word for word in others if word not in spoken.caseless]
    return missing if 2 * len(missing) > len(others) else []


def _is_caseless(word: str) -> bool:
    return any(unicodedata.category(character) == "Lo" for character in word)
