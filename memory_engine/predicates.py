"""What people are told to do: the verbs of taste, habit, work and home, affirmed, denied and given up."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

ADVERBS = (
    r"(?:(?:really|also|now|usually|always|mostly|still|just|both|absolutely|only|currently|all|definitely|actually|recently"
    r"|finally)\s+)*"
)
_NAME = re.compile(r"[A-Z0-9]|[^\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A relation with the forms of its verbs: I *drink*, she *drinks*, I stopped *drinking*."""

    relation: str
    base: str
    third: str
    gerund: str
    is_dislike: bool = False
    has_name: bool = False
    """Whether only a name tells it: "I work at night" says something else."""


PREDICATES = (
    Predicate(
        "attitude", "love|like|enjoy|adore|prefer", "loves|likes|enjoys|adores|prefers", "loving|liking|enjoying"
    ),
    Predicate(
        "attitude", "hate|dislike|detest|loathe", "hates|dislikes|detests|loathes", "hating|disliking", is_dislike=True
    ),
    Predicate("uses", r"use|run\s+on|rely\s+on", r"uses|relies\s+on", r"using|running\s+on|relying\s+on"),
    Predicate("drinks", "drink", "drinks", "drinking"),
    Predicate("eats", "eat", "eats", "eating"),
    Predicate("drives", "drive", "drives", "driving"),
    Predicate("plays", "play", "plays", "playing"),
    Predicate("speaks", "speak", "speaks", "speaking"),
    Predicate("smokes", "smoke", "smokes", "smoking"),
    Predicate("owns", "own", "owns", "owning"),
    Predicate("works", r"work\s+(?:at|for)", r"works\s+(?:at|for)", r"working\s+(?:at|for)", has_name=True),
    Predicate("home", r"live\s+in", r"lives\s+in", r"living\s+in", has_name=True),
    Predicate("reports", r"report\s+to", r"reports\s+to", r"reporting\s+to", has_name=True),
)
DOINGS = frozenset(each.relation for each in PREDICATES) - {"attitude"}
SINGLE_VALUED = frozenset({"works", "home", "reports"})
"""Relations in which a person rarely has two values at once."""

_DENIED = r"no\s+longer|don't|do\s+not|doesn't|does\s+not|never"
_ENDED = r"(?:have\s+|has\s+)?(?:stopped|quit|gave\s+up|given\s+up)"
_STAND = r"(?:can't|cannot|can\s+not)\s+(?:stand|bear|abide)|(?:have\s+|has\s+)gone\s+off"
_FAN = r"(?:am|is)\s+(?P<no>not\s+|no\s+longer\s+)?(?:(?:really|much\s+of)\s+)?a\s+(?:big\s+|huge\s+)?fan\s+of"


def _any_of(forms: Iterable[str]) -> str:
    return "|".join(forms)


_BASES, _THIRDS = _any_of(each.base for each in PREDICATES), _any_of(each.third for each in PREDICATES)
_BY_VERB = {
    form.split("\\s")[0]: each
    for each in PREDICATES
    for forms in (each.base, each.third, each.gerund)
    for form in forms.replace("(?:", "").split("|")
}


def _pattern(who: str, *, is_third: bool) -> re.Pattern[str]:
    # "no longer" stands before the form that agrees, "doesn't" before the bare one.
    denied, finite = (f"{_BASES}|{_THIRDS}", _THIRDS) if is_third else (_BASES, _BASES)
    gerunds = _any_of(each.gerund for each in PREDICATES)
    return re.compile(
        rf"{who}\s+{ADVERBS}(?:(?P<denied>{_DENIED})\s+{ADVERBS}(?P<v1>{denied})|(?P<ended>{_ENDED})\s+(?P<v2>{gerunds})"
        rf"|(?P<past>used\s+to)\s+(?P<v3>{_BASES})|(?P<v4>{finite}))\s+(?P<value>\S.*)$",
        re.IGNORECASE,
    )


_FIRST = _pattern(r"(?P<who>i|we)", is_third=False)
_THIRD = _pattern(r"(?P<who>[^\s,;:?!][^,;:?!]{0,60}?)", is_third=True)
_FIRST_TASTE = re.compile(rf"(?P<who>i)\s+{ADVERBS}(?:{_STAND}|{_FAN})\s+(?P<value>\S.*)$", re.IGNORECASE)
_THIRD_TASTE = re.compile(
    rf"(?P<who>[^\s,;:?!][^,;:?!]{{0,60}}?)\s+{ADVERBS}(?:{_STAND}|{_FAN})\s+(?P<value>\S.*)$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Told:
    """One reading of a sentence; `is_denied` of a taste says that it is a dislike."""

    who: str
    relation: str
    value: str
    is_denied: bool
    is_over: bool
    """Whether the sentence says that it was so before."""


def told_of(text: str, *, is_third: bool) -> Told | None:
    """What a sentence tells of what somebody does, or None. Apostrophes are straight, `I'm` is written `I am`."""
    if match := (_THIRD if is_third else _FIRST).match(text):
        verb = match["v1"] or match["v2"] or match["v3"] or match["v4"]
        predicate = _BY_VERB[verb.lower().split()[0]]
        if predicate.has_name and not _NAME.match(match["value"]):
            return None
        is_over = bool(match["ended"] or match["past"]) or (match["denied"] or "").lower().startswith("no")
        is_denied = bool(match["denied"] or match["ended"] or match["past"]) != predicate.is_dislike
        return Told(match["who"], predicate.relation, match["value"], is_denied, is_over)
    match = (_THIRD_TASTE if is_third else _FIRST_TASTE).match(text)
    if match is None:
        return None
    is_liked = "fan of" in " ".join(match.group().lower().split()[:9]) and not match["no"]
    return Told(match["who"], "attitude", match["value"], not is_liked, False)
