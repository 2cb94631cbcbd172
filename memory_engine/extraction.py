"""Finding lasting statements in a user's message with rules alone.

The message is read sentence by sentence. Questions, suppositions, pasted logs and instructions about the conversation
teach nothing; credentials are never kept. Of the rest three passes, which both profiles share, take URLs, requirements and
"X is Y" with a specific Y; two more take plain facts about the user and about named things.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice

from .domains import extract_domains
from .estimate import quarters
from .extraction_ts import contents_ts
from .first_person import first_person_fact
from .framed_facts import framed_fact
from .gate import correction_in
from .interaction import interaction_reason
from .lossy import is_lossy_rewrite
from .named_facts import named_fact
from .phrasing import (
    carries_text,
    is_foreign,
    is_question,
    is_reported,
    is_supposed,
    is_task,
    stated,
    without_blocks,
    without_opening,
)
from .profile import Profile
from .reports import DeterministicMemory, RejectedStatement
from .requirements import requirement
from .screening import screen_injection
from .secrecy import REDACTED, has_secret
from .small_talk import is_small_talk
from .text import clip, sentences, without_lone_surrogates

MAX_RULE_MEMORIES = 6
"""At most so many statements of the shared passes, and as many of the other two, are taken from one message."""

_LONGEST_MESSAGE = 200_000
_MOST_SENTENCES = 10_000
_LONGEST_SENTENCE = 600
_TOO_LONG = f"longer than {_LONGEST_SENTENCE} characters"
_LONGEST_CONTENT = 300
_SHORTEST_QUARTERS = 8

# The passes in their order, and by what is worth most when a message has too many statements.
_URLS, _REQUIREMENTS, _VALUES, _PERSONAL = range(4)
_WORTH = (_REQUIREMENTS, _URLS, _VALUES, _PERSONAL)

_URL = re.compile(r"https?://[^\s<>\"'`]+", re.IGNORECASE)
_COPULA = re.compile(r"(?P<subject>[^\W_][^?!;\n]{1,60}?)\s+(?:is|are)\s+(?P<value>\S.{0,199})$", re.IGNORECASE)
_COPULA_UNSPACED = re.compile(
    r"(?P<subject>[^\s，,]{1,40}?|\S.{1,39}?)\s?(?:是|为|為|は|改成|改为|改為|变成|變成|换成|換成)\s?(?P<value>\S.{0,100})$"
)
_EMPTY_VALUE = re.compile(
    r"(?:nothing|unclear|unknown|the\s+same|that|this|it|there|here)\b|not\s+(?!\S*\d)", re.IGNORECASE
)
_PASSING_VALUE = re.compile(r"(?:broken|failing|stuck|down|crashing|hanging|wrong|slow|red|gone)\b", re.IGNORECASE)
_SPECIFIC = re.compile(r"[A-Z0-9_./:-]")
_CODE_LIKE = re.compile(r"[A-Za-z0-9]")
_NO_SUBJECT = re.compile(
    r"(?:it|this|that|these|those|there|here|what|which|who|where|when|why|how|he|she|they|you|i|we|one)\b"
    r"(?!\s+(?:\w+\s+)?(?:repo|repository|project|service|team)\b)",
    re.IGNORECASE,
)
_COPULA_ABROAD = re.compile(
    r"(?:[^\W_][^?!;\n]{1,60}?)\s+(?:—|–|это|теперь|ist|lautet|es|est|è|é|هو|هي)\s+(?:jetzt\s+|ahora\s+|maintenant\s+|теперь\s+)?\S*\d\S{0,60}$"
    r"|[^?!;\n]{2,60}\s\S*\d\S*\s+है$",
    re.IGNORECASE,
)
_NO_SUBJECT_UNSPACED = re.compile(r"(?:这|那|這|它|他|她|你|什么|什麼|谁|誰|それ|これ|あれ|ここ)")
_ARTICLE = re.compile(r"(?:that|the|a|an|it|this)\s+", re.IGNORECASE)


@dataclass(slots=True)
class Reading:
    """What rules made of a message."""

    memories: list[DeterministicMemory] = field(default_factory=list)
    rejected: list[RejectedStatement] = field(default_factory=list)
    suspicions: dict[str, str] = field(default_factory=dict)
    """Content to what is suspicious about the sentence it was taken from."""
    corrections: set[str] = field(default_factory=set)
    """Contents whose sentence, or a bare "that's wrong" before it, takes something back."""
    stated: list[str] = field(default_factory=list)
    """The sentences that claim something, whether a rule understands them or not."""
    sentence_count: int = 0
    question_count: int = 0
    small_talk_count: int = 0

    @property
    def is_lookup(self) -> bool:
        """Whether every sentence asks."""
        return self.sentence_count > 0 and self.question_count == self.sentence_count

    @property
    def is_small_talk(self) -> bool:
        """Whether every sentence is a greeting or the like."""
        return self.sentence_count > 0 and self.small_talk_count == self.sentence_count

    @property
    def claims_something(self) -> bool:
        """Whether there is a sentence that a fact could be taken from."""
        return not all(map(is_small_talk, self.stated))


def extract_deterministic(user_message: str, profile: Profile = Profile.V1) -> list[DeterministicMemory]:
    """The statements worth keeping, in the user's own words, at most 6 of the shared passes.

    TS stops after its three passes and tags no domains.
    """
    if profile is Profile.TS:
        return [DeterministicMemory(content=content, domains=[]) for content in contents_ts(user_message)][
            :MAX_RULE_MEMORIES
        ]
    return read_message(user_message).memories


def read_message(user_message: str, *, allow_secrets: bool = False, profile: Profile = Profile.V1) -> Reading:
    """The statements of a message, and those that were turned down with the reason."""
    reading = Reading()
    shared: dict[str, int] = {}
    personal: dict[str, int] = {}
    takes_back = False
    text = without_blocks(without_lone_surrogates(user_message[:_LONGEST_MESSAGE]))
    for sentence in islice(sentences(text), _MOST_SENTENCES):
        reading.sentence_count += 1
        reading.small_talk_count += is_small_talk(sentence)
        if is_question(sentence):
            reading.question_count += 1
        elif reason := _refusal(sentence, allow_secrets):
            _turn_down(reading, sentence, reason)
            if reason == _TOO_LONG and not is_foreign(sentence) and not is_supposed(sentence):
                reading.stated.append(sentence)
        elif not is_foreign(sentence):
            if not is_supposed(sentence) and not carries_text(without_opening(sentence)):
                reading.stated.append(sentence)
            found = _read_sentence(sentence)
            takes_back = correction_in(sentence) is not None or (takes_back and bool(found))
            for content, rank in found.items():
                (personal if rank == _PERSONAL else shared).setdefault(content, rank)
            _mark(reading, found, sentence, takes_back)
            takes_back = takes_back and not found
    if len(user_message) > _LONGEST_MESSAGE or reading.sentence_count == _MOST_SENTENCES:
        _turn_down(reading, text[-200:], "the message is too long to be read to its end")
    contents = _capped(reading, shared) + _capped(reading, personal)
    if profile is Profile.TS:
        contents = [] if reading.question_count else contents_ts(user_message)[:MAX_RULE_MEMORIES]
    reading.memories = [
        DeterministicMemory(content=content, domains=extract_domains(content)) for content in _uncovered(contents)
    ]
    return reading


def _mark(reading: Reading, found: dict[str, int], sentence: str, takes_back: bool) -> None:
    suspicion = screen_injection(sentence) if found else None
    for content in found:
        if suspicion:
            reading.suspicions[content] = suspicion
        if takes_back:
            reading.corrections.add(content)


def _refusal(sentence: str, allow_secrets: bool) -> str | None:
    if not allow_secrets and has_secret(sentence):
        return "holds a secret"
    if len(sentence) > _LONGEST_SENTENCE:
        return _TOO_LONG
    return interaction_reason(sentence)


def _turn_down(reading: Reading, sentence: str, reason: str) -> None:
    if reason.endswith("acknowledgement") or len(reading.rejected) >= 4 * MAX_RULE_MEMORIES:
        return
    content = REDACTED if has_secret(sentence[:_LONGEST_SENTENCE]) else clip(sentence, 200)
    reading.rejected.append(RejectedStatement(content=content, reason=reason))


def _read_sentence(sentence: str) -> dict[str, int]:
    found = {f"User-provided URL: {url.rstrip('.,;:!?)*')}": _URLS for url in _URL.findall(sentence)}
    claim = without_opening(sentence)
    if is_reported(claim) or carries_text(claim):
        return found
    required = requirement(sentence)
    if required:
        return {**found, required: _REQUIREMENTS}
    if is_supposed(claim) or is_task(claim):
        return found
    stated_value = _copula(sentence) or _copula_unspaced(sentence) or _copula_abroad(sentence)
    if stated_value:
        return {**found, stated_value: _VALUES}
    fact = first_person_fact(sentence) or named_fact(sentence) or framed_fact(sentence)
    return {**found, fact: _PERSONAL} if fact else found


def _copula(sentence: str) -> str | None:
    text = stated(without_opening(sentence))
    match = _COPULA.match(text)
    if match is None or _NO_SUBJECT.match(match["subject"]):
        return None
    if _EMPTY_VALUE.match(match["value"]) or _PASSING_VALUE.match(match["value"]):
        return None
    if not _SPECIFIC.search(match["value"]) and not any(character.isdigit() for character in match["subject"]):
        return None
    return _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text


def _copula_unspaced(sentence: str) -> str | None:
    if sentence.isascii():
        return None
    text = stated(sentence)
    match = _COPULA_UNSPACED.match(text)
    if match is None or _NO_SUBJECT_UNSPACED.match(match["subject"]) or not _CODE_LIKE.search(match["value"]):
        return None
    return text


def _copula_abroad(sentence: str) -> str | None:
    text = stated(without_opening(sentence))
    return text if _COPULA_ABROAD.match(text) else None


def _capped(reading: Reading, found: dict[str, int]) -> list[str]:
    kept = [content for content in found if _is_of_size(content)]
    taken = set(sorted(kept, key=lambda content: _WORTH.index(found[content]))[:MAX_RULE_MEMORIES])
    for content in kept:
        if content not in taken:
            _turn_down(reading, content, f"more than {MAX_RULE_MEMORIES} statements in one message")
    return sorted((content for content in kept if content in taken), key=lambda content: found[content])


def _is_of_size(content: str) -> bool:
    return quarters(content) >= _SHORTEST_QUARTERS and len(content) <= _LONGEST_CONTENT


def _uncovered(contents: list[str]) -> list[str]:
    return [
        content
        for content in contents
        if not any(
            len(other) > len(content) and not is_lossy_rewrite(content, other) for other in contents if other != content
        )
    ]
