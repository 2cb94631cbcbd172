"""Standing instructions: always, never, must, should, make sure to, remember to, and prohibitions."""

from __future__ import annotations

import re

from .phrasing import is_pointing, is_supposed, stated, without_opening
from .text import fold_apostrophes

_SHAPE = re.compile(
    r"(?<![\w'])(?P<verb>always|never|must(?:n't|\s+not)?|should(?:n't|\s+not)?|make\s+sure\s+to|remember\s+to"
    r"|(?:do\s+not|don't)\s+forget\s+to|do\s+not|don't|cannot)\s+(?P<body>\S.{3,279})$",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"(?:please|you|we|also|and|you\s+all|so|then|kindly)?(?:\s+(?:please|also))?", re.IGNORECASE)
_PROHIBITING = re.compile(r"(?:must|should)(?:n't|\s+not)|do\s+not|don't|cannot", re.IGNORECASE)
_REMINDING = re.compile(r"(?:do\s+not|don't)\s+forget\s+to", re.IGNORECASE)
_TALK = re.compile(
    r"(?:mind|know|worry|bother|care|think|want|need|like|have|understand|see|remember|believe|get|recall|be\s+sorry"
    r"|say|forget)\b",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\b(?:soon|in\s+a\s+(?:minute|moment|bit)|any\s+(?:minute|moment)|by\s+now|work\s+now)\b", re.IGNORECASE
)
_OVER = re.compile(r"\b(?:any\s?more|any\s?longer)\W*$", re.IGNORECASE)
_OTHER_LANGUAGES = re.compile(
    r"必须|必須|不要|禁止|总是|總是|记住|記住|务必|務必|必ず|いつも.{0,40}(?:する|して)|しないで|してはいけない|항상|반드시|하지\s?마"
    r"|(?<!\w)(?:всегда|никогда|нельзя)(?!\w)",
    re.IGNORECASE,
)


def requirement(sentence: str) -> str | None:
    """`User requirement (<verb>): <body>`, or the whole sentence when the verb has a subject or a condition of its own.

    A prohibition is labelled `(never)`: its object alone would say the opposite.
    """
    own_words = stated(without_opening(sentence))
    shape = _SHAPE.search(fold_apostrophes(own_words))
    if shape is None:
        return own_words if _OTHER_LANGUAGES.search(own_words) else None
    verb, head = " ".join(shape["verb"].lower().split()), own_words[: shape.start()].strip(" ,")
    # "We don't use npm anymore" tells how it is now, and asks nothing.
    if _OVER.search(shape["body"]) and _PROHIBITING.fullmatch(verb) and head:
        return None
    if _TALK.match(shape["body"]) and verb in ("never", "do not", "don't", "must", "should"):
        return None
    if _ADDRESSED.fullmatch(head):
        return f"User requirement ({_label(verb)}): {own_words[shape.start('body') :]}"
    return own_words if _stands_alone(verb, head, own_words) else None


def _label(verb: str) -> str:
    if _REMINDING.fullmatch(verb):
        return "remember to"
    return "never" if _PROHIBITING.fullmatch(verb) else verb


def _stands_alone(verb: str, head: str, sentence: str) -> bool:
    if is_pointing(head) and len(head.split()) == 1:
        return False
    if verb in ("do not", "don't", "cannot", "make sure to", "remember to") or _REMINDING.fullmatch(verb):
        return False
    if head.lower() == "i" and verb not in ("always", "never"):
        return False
    return not _PASSING.search(sentence) and not _is_imagined(head, sentence)


def _is_imagined(head: str, sentence: str) -> bool:
    # "If a test fails, always rerun it" is a rule with a condition; "if we moved, we should ..." is a thought.
    conditional = head.lower().startswith(("if ", "when ", "unless "))
    return (
        is_supposed(head.partition(" ")[2]) if conditional and "should" not in sentence.lower() else is_supposed(head)
    )
