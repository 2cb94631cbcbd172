"""Reading a statement as subject, relation and value, where its shape allows it.

Two statements can only replace each other when they say the same thing about the same subject. Words in common do not tell
that ("Ana is head of QA" and "Ana administers QA's Git" share most of theirs); a frame does. A statement that fits no shape
has no frame, and is then never replaced by a rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from .phrasing import stated, without_opening
from .text import fold_apostrophes, normalise, vocabulary
from .tokens import without_label, words

GENERIC_NOUNS = vocabulary("board app application project service site website frontend backend platform dashboard")
_DETERMINERS = vocabulary("the our my a an this that their its his her now still currently")
_TIME_TAIL = re.compile(
    r"\s+(?:any\s?more|any\s?longer|now|today|yesterday|recently|already|at\s+all|these\s+days|a\s+lot|very\s+much|so\s+much"
    r"|(?:last|this)\s+(?:week|month|year|night|sprint|quarter))$",
    re.IGNORECASE,
)
_SUBJECT = r"(?P<subject>\S[^,;:?!]{0,80}?)"
_ADVERB = r"(?:(?:really|also|now|usually|always|mostly|still|just|both|absolutely|only|currently)\s+)*"


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

    @property
    def keys(self) -> frozenset[str]:
        """Under which the frame is found: each word of the subject, or the relation of a first person."""
        if self.subject <= {"i", "we"}:
            return frozenset(f"{word}|{self.relation}" for word in self.subject)
        return self.subject


_LIKES = re.compile(rf"i\s+{_ADVERB}(?:love|like|enjoy|adore|prefer)\s+(?P<value>.+)$", re.IGNORECASE)
_DISLIKES = re.compile(
    rf"i\s+{_ADVERB}(?:hate|dislike|can't\s+stand|cannot\s+stand|don't\s+like|do\s+not\s+like|no\s+longer\s+(?:like|love|enjoy)"
    r"|don't\s+(?:love|enjoy))\s+(?P<value>.+)$",
    re.IGNORECASE,
)
_CALLED = re.compile(r"(?:please\s+)?call\s+me\s+(?P<value>.+)$", re.IGNORECASE)
# A place begins with a capital; "in a small flat" tells something else about living.
_HOME = re.compile(
    rf"i(?:'m|\s+am)?\s+{_ADVERB}(?P<verb>live\s+in|moved\s+to|based\s+in)\s+(?P<value>(?-i:[A-Z]|[^\x00-\x7f]).*)$",
    re.IGNORECASE,
)
_USES_NOT = re.compile(
    r"(?P<subject>i|we)\s+(?:no\s+longer\s+use|stopped\s+using|don't\s+use|do\s+not\s+use)\s+(?P<value>.+)$",
    re.IGNORECASE,
)
_USES = re.compile(rf"(?P<subject>i|we)\s+{_ADVERB}(?:use|run\s+on)\s+(?P<value>.+)$", re.IGNORECASE)
_MOVED = re.compile(
    rf"{_SUBJECT}\s+(?:has\s+|have\s+|was\s+|were\s+)?(?:been\s+)?(?P<verb>moved|switched|migrated|changed)\s+(?:over\s+)?"
    r"(?:from\s+(?P<origin>\S+)\s+)?to\s+(?P<value>.+)$",
    re.IGNORECASE,
)
_STACK = re.compile(
    rf"{_SUBJECT}\s+(?:runs\s+on|is\s+(?P<now>now\s+)?(?:built\s+(?:with|on|in)|written\s+in|powered\s+by|based\s+on))\s+(?P<value>.+)$",
    re.IGNORECASE,
)
_PLACE = re.compile(
    rf"{_SUBJECT}\s+(?:is\s+(?:now\s+)?(?:hosted\s+(?:on|at|by)|deployed\s+(?:on|to)|located\s+(?:in|at))|lives\s+(?:in|at|on)|sits\s+in)\s+"
    r"(?P<value>.+)$",
    re.IGNORECASE,
)
_LISTENS = re.compile(rf"{_SUBJECT}\s+listens\s+on\s+(?P<value>.+)$", re.IGNORECASE)
_RELATIONS = (("stack", _STACK), ("place", _PLACE), ("listens", _LISTENS))
_IS = re.compile(
    rf"{_SUBJECT}\s+(?:is|are|was)\s+(?P<now>now\s+)?(?P<no>not\s+|no\s+longer\s+)?(?P<value>.+)$", re.IGNORECASE
)
_IS_UNSPACED = re.compile(r"(?P<subject>[^\s，,]{1,30}?)\s?(?:是|は)\s?(?P<value>.+)$")
# Without one of these no pattern of its kind can match; finding that out pattern by pattern takes most of the time of a load.
_PERSONAL_CLUE = re.compile(r"i\b|we\b|please\b|call\b", re.IGNORECASE)
_CLUES = ("moved", "switched", "migrated", "changed", "runs", " is", " are", " was", "lives", "sits", "listens")


@lru_cache(maxsize=4096)
def frame_of(content: str) -> Frame | None:
    """The frame of a statement, or None if its shape is none of those the rules understand."""
    text = fold_apostrophes(stated(without_opening(without_label(content))))
    personal = _personal(text) if _PERSONAL_CLUE.match(text) else None
    return personal or _of_thing(text)


def _personal(text: str) -> Frame | None:
    for pattern, is_negated in ((_DISLIKES, True), (_LIKES, False)):
        if match := pattern.match(text):
            return Frame(frozenset({"i"}), f"attitude to {_value(match['value'])}", "", is_negated)
    if match := _CALLED.match(text):
        return Frame(frozenset({"i"}), "called", _value(match["value"]))
    if match := _HOME.match(text):
        return Frame(frozenset({"i"}), "home", _value(match["value"]), is_changed="moved" in match["verb"].lower())
    if match := _USES_NOT.match(text):
        return Frame(frozenset({match["subject"].lower()}), "uses", _value(match["value"]), True, is_changed=True)
    if match := _USES.match(text):
        return Frame(frozenset({match["subject"].lower()}), "uses", _value(match["value"]))
    return None


def _of_thing(text: str) -> Frame | None:
    lowered = text.lower()
    if not any(clue in lowered for clue in _CLUES):
        return None if text.isascii() else _unspaced(text)
    if match := _MOVED.match(text):
        return _moved(_subject(match["subject"]), match["verb"].lower(), match["origin"], _value(match["value"]))
    for relation, pattern in _RELATIONS:
        if match := pattern.match(text):
            is_changed = " now " in f"{lowered} "
            return Frame(_subject(match["subject"]), relation, _value(match["value"]), is_changed=is_changed)
    match = _IS.match(text)
    if match is not None:
        tells_change = bool(match["now"]) or "no longer" in (match["no"] or "").lower()
        return Frame(
            subject=_subject(match["subject"]),
            relation="is",
            value=_value(match["value"]),
            is_negated=bool(match["no"]),
            is_changed=tells_change,
            is_named=all(word[0].isupper() for word in match["subject"].split()),
        )
    return None if text.isascii() else _unspaced(text)


def _unspaced(text: str) -> Frame | None:
    match = _IS_UNSPACED.match(text)
    return Frame(_subject(match["subject"]), "is", _value(match["value"])) if match else None


def _moved(subject: frozenset[str], verb: str, origin: str | None, value: str) -> Frame | None:
    left = _value(origin) if origin else ""
    if not subject & {"i", "we"}:
        return Frame(subject, "moved", value, is_changed=True, origin=left) if subject else None
    # What a person moves between are homes or tools; without the one that was left, nothing tells which.
    relation = "home" if subject == {"i"} and verb == "moved" else "uses"
    return Frame(subject & {"i", "we"}, relation, value, is_changed=True, origin=left)


def _subject(raw: str) -> frozenset[str]:
    bare = re.sub(r"\([^()]{0,60}\)", " ", raw)
    return frozenset(word.singular for word in words(bare) if word.is_lone_capital or word.folded not in _DETERMINERS)


def _value(raw: str) -> str:
    value = raw.strip()
    while tail := _TIME_TAIL.search(value):
        value = value[: tail.start()]
    folded = normalise(value).removesuffix(".js")
    for article in ("the ", "a ", "an ", "now "):
        folded = folded.removeprefix(article)
    return folded


def same_subject(first: Frame, second: Frame) -> bool:
    """Whether two frames speak of one subject; "Harbor" and "Harbor board" are one where a technology is meant."""
    if first.subject == second.subject:
        return True
    if not {first.relation, second.relation} <= {"stack", "moved"}:
        return False
    return bool(first.subject - GENERIC_NOUNS) and first.subject - GENERIC_NOUNS == second.subject - GENERIC_NOUNS
