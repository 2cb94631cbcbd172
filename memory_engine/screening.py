"""Finding text that wants to be an instruction once it is read back from memory."""

from __future__ import annotations

import re
import unicodedata

from .sought import Sought, sought
from .text import SCAN_LIMIT

_TALK = r"(?:instructions?|prompts?|rules|messages?|directions|context|guidelines)"
_SIGNS = (
    (
        "tells the reader to drop its instructions",
        rf"\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|the|your|my|of|these|those|every)\s+){{0,3}}"
        rf"(?:(?:previous|prior|above|earlier|preceding|system|existing)\s+){{1,2}}{_TALK}"
        r"|\b(?:ignore|disregard)\s+(?:the\s+)?(?:user|everything\s+(?:above|before))\b"
        r"|(?:忽略|无视|無視)(?:之前|以上|前面|上述|先前)?.{0,6}(?:指令|指示|提示)|(?:以前|上記)の(?:指示|命令)を無視",
        "ignore disregard forget override bypass",
    ),
    ("gives the reader another role", r"\byou\s+are\s+now\s+(?:a|an|the|in|no\s+longer|dan|free|my)\b", "you"),
    (
        "asks for hidden instructions",
        r"\b(?:reveal|show|print|repeat|leak|output|ignore|override|change)\b.{0,40}"
        r"\b(?:system\s+prompt|developer\s+message|hidden\s+instructions?)\b",
        "system developer hidden",
    ),
    (
        "carries the mark of another speaker",
        r"<\s{0,3}/?\s{0,3}(?:system|assistant|user|developer|tool|human|memor(?:y|ies)|instructions?|context|prompt)\b"
        r"|<\|[^|\n]{1,40}\|>|\[/?INST\]|(?-i:\b(?:SYSTEM|ASSISTANT|DEVELOPER)\s{0,3}:)",
        "< [ system assistant developer",
    ),
    ("opens a heading or a code fence", r"(?m:^[ \t]{0,8}(?:#{1,6}[ \t]+\S|```|~~~))", "# ``` ~~~"),
)
_PATTERNS: tuple[tuple[str, Sought], ...] = tuple((reason, sought(pattern, clues)) for reason, pattern, clues in _SIGNS)
_EXFIL_VERB = sought(r"\b(?:send|post|curl|upload|forward|wget|exfiltrate)\b.{0,120}?https?://", "://")
_CREDENTIAL = re.compile(r"\b(?:keys?|secrets?|tokens?|passwords?|credentials?)\b", re.IGNORECASE)
_UNSEEN = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
_NON_TEXT_SHARE = 0.2


def screen_injection(content: str) -> str | None:
    """Why a statement looks like an injected instruction, or None. It says nothing about who may be believed."""
    text = content[:SCAN_LIMIT]
    lowered = text.lower()
    for reason, sign in _PATTERNS:
        if sign.is_in(text, lowered):
            return reason
    if _EXFIL_VERB.is_in(text, lowered) and _CREDENTIAL.search(text):
        return "asks to send a credential away"
    if _UNSEEN.search(text):
        return "contains characters that cannot be seen"
    return "is not text" if _non_text_share(text) > _NON_TEXT_SHARE else None


def _non_text_share(text: str) -> float:
    if not text or (text.isascii() and text.isprintable()):
        return 0.0
    unreadable = sum(unicodedata.category(character)[0] == "C" and character not in "\n\r\t" for character in text)
    return unreadable / len(text)
