"""How a sentence is meant: asked, supposed, told after others, pasted, or stated; and the words of politeness before it."""

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
    r"^(?:if|suppose|supposing|imagine|assum(?:e|ing)|what if|could|would|should|can|might|shall|let's|lets|let us|say|maybe"
    r"|perhaps|whether|unless|once|as soon as|in theory|theoretically"
    r"|in (?:the|a|my|this) (?:novel|story|book|film|movie|game|poem|scenario|dream))\b"
    r"|(?-i:\bmay\b)|\b(?:would|could|might|maybe|perhaps|hypothetically|thinking aloud|wonder(?:ing)?|wish|hope|hopefully"
    r"|i think|i believe|i guess|i suppose|i assume|i doubt|not sure|unsure|probably|possibly|were to|for example"
    r"|for instance|pretend)\b|\be\.g\.|'d\b|如果|要是|假如|假设|假設|也许|也許|或许|可能|もし|仮に|かもしれ|만약|만일|아마"
    r"|(?<!\w)(?:если|допустим|предположим|может быть|angenommen|falls ich|wenn ich|stell dir vor|vielleicht|supongamos|si yo"
    r"|quizás?|tal vez|supposons|imaginons|peut-être|supponiamo|forse|suponha|talvez|अगर|शायद|मान लो|لو|إذا|ربما|افترض)(?!\w)",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"^(?:according to|i (?:have )?(?:heard|read) |it (?:seems|appears|sounds|looks) |rumou?r has it"
    r"|(?!(?:i|we)\s)(?:[^\s,.:;]+\s+){1,4}?(?:says?|said|thinks?|thought|claim(?:s|ed)?|believes?|told\s+(?:me|us)|suggest(?:s|ed)?"
    r"|recommend(?:s|ed)?|returned|reported|wrote|states?|stated|reads?|mention(?:s|ed)?|warn(?:s|ed)?)"
    r"(?:\s+that\b|\s*[:,]|\s+(?:we|our|my|the|i|it|he|she|they|you|your|this|his|her|their)\b|\s*[\"“«「])"
    r"|(?:note|text|message|output|quote|excerpt|result)s?\s+(?:of|from)\s+[^:]{1,60}:)",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"^(?:please\s+)?(?:translate|summari[sz]e|rewrite|rephrase|paraphrase|proofread|write(?!\s+down)|draft|compose|generate|repeat"
    r"|(?:fix|correct)(?=\s+(?:this|the|my)\s+(?:sentence|text|grammar|paragraph|translation|spelling)))"
    r"(?:\s+(?:this|that|the|a|an|my|our|it|these|me|to|into|after|sentence|paragraph)\b|\s*[:\"“«])",
    re.IGNORECASE,
)
_CARRIED = re.compile(r"[:\"“«]")
_LOG_LINE = re.compile(
    r"^\W{0,3}\d{2,4}[-/:.]\d{2}[-/:.]\d{2}(?:[T\s,.]|$)|\b(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)\b"
    r"|^\s*at\s+\S+\(|^(?:\$|#|>>>|>)\s"
)
_OTHER_SPEAKER = re.compile(
    r"^[(\[<*]*(?:assistant|system|tool|ai|bot|agent|model|user|human)[)\]>*]*\s*[:)\]]|^\((?:assistant|tool)",
    re.IGNORECASE,
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


def is_reported(sentence: str) -> bool:
    """Whether a sentence tells what somebody or something else says: a colleague, a page, the output of a tool."""
    return bool(_REPORTED.match(fold_apostrophes(sentence)))


def is_task(sentence: str) -> bool:
    """Whether a sentence asks for a text to be made; what it names belongs to the text."""
    return bool(_TASK.match(sentence))


def carries_text(sentence: str) -> bool:
    """Whether a task brings the text to work on with it."""
    return is_task(sentence) and bool(_CARRIED.search(sentence))


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
