"""How a sentence is meant: asked, supposed, quoted from a log, or stated; and the words of politeness before it."""

from __future__ import annotations

import re

from .text import fold_apostrophes

_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_QUESTION_END = re.compile(r"(?:[?？؟\u037e]|[吗嗎呢]|ですか|ますか|나요|까요)[)\"'”’」』!！.。\s]*$")
_OPENING = re.compile(
    r"(?:(?:actually|also|and|so|but|btw|by the way|fyi|for the record|just so you know|well|oh|hi|hello|hey|yes|no|ok|okay"
    r"|thanks|sorry|note that|please note that|please remember that|remember that|keep in mind that|as of (?:today|now)"
    r"|from now on)(?:\s*[,:;–—-]+\s+|\s+)"
    r"|(?:that(?:'s|’s| is) (?:wrong|incorrect|outdated|not right|false)|correction|update|note"
    r"|remember|please remember|now|today)\s*[,:;–—-]+\s+)+",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"^(?:if|suppose|supposing|imagine|assuming|what if|could|would|should|can|might|shall|let's|lets|maybe|perhaps)\b"
    r"|(?-i:\bmay\b)|\b(?:would|could|might|maybe|perhaps|hypothetically|thinking aloud|wonder(?:ing)?|wish|hope|hopefully"
    r"|i think|i believe|i guess|i suppose|i assume|not sure|unsure|probably|possibly|were to|e\.g\.|for example"
    r"|for instance|pretend)\b|'d\b|如果|要是|假如|也许|也許|或许|可能|もし|かもしれ|만약|아마|если бы|может быть",
    re.IGNORECASE,
)
_LOG_LINE = re.compile(
    r"^\W{0,3}\d{2,4}[-/:.]\d{2}[-/:.]\d{2}(?:[T\s,.]|$)|\b(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)\b"
    r"|^\s*at\s+\S+\(|^(?:\$|#|>>>|>)\s"
)
_OTHER_SPEAKER = re.compile(
    r"^[(\[<*]*(?:assistant|system|tool|ai|bot|agent|model)[)\]>*]*\s*[:)\]]|^\((?:assistant|tool)", re.IGNORECASE
)
_POINTING = re.compile(
    r"(?:it|its|it's|this|that|these|those|them|they|he|she|him|her|you|your|here|there|how|what|who|when|where|why|which"
    r"|to see|the way|the idea|the fact|nothing|something|everything|anything|one|some)\b",
    re.IGNORECASE,
)
_FENCED = re.compile(
    r"```.{0,100000}?(?:```|\Z)|-----BEGIN [A-Z ]{0,40}-----.{0,20000}?(?:-----END [A-Z ]{0,40}-----|\Z)", re.DOTALL
)


def is_question(sentence: str) -> bool:
    """Whether a sentence asks. The `?` of a URL's query is no question mark."""
    return bool(_QUESTION_END.search(_URL.sub(" ", sentence)))


def is_supposed(sentence: str) -> bool:
    """Whether a sentence plays with a thought instead of stating a fact."""
    return bool(_SUPPOSED.search(fold_apostrophes(sentence)))


def is_foreign(sentence: str) -> bool:
    """Whether a line was pasted: from a log, a shell, or another speaker."""
    return bool(_LOG_LINE.search(sentence) or _OTHER_SPEAKER.match(sentence))


def is_pointing(phrase: str) -> bool:
    """Whether a phrase means something only next to what was said before."""
    return bool(_POINTING.match(phrase))


def without_opening(sentence: str) -> str:
    """The sentence without "By the way," and its like."""
    opening = _OPENING.match(sentence)
    return sentence[opening.end() :] if opening and opening.end() < len(sentence) else sentence


def without_blocks(message: str) -> str:
    """The message without fenced code and key blocks."""
    return _FENCED.sub("\n", message) if "```" in message or "-----BEGIN" in message else message


def stated(sentence: str) -> str:
    """The words of a statement on one line, without closing punctuation."""
    return " ".join(sentence.split()).rstrip(" ,;:.。!！")
