"""The fast gate: whether a message seems to correct something that was taken as given. No model, no state."""

from __future__ import annotations

import re

from .domains import extract_domains
from .profile import Profile
from .reports import FastGateResult
from .text import SCAN_LIMIT, fold_apostrophes

CAUTION = "The message below may correct something established earlier. Check remembered facts against it before use."
_END_LENGTH = 4_000

_CHANGED = "switched|changed|moved|migrated|replaced"
_TS_PATTERN = re.compile(
    rf"actually,?\s+(?:we|i)\s+(?:{_CHANGED}|use|want|have)"
    r"|that(?:'s| is) (?:wrong|incorrect|outdated|false|not right|no longer)"
    r"|no,?\s+(?:it's|it is|we use|we switched|it should be|don't use)"
    r"|stop using|instead of|disregard (?:prior|previous|what i said)",
    re.IGNORECASE | re.ASCII,
)
_V1_PATTERN = re.compile(
    rf"\bactually,? (?:we|i)(?:'ve)? (?:(?:have|had|just|now) )?(?:{_CHANGED}|use|want|have)\b"
    rf"|\bactually,? (?:[\w.'-]{{1,40}} ){{1,4}}?(?:{_CHANGED})\b"
    r"|\bactually,? (?:it's|it is|my|our|the|always|never(?! mind)|don't use|do not use)(?![\w'])"
    r"|\bthat(?:'s| is) (?:wrong|incorrect|outdated|false|not right|no longer)\b"
    r"|\bno,? (?:it's|it is|we use|we switched|it should be|don't use|do not use)(?![\w'])"
    r"|\bno, (?:my|our|the)\b|\bstop using\b|\binstead of\b|\bdisregard (?:prior|previous|what i said)\b"
    r"|其实(?:是|应该)|不对|搞错了|實際上|違います|사실은|아니라|на самом деле"
)
# Looking for these first spares most messages the pattern, which is tried at every character.
_CLUES = (
    *(
        "actually",
        "that's",
        "that is",
        "no it",
        "no, it",
        "no we",
        "no, we",
        "no don't",
        "no, don't",
        "no do",
        "no, do",
    ),
    *("no, my", "no, our", "no, the"),
    *("stop using", "instead of", "disregard", "其实", "不对", "搞错了", "實際上", "違います", "사실은", "아니라"),
    "на самом деле",
)
_QUOTED = re.compile(r"```.{0,4000}?(?:```|\Z)|`[^`\n]{1,400}`|\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”", re.DOTALL)


def run_fast_gate(message: str, profile: Profile = Profile.V1) -> FastGateResult:
    """Proceed, or proceed with a caution; names the domains of the message. A blank message proceeds without domains.

    V1 reads words rather than substrings, skips code and quotations, and looks at the first and last 4,000 characters.
    """
    if not message.strip():
        return FastGateResult(action="proceed")
    domains = extract_domains(message, profile)
    matched = matched_correction(message, profile)
    if matched is None:
        return FastGateResult(action="proceed", detected_domains=domains)
    return FastGateResult(action="inject_caution", caution_note=CAUTION, detected_domains=domains, matched=matched)


def matched_correction(message: str, profile: Profile) -> str | None:
    """The piece of a message that calls for caution, under the rules of a profile."""
    return correction_in(message) if profile is Profile.V1 else _correction_ts(message)


def correction_in(message: str) -> str | None:
    """The piece of a message that reads as a correction, or None."""
    own_words = _own_words(message)
    if not any(clue in own_words for clue in _CLUES):
        return None
    match = _V1_PATTERN.search(own_words)
    return match.group() if match else None


def _correction_ts(message: str) -> str | None:
    match = _TS_PATTERN.search(message[:SCAN_LIMIT])
    return match.group() if match else None


def _own_words(message: str) -> str:
    if len(message) > 2 * _END_LENGTH:
        message = f"{message[:_END_LENGTH]}\n{message[-_END_LENGTH:]}"
    if "`" in message or '"' in message or "“" in message:
        message = _QUOTED.sub(" ", message)
    return " ".join(fold_apostrophes(message).lower().split())
