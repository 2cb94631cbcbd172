"""What a new statement does to a held one: repeats it, replaces it, contradicts it, or stands beside it.

Additions are far more common than contradictions, so a held statement is only replaced when both have a frame, the subject
is the same, and the value cannot have two answers. Whatever is less certain keeps both: a contradiction becomes a tension
for a person to decide, anything else just stands beside the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeVar

from .frame import Frame
from .frames import frame_of, same_subject
from .identifiers import identifier_keys
from .lossy import atoms
from .predicates import DOINGS, SINGLE_VALUED
from .text import vocabulary
from .told_apart import told_apart, told_together

Effect = Literal["repeats", "replaces", "contradicts"]
Held = TypeVar("Held")

_SINGLE_VALUED = vocabulary(
    "version port host hostname url address email e-mail mail phone birthday timezone room branch region editor shell "
    "manager deadline domain favourite favorite name age boss employer city hometown job floor desk seat "
    "endpoint username handle nickname title role timeout budget ttl salary quota "
    "端口 版本 主机 主機 邮箱 電話 电话 生日 房间 房間"
)
_KIND_AND_NUMBER = re.compile(r"(?<![\w.])(?P<kind>[^\W\d_]{3,20})\s+#?v?(?P<number>\d[\w.:-]*)")
_NUMBER = re.compile(r"\d")
_SEVERAL = re.compile(r"[,;]\s|\b(?:and|but)\b")
_VERSION = re.compile(r"\d+(?:\.\w+)+$")
_MONTHS = vocabulary("jan feb mar apr may jun jul aug sep oct nov dec")
_MOVABLE = frozenset({"stack", "place", "listens", "moved", "is"})
_USED = frozenset({"stack", "uses"})
_BY_STRENGTH: tuple[Effect, ...] = ("replaces", "contradicts", "repeats")
_MOST_WORDS = 6
_MOST_RETIRED = 4


@dataclass(frozen=True, slots=True)
class Verdict:
    """The effect on a held statement; `remainder` is what of it still holds when one of several clauses is replaced."""

    effect: Effect
    remainder: str | None = None


def judge(statement: str, held: str, *, is_correction: bool) -> Verdict | None:
    """What `statement` does to `held`; None when they can stand side by side."""
    news, olds = _frames_of(statement), _frames_of(held)
    effects = [_strongest(news, old, is_correction=is_correction) for old in olds]
    # Of two things that are said at once the other may be new.
    if "repeats" in effects and len(news) == 1:
        return Verdict("repeats")
    replaced = [at for at, effect in enumerate(effects) if effect == "replaces"]
    if len(replaced) == 1:
        clauses = told_apart(held)
        rest = clauses[: replaced[0]] + clauses[replaced[0] + 1 :]
        return Verdict("replaces", told_together(rest) if rest else None)
    return Verdict("contradicts") if replaced or "contradicts" in effects else None


# A new statement is judged beside many held ones, and a held one by many new: what is read from one text alone is read once.
@lru_cache(maxsize=4096)
def _frames_of(statement: str) -> tuple[Frame | None, ...]:
    return tuple(map(frame_of, told_apart(statement)))


def _strongest(news: Iterable[Frame | None], old: Frame | None, *, is_correction: bool) -> Effect | None:
    effects = {new and old and _judge_frames(new, old, is_correction=is_correction) for new in news}
    return next((effect for effect in _BY_STRENGTH if effect in effects), None)


def _judge_frames(new: Frame, old: Frame, *, is_correction: bool) -> Effect | None:
    if not same_subject(new, old):
        return None
    is_same = new.value == old.value and new.is_negated == old.is_negated
    if {new.relation, old.relation} == {"called", "name"} or {new.relation, old.relation} == _USED:
        effect = _judge_kin(new, old, is_same=is_same)
    elif new.relation == "moved" and old.relation in _MOVABLE | {"uses"}:
        effect = _judge_move(new, old)
    elif new.relation != old.relation:
        return None
    elif is_same:
        effect = None if new.relation.startswith("attitude") or new.has_reason or new.says_more else "repeats"
    else:
        effect = _judge_same_relation(new, old, is_correction=is_correction or new.is_changed)
    # What else stands behind a held value would go with it.
    return "contradicts" if effect == "replaces" and old.says_more else effect


def _judge_kin(new: Frame, old: Frame, *, is_same: bool) -> Effect | None:
    """What is told in two relations: a name and what one is called, what a thing uses and what it runs on."""
    if is_same:
        return None if new.has_reason or new.says_more else "repeats"
    is_left = new.origin == old.value if new.origin else new.value == old.value and new.is_negated
    return "replaces" if is_left and not old.is_negated else None


def certain_replacements(statement: str, verdicts: list[tuple[Held, Verdict]]) -> list[tuple[Held, Verdict]]:
    """What a statement replaces, if that is clear: "Harbor moved to X" says nothing if two things could have moved."""
    replaced = [(held, verdict) for held, verdict in verdicts if verdict.effect == "replaces"]
    frames = filter(None, _frames_of(statement))
    most = 1 if any(frame.relation == "moved" and not frame.origin for frame in frames) else _MOST_RETIRED
    return replaced if len(replaced) <= most else []


def _judge_same_relation(new: Frame, old: Frame, *, is_correction: bool) -> Effect | None:
    if new.origin:
        return "replaces" if new.origin == old.value and not old.is_negated else None
    if new.relation.startswith("attitude") or new.relation in ("called", "name"):
        return "replaces"
    if new.relation == "is":
        return _judge_is(new, old, is_correction=is_correction)
    judged = _judge_doing if new.relation in DOINGS else _judge_other
    return judged(new, old, is_correction=is_correction)


def _judge_move(new: Frame, old: Frame) -> Effect | None:
    if new.origin:
        return "replaces" if new.origin == old.value and new.value != old.value else None
    if old.relation == "uses" or new.value == old.value:
        return None
    if _is_version_of_one(new, old):
        return "replaces"
    if _NUMBER.search(new.value):
        is_like = bool(_NUMBER.search(old.value)) and old.relation != "stack" and _is_simple(old.value)
        return "replaces" if is_like and not _kind_of(new.value) else None
    is_plain = old.relation in ("stack", "place", "moved") and not _NUMBER.search(old.value)
    return "replaces" if is_plain and _is_simple(old.value) else None


def _judge_doing(new: Frame, old: Frame, *, is_correction: bool) -> Effect | None:
    """What somebody does, uses, or where they live and work: a person knows best that it is over."""
    if new.value == old.value:
        return "replaces"
    if new.is_negated or old.is_negated:
        return None
    if new.relation == "home":
        # "I moved to Acme" may be about work, so only a plain "I live in" takes the other back.
        return "contradicts" if new.is_one_of_several else "replaces"
    if new.relation in SINGLE_VALUED or _is_version_of_one(new, old):
        return "replaces" if is_correction else "contradicts"
    return None


def _judge_is(new: Frame, old: Frame, *, is_correction: bool) -> Effect | None:
    if new.is_negated or old.is_negated:
        if new.value != old.value:
            return None
        return "replaces" if is_correction else "contradicts"
    if not _is_simple(old.value):
        return None
    if new.is_one_of_several and old.is_one_of_several and not is_correction:
        return "contradicts"
    if _is_single_valued(new, old) or (is_correction and _is_attribute(new, old)):
        return "replaces"
    return "contradicts" if _is_opposed(new, old) else None


def _judge_other(new: Frame, old: Frame, *, is_correction: bool) -> Effect | None:
    if new.value == old.value:
        return "replaces" if is_correction else "contradicts"
    if new.is_negated or old.is_negated or new.is_one_of_several:
        return None
    if is_correction and _is_simple(old.value):
        return "replaces"
    return "contradicts" if _is_opposed(new, old) else None


def _kind_of(value: str) -> str | None:
    """What a number at the beginning of a value counts, as in "level 5"; of a date nothing."""
    found = _KIND_AND_NUMBER.match(value)
    return found["kind"] if found and found["kind"][:3] not in _MONTHS else None


def _is_version_of_one(new: Frame, old: Frame) -> bool:
    """Whether both name the same thing in another version: "Python 3.11" and "Python 3.12"."""
    first, second = _KIND_AND_NUMBER.fullmatch(new.value), _KIND_AND_NUMBER.fullmatch(old.value)
    return bool(first and second and first["kind"] == second["kind"])


def _is_single_valued(new: Frame, old: Frame) -> bool:
    if new.subject & _SINGLE_VALUED:
        return _is_specific(new.value) == _is_specific(old.value)
    first, second = _KIND_AND_NUMBER.match(new.value), _KIND_AND_NUMBER.match(old.value)
    if first is None or second is None or first["kind"] != second["kind"]:
        return False
    is_version = bool(_VERSION.match(first["number"]) and _VERSION.match(second["number"]))
    return first["kind"] in _SINGLE_VALUED or (is_version and not new.is_named)


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
