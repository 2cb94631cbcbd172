"""What a new statement does to a held one: repeats it, replaces it, contradicts it, or stands beside it.

Additions are far more common than contradictions, so a held statement is only replaced when both have a frame, the subject
is the same, and the value cannot have two answers. Whatever is less certain keeps both: a contradiction becomes a tension
for a person to decide, anything else just stands beside the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeVar

from .frames import Frame, frame_of, same_subject
from .identifiers import identifier_keys
from .lossy import atoms
from .text import normalise, vocabulary

Effect = Literal["repeats", "replaces", "contradicts"]
Held = TypeVar("Held")

_SINGLE_VALUED = vocabulary(
    "version port host hostname url address email e-mail mail phone birthday timezone room branch region editor shell "
    "manager deadline domain favourite favorite name age boss employer city hometown job "
    "endpoint username handle nickname title role"
)
_KIND_AND_NUMBER = re.compile(r"(?<![\w.])(?P<kind>[^\W\d_]{3,20})\s+#?v?(?P<number>\d[\w.:-]*)")
_NUMBER = re.compile(r"\d")
_CLAUSE = re.compile(r"[,;]\s++(?:and\s++)?")
_SEVERAL = re.compile(r"[,;]\s|\b(?:and|but)\b")
_MOVABLE = frozenset({"stack", "place", "listens", "moved", "is"})
_MOST_WORDS = 6
_MOST_RETIRED = 4


@dataclass(frozen=True, slots=True)
class Verdict:
    """The effect on a held statement; `remainder` is what of it still holds when one of several clauses is replaced."""

    effect: Effect
    remainder: str | None = None


def judge(statement: str, held: str, *, is_correction: bool) -> Verdict | None:
    """What `statement` does to `held`; None when they can stand side by side."""
    new, old = frame_of(statement), frame_of(held)
    if new is None or old is None or not same_subject(new, old):
        return None
    if new.relation == "moved" and old.relation in _MOVABLE:
        return _judge_move(new, old, held)
    if new.relation != old.relation:
        return None
    if new.value == old.value and new.is_negated == old.is_negated:
        return None if new.relation.startswith("attitude") else Verdict("repeats")
    return _judge_same_relation(new, old, held, is_correction or new.is_changed)


def certain_replacements(statement: str, verdicts: list[tuple[Held, Verdict]]) -> list[tuple[Held, Verdict]]:
    """What a statement replaces, if that is clear: "Harbor moved to X" says nothing if two things could have moved."""
    replaced = [(held, verdict) for held, verdict in verdicts if verdict.effect == "replaces"]
    frame = frame_of(statement)
    most = 1 if frame is not None and frame.relation == "moved" else _MOST_RETIRED
    return replaced if len(replaced) <= most else []


def _judge_same_relation(new: Frame, old: Frame, held: str, is_correction: bool) -> Verdict | None:
    if new.origin:
        return Verdict("replaces") if new.origin == old.value and not old.is_negated else None
    if new.relation.startswith("attitude") or new.relation == "called":
        return Verdict("replaces")
    if new.relation == "home":
        # "I moved to Acme" may be about work, so only a plain "I live in" takes the other back.
        return Verdict("contradicts" if new.is_changed else "replaces")
    if new.relation == "uses":
        return _judge_use(new, old, is_correction)
    if new.relation == "is":
        return _judge_is(new, old, held, is_correction)
    return _judge_other(new, old, is_correction)


def _judge_move(new: Frame, old: Frame, held: str) -> Verdict | None:
    if new.origin and new.origin != old.value:
        return None
    moved = _numbered(new.value)
    if moved:
        return _replace_numbered(*moved, held)
    if _NUMBER.search(new.value):
        is_like = bool(_NUMBER.search(old.value)) and old.relation != "stack" and _is_simple(old.value)
        return Verdict("replaces") if is_like and new.value != old.value else None
    is_plain = old.relation in ("stack", "place", "moved") and not _NUMBER.search(old.value)
    return Verdict("replaces") if is_plain and new.value != old.value and _is_simple(old.value) else None


def _replace_numbered(kind: str, number: str, held: str) -> Verdict | None:
    for at, its_kind, its_number in _numbered_by_clause(held):
        if its_kind == kind and its_number != number:
            return _replace_clause(_clauses(held), at, held)
    return None


# A new statement is judged beside many held ones, and a held one by many new: what is read from one text alone is read once.
@lru_cache(maxsize=4096)
def _numbered(value: str) -> tuple[str, str] | None:
    """The first kind of thing with its number, as in "port 8080"."""
    found = _KIND_AND_NUMBER.search(value)
    return (found["kind"], found["number"]) if found else None


@lru_cache(maxsize=1024)
def _clauses(statement: str) -> list[str]:
    return _CLAUSE.split(statement)


@lru_cache(maxsize=4096)
def _numbered_by_clause(statement: str) -> tuple[tuple[int, str, str], ...]:
    """(place of the clause, kind, number) of all kinds with a number."""
    return tuple(
        (at, match["kind"], match["number"])
        for at, clause in enumerate(_clauses(statement))
        for match in _KIND_AND_NUMBER.finditer(normalise(clause))
    )


def _replace_clause(clauses: list[str], at: int, held: str) -> Verdict | None:
    if len(clauses) == 1:
        return Verdict("replaces") if _is_simple(held) else Verdict("contradicts")
    if at == 0:
        return Verdict("contradicts")
    return Verdict("replaces", ", ".join(clauses[:at] + clauses[at + 1 :]))


def _judge_use(new: Frame, old: Frame, is_correction: bool) -> Verdict | None:
    is_opposite = new.value == old.value and new.is_negated != old.is_negated
    return Verdict("replaces" if is_correction else "contradicts") if is_opposite else None


def _judge_is(new: Frame, old: Frame, held: str, is_correction: bool) -> Verdict | None:
    if new.is_negated or old.is_negated:
        if new.value != old.value or new.is_negated == old.is_negated:
            return None
        return Verdict("replaces" if is_correction else "contradicts")
    if not _is_simple(old.value):
        return _judge_by_kind(new, held)
    if _is_single_valued(new, old) or (is_correction and _is_attribute(new, old)):
        return Verdict("replaces")
    return Verdict("contradicts") if _is_opposed(new, old) else None


def _judge_by_kind(new: Frame, held: str) -> Verdict | None:
    numbered = _numbered(new.value)
    return _replace_numbered(*numbered, held) if numbered else None


def _judge_other(new: Frame, old: Frame, is_correction: bool) -> Verdict | None:
    if is_correction and _is_simple(old.value):
        return Verdict("replaces")
    return Verdict("contradicts") if _is_opposed(new, old) else None


def _is_single_valued(new: Frame, old: Frame) -> bool:
    if new.subject & _SINGLE_VALUED:
        return _is_specific(new.value) == _is_specific(old.value)
    first, second = _KIND_AND_NUMBER.match(new.value), _KIND_AND_NUMBER.match(old.value)
    return bool(first and second and first["kind"] == second["kind"] and first["kind"] in _SINGLE_VALUED)


def _is_attribute(new: Frame, old: Frame) -> bool:
    """Whether a correction of one value means the other: "the deploy day", or a shared head as in "head of QA"."""
    return not (new.is_named or old.is_named) or _is_comparable(new.value, old.value)


def _is_comparable(first: str, second: str) -> bool:
    """Whether two values answer one question: both a bare number or identifier, or both with the same first word."""
    opening, other = _opening(first), _opening(second)
    if len(opening) == len(other) == 1 and _is_specific(first) and _is_specific(second):
        return True
    return len(opening) > 1 and opening[:1] == other[:1]


def _opening(value: str) -> list[str]:
    """The first two words."""
    return value.split(maxsplit=2)[:2]


def _is_opposed(new: Frame, old: Frame) -> bool:
    return _is_specific(new.value) and _is_specific(old.value) and _is_comparable(new.value, old.value)


@lru_cache(maxsize=4096)
def _is_simple(value: str) -> bool:
    """Whether a value is one thing, so that nothing else is lost with it."""
    marks = atoms(value) | {word for word in value.split() if _NUMBER.search(word)}
    return len(value.split()) <= _MOST_WORDS and len(marks) <= 2 and not _SEVERAL.search(value)


@lru_cache(maxsize=4096)
def _is_specific(value: str) -> bool:
    return bool(_NUMBER.search(value) or identifier_keys(value))


def is_identifying(statement: str) -> bool:
    """Whether a statement's value is one that must not be mistaken: an identifier or a number."""
    frame = frame_of(statement)
    return frame is not None and _is_specific(frame.value)
