"""The clauses of a statement that says several things of one subject, each as a statement of its own.

"Mia is allergic to nuts, carries an EpiPen and sits in room 4.12" can lose its room without losing the allergy.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .text import vocabulary

_SEVERAL = re.compile(r"[,;]\s|\sand\s", re.IGNORECASE)
_BREAK = re.compile(r"[,;]\s++(?:and\s++)?|\s++and\s++", re.IGNORECASE)
_OPENING = re.compile(
    r"(?P<subject>\S[^,;:?!]{0,80}?)\s+(?:now\s+|also\s+|currently\s+|no\s+longer\s+)?(?P<verb>is|are|was|were|has|have|had|am|[a-z]{2,12}s)\s"
)
_OPENING_FIRST = re.compile(r"(?P<subject>i|we)\s+(?:now\s+|also\s+|no\s+longer\s+)?(?P<verb>[a-z]+)\s", re.IGNORECASE)
_VERBAL = re.compile(
    r"(?:now\s+|also\s+|currently\s+|no\s+longer\s+)?(?:is|are|was|has|had|[a-z]{2,12}s)\s+(?!(?:and|or|of)\b)\S"
)
_FIRST_VERBS = vocabulary(
    "love like enjoy prefer hate dislike use run drink eat drive play speak own work live report have am study teach manage"
)
_OF_OWNER = re.compile(r"(?:her|his|its|their)\s+(?=[^\s,]+(?:\s+[^\s,]+){0,2}\s+(?:is|are)\s)", re.IGNORECASE)
_OWNER = re.compile(r"(?P<owner>.{1,60}?)['’]s\s")
_MOST = 12


@lru_cache(maxsize=4096)
def told_apart(statement: str) -> tuple[str, ...]:
    """The statement, or its clauses with the subject put before each; every word of it is in one of them."""
    if len(statement) > 1_000 or not _SEVERAL.search(statement):
        return (statement,)
    opening = _OPENING_FIRST.match(statement) or _OPENING.match(statement)
    if opening is None:
        return (statement,)
    subject, is_first = opening["subject"], opening.re is _OPENING_FIRST
    clauses: list[str] = []
    start = 0
    for gap in _BREAK.finditer(statement, opening.end()):
        rest = statement[gap.end() :]
        if _is_clause(rest, is_first=is_first):
            clauses.append(statement[start : gap.start()])
            start = gap.end()
    clauses.append(statement[start:])
    if len(clauses) > _MOST:
        return (statement,)
    return (clauses[0], *(_standing_alone(clause, subject) for clause in clauses[1:]))


def told_together(clauses: tuple[str, ...]) -> str:
    """Some of the clauses of `told_apart` as one statement; the subject is said once."""
    opening = _OPENING_FIRST.match(clauses[0]) or _OPENING.match(clauses[0])
    if opening is None:
        return ", ".join(clauses)
    head = f"{opening['subject']} "
    return ", ".join([clauses[0], *(clause.removeprefix(head) for clause in clauses[1:])])


def _is_clause(rest: str, *, is_first: bool) -> bool:
    if _OF_OWNER.match(rest):
        return True
    if is_first:
        return rest.split(maxsplit=1)[0].lower() in _FIRST_VERBS and " " in rest
    return bool(_VERBAL.match(rest))


def _standing_alone(clause: str, subject: str) -> str:
    owned = _OF_OWNER.match(clause)
    if owned is None:
        return f"{subject} {clause}"
    owner = _OWNER.match(f"{subject} ")
    return f"{owner['owner'] if owner else subject}'s {clause[owned.end() :]}"
