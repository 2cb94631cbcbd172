"""Reading a statement as a frame, where its shape allows it.

Two statements can only replace each other when they say the same thing about the same subject. Words in common do not tell
that ("Ana is head of QA" and "Ana administers QA's Git" share most of theirs); a frame does. A statement that fits no shape
has no frame, and is then never replaced by a rule.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .foreign_frames import foreign_frame
from .frame import Frame, Value, subject_of, tells_change, value_of
from .phrasing import stated, without_opening
from .predicates import ADVERBS, Told, told_of
from .text import fold_apostrophes, normalise, vocabulary
from .tokens import label_of, without_label

GENERIC_NOUNS = vocabulary("board app application project service site website frontend backend platform dashboard")
NUMBERED = vocabulary("version port room floor desk seat gate")
"""What is told as "version 15.4" and "the version is 15.4" alike."""

Said = frozenset[str]
"""The words of a text in lower case, as they are written."""

_SUBJECT = r"(?P<subject>\S[^,;:?!]{0,80}?)"
_CALLED = re.compile(r"(?:please\s+)?(?:call\s+me|i\s+am\s+called|i\s+go\s+by)\s+(?P<value>.+)$", re.IGNORECASE)
_NAME = re.compile(r"my\s+(?:full\s+|first\s+)?name\s+is\s+(?P<value>.+)$", re.IGNORECASE)
_BASED = re.compile(
    r"i\s+am\s+(?P<no>no\s+longer\s+)?(?:now\s+)?based\s+in\s+(?P<value>(?-i:[A-Z]|[^\x00-\x7f]).*)$", re.IGNORECASE
)
_LEFT_FOR = re.compile(
    r"(?P<subject>i|[^\s,;:?!][^,;:?!]{0,60}?)\s+(?:have\s+|has\s+)?(?:left|quit)\s+(?P<origin>(?-i:[A-Z])\S*(?:\s+(?-i:[A-Z])\S*){0,3})"
    r"(?:\s+(?:and\s+(?:have\s+)?joined|and\s+now\s+works?\s+(?:at|for)|for|to\s+join)\s+(?P<value>(?-i:[A-Z]).*))?$",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r"(?P<subject>i|[^\s,;:?!][^,;:?!]{0,60}?)\s+(?:have\s+|has\s+)?joined\s+(?P<value>(?-i:[A-Z]).*)$", re.IGNORECASE
)
_REPLACED = re.compile(
    rf"(?P<subject>i|we)\s+{ADVERBS}(?:have\s+)?(?:replaced|swapped)\s+(?P<origin>\S+(?:\s+\S+){{0,3}}?)\s+(?:with|by|for)\s+(?P<value>.+)$",
    re.IGNORECASE,
)
_DROPPED = re.compile(
    rf"(?P<subject>i|we)\s+{ADVERBS}(?:have\s+)?(?:dropped|ditched|abandoned|got\s+rid\s+of|(?:moved|migrated|switched)\s+(?:off(?:\s+of)?|away\s+from)"
    r"|phased\s+out|decommissioned)\s+(?P<value>.+)$",
    re.IGNORECASE,
)
_USED_FOR = re.compile(
    rf"we\s+{ADVERBS}(?:use|run)\s+(?P<value>\S+(?:\s+\S+){{0,3}}?)\s+for\s+(?P<subject>(?:the|our|my)\s+\S.{{0,60}}|(?-i:[A-Z])\S*(?:\s+\S+){{0,3}})$",
    re.IGNORECASE,
)
_INSTEAD = re.compile(r"\s+(?:instead\s+of|rather\s+than)\s+(?P<origin>.+)$", re.IGNORECASE)
_MOVES = r"moved|switched|migrated|changed"
_SETTINGS = (
    r"upgraded|updated|downgraded|bumped|pushed(?:\s+back)?|postponed|rescheduled|extended|raised|lowered|increased"
    r"|reduced|set|relocated"
)
_FROM = r"(?:from\s+(?P<origin>\S+(?:\s+\S+){0,3}?)\s+)?"
_MOVED = re.compile(
    rf"{_SUBJECT}\s+(?:has\s+|have\s+|was\s+|were\s+)?(?:been\s+)?(?:(?P<verb>{_MOVES})|(?P<setting>{_SETTINGS}))\s+(?:over\s+|back\s+)?{_FROM}to\s+(?P<value>.+)$",
    re.IGNORECASE,
)
_MOVED_BY_US = re.compile(
    rf"(?:i|we)\s+{ADVERBS}(?:have\s+)?(?:{_MOVES}|{_SETTINGS})\s+(?P<subject>(?:the|our|my)\s+\S[^,;:?!]{{0,60}}?|(?-i:[A-Z])[^,;:?!]{{0,60}}?)"
    rf"\s+(?:over\s+|back\s+)?{_FROM}to\s+(?P<value>.+)$",
    re.IGNORECASE,
)
_STACK = re.compile(
    rf"{_SUBJECT}\s+(?P<no>no\s+longer\s+)?(?:runs\s+on|runs(?=\s+\S+\s+v?\d)|is\s+(?P<no2>no\s+longer\s+)?(?:now\s+)?(?:built\s+(?:with|on|in)|written\s+in|powered\s+by|based\s+on))"
    r"\s+(?P<value>.+)$",
    re.IGNORECASE,
)
_PLACE = re.compile(
    rf"{_SUBJECT}\s+(?P<no>no\s+longer\s+)?(?:is\s+(?P<no2>no\s+longer\s+)?(?:now\s+)?(?:hosted\s+(?:on|at|by)|deployed\s+(?:on|to)|located\s+(?:in|at)|based\s+in)"
    r"|lives\s+(?:in|at|on)|sits\s+in)\s+(?P<value>.+)$",
    re.IGNORECASE,
)
_LISTENS = re.compile(rf"{_SUBJECT}\s+(?P<no>no\s+longer\s+)?(?P<no2>)listens\s+on\s+(?P<value>.+)$", re.IGNORECASE)
_RELATIONS = (("stack", _STACK), ("place", _PLACE), ("listens", _LISTENS))
_IS = re.compile(
    rf"{_SUBJECT}\s+(?:is|are|was|am|(?P<became>became|has\s+become))\s+(?P<now>now\s+)?(?P<no>not\s+|no\s+longer\s+)?(?P<value>.+)$",
    re.IGNORECASE,
)
_NEW_ROLE = re.compile(r"(?:the|our|my|their|his|her)\s+new\s+", re.IGNORECASE)
_FORMER = re.compile(r"(?:(?:the|our|my|their|his|her|a)\s+)?(?:former|previous|ex-)\s*", re.IGNORECASE)
_NUMBERED_VALUE = re.compile(r"(?:(?:at|on|in|to)\s+)?(?P<kind>[^\W\d_]{3,20})\s+#?v?(?P<number>\d[\w.:-]*)$")
_IS_UNSPACED = re.compile(
    r"(?P<now>(?:现在|現在|目前|今は|いまは)[，,、]?)?(?P<subject>[^\s，,]{1,30}?)(?P<now2>现在|現在|已经|已經)?\s?(?:是|は|(?P<moved>改成|改为|改為|变成|變成|换成|換成))\s?(?P<value>.+)$"
)
_IS_ABROAD = re.compile(
    r"(?:(?:der|die|das|el|la|le|il|o|a|unser|mein|nuestro|notre)\s+)?(?P<subject>[^\W_][^?!;,\n]{0,60}?)\s+(?:(?P<now>теперь|jetzt|ahora)\s+)?"
    r"(?:—|–|это|теперь|ist|lautet|es|est|è|é|هو|هي)\s+(?P<now2>jetzt\s+|ahora\s+|maintenant\s+|теперь\s+)?(?P<value>\S*\d\S{0,60})$"
    r"|(?P<subject3>[^?!;\n]{2,60}?)\s+(?P<now3>अब\s+)?(?P<value3>\S*\d\S*)\s+है$",
    re.IGNORECASE,
)
_CONTRACTIONS = (
    (re.compile(r"\b(i)'m\b", re.IGNORECASE), r"\1 am"),
    (re.compile(r"\b(i|we|you|they)'ve\b", re.IGNORECASE), r"\1 have"),
    (re.compile(r"\b(we|you|they)'re\b", re.IGNORECASE), r"\1 are"),
)
# Without one of these words no pattern of its kind can match; finding that out pattern by pattern takes most of a load.
_FIRST_WORDS = vocabulary("i we my please call")
_NAMING = vocabulary("call called go name based")
_MOVING = frozenset(re.split(r"[|(]", f"{_MOVES}|{_SETTINGS}"))
_SWAPPING = _MOVING | vocabulary("replaced swapped dropped ditched abandoned got phased decommissioned")
_JOBS = vocabulary("left quit joined")
_HABITS = _JOBS | vocabulary(
    "loves likes enjoys adores prefers hates dislikes detests loathes uses relies drinks eats drives plays speaks smokes owns"
    " works lives reports longer doesn't does never stopped quit gave given used stand bear abide gone fan"
)
_STANDING = vocabulary("runs built written powered based hosted deployed located lives sits listens")
_BEING = vocabulary("is are was am became become")
_BEING_ABROAD = vocabulary("— – это теперь ist lautet es est è é هو هي है")


@lru_cache(maxsize=4096)
def frame_of(content: str) -> Frame | None:
    """The frame of a statement, or None if its shape is none of those the rules understand."""
    label = label_of(content)
    if "requirement" in label:
        return Frame(frozenset({"we"}), f"rule {normalise(without_label(content))}", "", "(never)" in label)
    text = _spelled_out(fold_apostrophes(stated(without_opening(content[len(label) :]))))
    said = frozenset(text.lower().split())
    personal = _personal(text, said) if not _FIRST_WORDS.isdisjoint(text[:7].lower().split(" ", 1)) else None
    return personal or foreign_frame(text) or _habit(text, said) or _of_thing(text, said) or _abroad(text, said)


def _spelled_out(text: str) -> str:
    if "'" in text:
        for pattern, whole in _CONTRACTIONS:
            text = pattern.sub(whole, text)
    return text


def _framed(subject: frozenset[str], relation: str, value: Value, **facts: bool | str) -> Frame:
    return Frame(
        subject,
        relation,
        value.text,
        has_reason=value.has_reason,
        says_more=value.says_more,
        **facts,  # type: ignore[arg-type]  # each name is a field with its own type
    )


def _personal(text: str, said: Said) -> Frame | None:
    i = frozenset({"i"})
    if said & _NAMING:
        if match := _CALLED.match(text):
            return _framed(i, "called", value_of(match["value"]))
        if match := _NAME.match(text):
            return _framed(i, "name", value_of(match["value"]))
        if match := _BASED.match(text):
            value, is_negated = value_of(match["value"]), bool(match["no"])
            return _framed(i, "home", value, is_negated=is_negated, is_changed=tells_change(text))
    if said & _SWAPPING:
        for pattern in (_REPLACED, _DROPPED):
            if match := pattern.match(text):
                return _swapped(match)
        if match := _MOVED_BY_US.match(text):
            return _moved(subject_of(match["subject"]), "", match["origin"], value_of(match["value"]))
    if "for" in said and (match := _USED_FOR.match(text)):
        return _framed(subject_of(match["subject"]), "stack", value_of(match["value"]), is_one_of_several=True)
    told = told_of(text, is_third=False)
    return _told(told, frozenset({told.who.lower()}), text) if told else _job(text, said, "i")


def _swapped(match: re.Match[str]) -> Frame:
    who = frozenset({match["subject"].lower()})
    if "origin" not in match.re.groupindex:
        return _framed(who, "uses", value_of(match["value"]), is_negated=True, is_changed=True)
    return _framed(who, "uses", value_of(match["value"]), is_changed=True, origin=value_of(match["origin"]).text)


def _told(told: Told, subject: frozenset[str], text: str) -> Frame:
    is_changed = told.is_over or tells_change(text)
    instead = _INSTEAD.search(told.value)
    value = value_of(told.value[: instead.start()] if instead else told.value)
    if told.relation == "attitude":
        return _framed(
            subject,
            f"attitude to {value.text}",
            Value("", value.has_reason, value.says_more),
            is_negated=told.is_denied,
        )
    origin = value_of(instead["origin"]).text if instead else ""
    return _framed(subject, told.relation, value, is_negated=told.is_denied, is_changed=is_changed, origin=origin)


def _job(text: str, said: Said, who: str | None = None) -> Frame | None:
    if said.isdisjoint(_JOBS):
        return None
    if match := _LEFT_FOR.match(text):
        subject = frozenset({who}) if who and match["subject"].lower() == who else subject_of(match["subject"])
        left = value_of(match["origin"]).text
        if match["value"] is None:
            return Frame(subject, "works", left, is_negated=True, is_changed=True)
        return _framed(subject, "works", value_of(match["value"]), is_changed=True, origin=left)
    match = _JOINED.match(text)
    if match is None:
        return None
    subject = frozenset({who}) if who and match["subject"].lower() == who else subject_of(match["subject"])
    return _framed(subject, "works", value_of(match["value"]), is_changed=True)


def _habit(text: str, said: Said) -> Frame | None:
    if said.isdisjoint(_HABITS):
        return None
    told = told_of(text, is_third=True)
    if told is None:
        return _job(text, said)
    if told.relation == "home":
        return None
    subject = subject_of(told.who)
    return _told(told, subject, text) if subject else None


def _of_thing(text: str, said: Said) -> Frame | None:
    if said & _MOVING and (match := _MOVED.match(text)):
        value = value_of(match["value"])
        # "Harbor was pushed to production" tells no more where it runs; "the deadline was pushed to 12 May" tells when it is.
        if match["verb"] or any(character.isdigit() for character in value.text):
            return _moved(subject_of(match["subject"]), (match["verb"] or "").lower(), match["origin"], value)
    for relation, pattern in _RELATIONS if said & _STANDING else ():
        if match := pattern.match(text):
            return _standing(match, relation, text)
    match = _IS.match(text) if said & _BEING else None
    return _is(match, text) if match else None if text.isascii() else _unspaced(text)


def _standing(match: re.Match[str], relation: str, text: str) -> Frame:
    is_negated, value = bool(match["no"] or match["no2"]), value_of(match["value"])
    subject = subject_of(match["subject"])
    return _numbered(_framed(subject, relation, value, is_negated=is_negated, is_changed=tells_change(text)))


def _is(match: re.Match[str], text: str) -> Frame:
    raw = match["value"]
    role, former = _NEW_ROLE.match(raw), _FORMER.match(raw)
    raw = raw[role.end() :] if role else raw[former.end() :] if former else raw
    subject = match["subject"]
    return _numbered(
        _framed(
            frozenset({subject.lower()}) if subject.lower() in ("i", "we") else subject_of(subject),
            "is",
            value_of(raw),
            is_negated=bool(match["no"] or former),
            is_changed=bool(match["now"] or match["became"] or role or former) or tells_change(text),
            is_named=all(word[0].isupper() for word in subject.split()),
        )
    )


def _numbered(frame: Frame) -> Frame:
    """The same as a number of the subject: "listens on port 8090" as "port is 8090"."""
    found = _NUMBERED_VALUE.match(frame.value)
    if found is None or found["kind"] not in NUMBERED:
        return frame
    return Frame(
        frame.subject | {found["kind"]},
        frame.relation if frame.relation == "moved" else "is",
        found["number"],
        is_negated=frame.is_negated,
        is_changed=frame.is_changed,
        origin=frame.origin,
        has_reason=frame.has_reason,
        says_more=frame.says_more,
        is_one_of_several=frame.relation == "listens",
    )


def _unspaced(text: str) -> Frame | None:
    match = _IS_UNSPACED.match(text)
    if match is None:
        return None
    relation = "moved" if match["moved"] else "is"
    is_changed = bool(match["moved"] or match["now"] or match["now2"])
    return _framed(subject_of(match["subject"]), relation, value_of(match["value"]), is_changed=is_changed)


def _abroad(text: str, said: Said) -> Frame | None:
    match = _IS_ABROAD.match(text) if said & _BEING_ABROAD else None
    if match is None:
        return None
    subject, value = match["subject"] or match["subject3"], match["value"] or match["value3"]
    is_changed = bool(match["now"] or match["now2"] or match["now3"]) or "теперь" in text
    return _framed(subject_of(subject), "is", value_of(value), is_changed=is_changed)


def _moved(subject: frozenset[str], verb: str, origin: str | None, value: Value) -> Frame | None:
    left = value_of(origin).text if origin else ""
    if not subject & {"i", "we"}:
        return _numbered(_framed(subject, "moved", value, is_changed=True, origin=left)) if subject else None
    # What a person moves between are homes or tools; without the one that was left, nothing tells which.
    is_home = "i" in subject and verb == "moved"
    return _framed(
        subject & {"i", "we"},
        "home" if is_home else "uses",
        value,
        is_changed=True,
        origin=left,
        is_one_of_several=is_home and not left,
    )


def same_subject(first: Frame, second: Frame) -> bool:
    """Whether two frames speak of one subject; "Harbor" and "Harbor board" are one where a technology is meant."""
    if first.subject == second.subject:
        return True
    if not {first.relation, second.relation} <= {"stack", "moved", "uses"}:
        return False
    return bool(first.subject - GENERIC_NOUNS) and first.subject - GENERIC_NOUNS == second.subject - GENERIC_NOUNS
