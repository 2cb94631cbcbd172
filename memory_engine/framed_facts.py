"""Statements that a frame understands: what somebody does, no longer does or moved to, in the languages that frames know."""

from __future__ import annotations

from .first_person import is_passing
from .frame import Frame
from .frames import frame_of
from .named_facts import opens_with_name
from .phrasing import is_pointing, stated, without_opening
from .predicates import DOINGS

_PERSONAL = DOINGS | {"name"}
_MOST_WORDS = 12


def framed_fact(sentence: str) -> str | None:
    """The statement in the user's own words if its frame tells something lasting, else None."""
    own_words = stated(without_opening(sentence))
    frame = frame_of(own_words)
    return own_words if frame is not None and _is_lasting(frame, own_words) else None


def _is_lasting(frame: Frame, own_words: str) -> bool:
    value = frame.value or frame.relation.partition(" to ")[2]
    if not value or is_pointing(value) or value.startswith("to ") or len(value.split()) > _MOST_WORDS:
        return False
    is_own = frame.subject <= {"i", "we"}
    if frame.relation == "is":
        return is_own and frame.is_negated and frame.is_changed and not is_passing(value)
    if frame.relation == "moved":
        return _is_specific(own_words, value)
    if frame.relation in _PERSONAL or frame.relation.startswith("attitude"):
        return is_own or opens_with_name(own_words)
    return False


def _is_specific(own_words: str, value: str) -> bool:
    """Whether a value is a number or a name, rather than a word such as "production"."""
    if any(character.isdigit() for character in value):
        return True
    at = own_words.lower().rfind(value)
    return at >= 0 and own_words[at].isupper()
