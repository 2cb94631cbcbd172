"""What a statement claims, as subject, relation and value, in a form in which two wordings of one claim are equal."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .text import normalise, vocabulary
from .tokens import words

_DETERMINERS = vocabulary("the our my a an this that their its his her now still currently also")
_SPELLINGS = {"favourite": "favorite", "colour": "color", "centre": "center", "licence": "license"}
_POSSESSIVE = re.compile(r"['’]s(?!\w)")
_PARENTHESIS = re.compile(r"\([^()]{0,60}\)")
_TIME_TAIL = re.compile(
    r"\s+(?:any\s?more|any\s?longer|again|now|today|yesterday|recently|already|at\s+all|these\s+days|a\s+lot|very\s+much|so\s+much"
    r"|after\s+all|instead|(?:last|this)\s+(?:week|month|year|night|sprint|quarter))$",
    re.IGNORECASE,
)
_CHANGE = re.compile(r"\b(?:now|again|any\s?more|any\s?longer|no\s+longer|these\s+days|instead)\b", re.IGNORECASE)
_CHANGE_WORDS = vocabulary("now now, again again, anymore any anymore, longer these instead instead,")
_REASON = re.compile(
    r"(?:,\s+|\s+)(?:because|since|although|though|so\s+that|which|while|whenever|as\s+(?:my|our|the|a|an|long|it|i|we))\b",
    re.IGNORECASE,
)
_ANOTHER_CLAUSE = re.compile(
    r"[,;]\s+(?:and\s+|but\s+|so\s+)?(?:i|we|it|now|my|our|they|he|she|not)\b|(?:[,;]\s+|\s+)but\s|\s+and\s+(?:i|we|now|my|our)\b|;\s|[，、；]",
    re.IGNORECASE,
)
_CLAUSE_CLUES = (",", ";", " and ", " And ", " but ", " But ", "，", "、", "；")
_REASON_WORDS = vocabulary("because since although though so which while whenever as")
_ARTICLES = ("the ", "a ", "an ", "now ", "our ", "my ")


@dataclass(frozen=True, slots=True)
class Frame:
    """What a statement claims. `is_changed` means that it tells of a change by itself ("moved to", "is now")."""

    subject: frozenset[str]
    relation: str
    value: str
    is_negated: bool = False
    is_changed: bool = False
    origin: str = ""
    """What was left, in "moved from X to Y"."""
    is_named: bool = False
    """Whether the subject is a name, which has many attributes, rather than an attribute such as "our port"."""
    has_reason: bool = False
    """Whether words behind the value give a reason or a circumstance."""
    says_more: bool = False
    """Whether a clause behind the value claims something else."""
    is_one_of_several: bool = False
    """Whether others may well stand beside this value: a service listens on many ports, and who moved may have changed jobs."""

    @property
    def keys(self) -> frozenset[str]:
        """Under which the frame is found: each word of the subject, or the relation of a first person."""
        if self.subject <= {"i", "we"}:
            return frozenset(f"{word}|{self.relation}" for word in self.subject)
        return self.subject


@dataclass(frozen=True, slots=True)
class Value:
    """The words of a value without what stands around it."""

    text: str
    has_reason: bool = False
    says_more: bool = False


def value_of(raw: str) -> Value:
    """The value in a phrase: without time, article, reason or the next clause."""
    text = raw.strip()
    clause = _ANOTHER_CLAUSE.search(text) if any(clue in text for clue in _CLAUSE_CLUES) else None
    text = text[: clause.start()] if clause else text
    reason = _REASON.search(text) if not _REASON_WORDS.isdisjoint(text.lower().split()) else None
    text = text[: reason.start()] if reason else text
    while " " in text and (tail := _TIME_TAIL.search(text)):
        text = text[: tail.start()]
    folded = normalise(text).removesuffix(".js")
    for article in _ARTICLES:
        folded = folded.removeprefix(article)
    return Value(folded, has_reason=reason is not None, says_more=clause is not None)


def subject_of(raw: str) -> frozenset[str]:
    """The words of a subject: without determiners, and the owner in "Mia's room" as "Mia"."""
    bare = _POSSESSIVE.sub("", _PARENTHESIS.sub(" ", raw))
    kept = (word.singular for word in words(bare) if word.is_lone_capital or word.folded not in _DETERMINERS)
    return frozenset(_SPELLINGS.get(word, word) for word in kept)


def tells_change(text: str) -> bool:
    """Whether a statement says that something is not as it was."""
    return not _CHANGE_WORDS.isdisjoint(text.lower().split()) and _CHANGE.search(text) is not None
