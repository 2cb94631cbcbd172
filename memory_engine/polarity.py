"""Which words of a statement stand under a negation.

A negation reaches to the end of its clause. A statement that an extractor labelled "(never)" is negated as a whole.
"""

from __future__ import annotations

import re

from .text import fold_apostrophes, vocabulary
from .tokens import CONTRACTED_NOT, label_of, without_label, words

Signs = dict[str, set[bool]]
"""For each word the polarities it occurs with; True means negated."""

_CLAUSE_END = re.compile(r"[,.;:!?](?=\s|$)|\b(?:but|instead|then)\b", re.IGNORECASE)
_NEGATIONS = CONTRACTED_NOT | vocabulary(
    "no not never nor neither cannot without except unless avoid nobody nothing none"
)
_COLOURLESS = vocabulary(
    "a an the is are was were be been am to of in on at for and or it this that these those we i you they he she our my "
    "your their its as by with from do does did will would can could shall should may might must has have had so"
)
_MARKERS = re.compile(
    r"不要|不能|不得|不|禁止|勿|别|別|没有|沒有|没|沒|无|無|しない|ません|ない|않|(?<!\w)안(?=\s)|금지"
    r"|(?<!\w)(?:не|нет|нельзя)(?!\w)",
    re.IGNORECASE,
)


def signs_of(statement: str) -> Signs:
    """Each meaningful word of a statement with the polarities it has there."""
    wholly_negated = "(never)" in label_of(statement)
    signs: Signs = {}
    for clause in _CLAUSE_END.split(fold_apostrophes(without_label(statement))):
        negated = wholly_negated
        for word in words(clause):
            if word.folded in _NEGATIONS:
                negated = True
            elif word.folded not in _COLOURLESS:
                signs.setdefault(word.singular, set()).add(negated)
    return signs


def is_sign_lost(original: Signs, replacement: Signs) -> bool:
    """Whether a word that both use has a polarity in the original which the replacement no longer shows."""
    return any(polarities - replacement[word] for word, polarities in original.items() if word in replacement)


def is_sign_opposed(first: Signs, second: Signs) -> bool:
    """Whether a word that both use is only affirmed on one side and only negated on the other."""
    return any(not polarities & second[word] for word, polarities in first.items() if word in second)


def negation_markers(statement: str) -> int:
    """How many negations of Chinese, Japanese, Korean or Russian occur; no clauses are told apart there."""
    return 0 if statement.isascii() else len(_MARKERS.findall(statement))
