"""Telling what is said about this conversation from what holds beyond it.

"Do not verify this" is meant for the next reply. Remembered, it would be obeyed for ever.
"""

from __future__ import annotations

import re

from .profile import Profile
from .sought import Sought, sought
from .text import SCAN_LIMIT, fold_apostrophes

_VERB = r"(?:verify|check|confirm|look[ -]?up|search|investigate|browse|resolve)"
_HERE = r"(?:this|the)\s+conversation"
_JUST = r"\bjust\s+(?:remember|note|acknowledge|retain|treat)\b"
_HELD = rf"\b(?:held|noted|stored|remembered)\s+(?:in|for)\s+{_HERE}"
_ONLY_HERE = r"\bfor\s+this\s+(?:conversation|session|turn|reply|response)\s+only\b"
_ACKNOWLEDGEMENT = r"^\s*(?:ok|okay|noted|got\s+it|sure|thanks)\s*[.!]?\s*$"

_TS_PATTERN = re.compile(
    rf"\b(?:do\s+not|don't|never|no\s+need\s+to)\s+{_VERB}\b|{_JUST}|{_HELD}|\bnot\s+verified\b"
    rf"|\bwithout\s+verifying\b|{_ONLY_HERE}|{_ACKNOWLEDGEMENT}",
    re.IGNORECASE | re.ASCII,
)

_ABOUT_THIS = r"(?:it|this|that|these|those|the\s+above)\b|[^.!?]{0,80}\bagainst\s+the\s+(?:repo|repository)\b"
# "Check in", "check out" and "check X into git" are work on a repository, not a look at a fact.
_NOT_PHRASAL = r"(?!\s+(?:in|out|into)\b)(?![^.!?]{0,60}\binto\b)"
_REASONS = (
    (
        "asks not to look something up",
        rf"\b(?:do\s+not|don't|no\s+need\s+to)\s+{_VERB}\b{_NOT_PHRASAL}|\bnever\s+{_VERB}\s+(?:{_ABOUT_THIS})",
        "verify check confirm look search investigate browse resolve",
    ),
    (
        "asks to hold something for now",
        rf"{_JUST}|{_HELD}|\bfor\s+now\s*[.!]?\s*$|\bin\s+this\s+chat\b",
        "just conversation now chat",
    ),
    ("holds for this conversation only", _ONLY_HERE, "only"),
    (
        "says that it was not verified",
        r"(?:,|\(|\bbut)\s*not\s+verified\b|^\s*not\s+verified\b|\bwithout\s+verifying\b",
        "verif",
    ),
    ("is an acknowledgement", _ACKNOWLEDGEMENT, "ok noted got sure thanks"),
)
_V1_PATTERNS: tuple[tuple[str, Sought], ...] = tuple(
    (reason, sought(pattern, clues)) for reason, pattern, clues in _REASONS
)


def is_interaction_scoped(content: str, profile: Profile = Profile.V1) -> bool:
    """Whether a statement is an instruction about this conversation rather than a fact."""
    if profile is Profile.TS:
        return bool(_TS_PATTERN.search(content[:SCAN_LIMIT]))
    return interaction_reason(content) is not None


def interaction_reason(content: str) -> str | None:
    """Why a statement is not kept beyond this conversation, in words for the person who made it; None when it is."""
    text = fold_apostrophes(content[:SCAN_LIMIT])
    lowered = text.lower()
    for reason, pattern in _V1_PATTERNS:
        if pattern.is_in(text, lowered):
            return f"about this conversation: {reason}"
    return None
