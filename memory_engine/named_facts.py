"""Statements about a named thing or person: "Harbor runs on Vue", "Ana administers the Git organisation"."""

from __future__ import annotations

import re

from .phrasing import is_pointing, stated, without_opening
from .text import fold_apostrophes, vocabulary

_VERBS = (
    r"runs\s+on|is\s+(?:now\s+)?(?:built\s+(?:with|on|in)|written\s+in|powered\s+by|hosted\s+(?:on|at|by)|based\s+(?:on|in)"
    r"|deployed\s+(?:on|to)|located\s+(?:in|at))|listens\s+on|lives\s+(?:in|at|on|under)|(?:now\s+|no\s+longer\s+)?uses|depends\s+on"
    r"|(?:has\s+|have\s+|was\s+|were\s+)?(?:been\s+)?(?:moved|switched|migrated|changed|renamed)\s+(?:over\s+)?(?:from\s+\S+\s+)?to"
    r"|sits\s+in|works\s+(?:at|for|in|as|on|from)|reports\s+to|owns|manages|administers|leads|maintains|belongs\s+to"
    r"|is\s+(?:now\s+|no\s+longer\s+)?(?:allergic\s+to|married\s+to|responsible\s+for|in\s+charge\s+of)|became|has\s+become"
    r"|(?:has|have)(?=\s+\d+(?:[.,]\d+)?\s?(?i:[kmgt]i?b|cores?|v?cpus?|[mg]hz|rooms|seats|employees)\b)"
    r"|prefers|likes|loves|hates|asked\s+for|expires\s+(?:on|in)|starts\s+(?:on|at)|speaks|carries|joined|left"
)
_NAMED = re.compile(rf"(?P<subject>[^\s,;:?!][^,;:?!]{{1,60}}?)\s+(?:{_VERBS})\s+(?P<value>\S.{{0,200}})$")
_WE = re.compile(
    r"we\s+(?:now\s+|no\s+longer\s+|currently\s+|all\s+)?(?:use|run\s+on|host\s+(?:on|with)|rely\s+on|build\s+with"
    r"|(?:have\s+|'ve\s+)?(?:switched|moved|migrated)\s+(?:over\s+)?(?:from\s+\S+\s+)?to|stopped\s+using|don't\s+use|do\s+not\s+use)\s+"
    r"(?P<value>\S.{1,200})$",
    re.IGNORECASE,
)
_WE_NO_LONGER = re.compile(r"we\s+(?:don't|do\s+not)\s+\S.{2,200}\s+any\s?(?:more|longer)$", re.IGNORECASE)
_DATED_RECORD = re.compile(r"(?=[^:]*\d)[A-Za-z][\w .#/-]{2,60}:\s+(?=[^\n]{0,99}\d)\S.{1,100}$")
_DETERMINED = re.compile(r"(?:the|our|my|their|this\s+(?:project|repo|team|service))\s+\S", re.IGNORECASE)
_NO_NAME = vocabulary(
    "everything nothing something anything someone somebody everyone everybody nobody this that these those it he she "
    "they we i you there here what who why how which when where today yesterday tomorrow now then so but and or yes no "
    "ok okay thanks please maybe perhaps if unless while although because since as after before let make summarise "
    "summarize write read show tell explain find add remove update fix check run"
)


def named_fact(sentence: str) -> str | None:
    """The statement in the user's own words if it tells something lasting about a named subject, else None."""
    own_words = stated(without_opening(sentence))
    we = _WE.match(own_words)
    if we:
        return None if is_pointing(we["value"]) else own_words
    if _WE_NO_LONGER.match(fold_apostrophes(own_words)):
        return own_words
    named = _NAMED.match(own_words)
    if named and _is_name(named["subject"]) and not is_pointing(named["value"]):
        return own_words
    return own_words if _DATED_RECORD.match(own_words) else None


def opens_with_name(sentence: str) -> bool:
    """Whether a sentence begins with a name or with a thing that is told apart: "Ana ...", "the API ..."."""
    return _is_name(" ".join(sentence.split()[:3]))


def _is_name(subject: str) -> bool:
    first = subject.split()[0].lower()
    if first in _NO_NAME or len(subject.split()) > 7:
        return False
    return bool(_DETERMINED.match(subject)) or not subject[0].islower()
