"""Statements as the original TypeScript package finds them in a message. Kept for parity only."""

from __future__ import annotations

import re

_URL = re.compile(r"https?://\S+", re.ASCII)
_REQUIREMENT = re.compile(
    r"\b(always|never|must|should|make sure to|remember to)\s+([^.\n]{4,160})", re.IGNORECASE | re.ASCII
)
_COPULA = re.compile(r"(?<!\S)([A-Za-z][^.?!\n]{2,60}?)\s+(?:is|are)\s+([^\n]{3,200})", re.IGNORECASE | re.ASCII)
_EMPTY_VALUE = re.compile(r"(?:not|nothing|unclear|unknown|the same|that|this|it)\b", re.IGNORECASE | re.ASCII)
_SPECIFIC = re.compile(r"[A-Z0-9_./:-]")
_SENTENCE_END = re.compile(r"\.\s+[A-Z]")
_ARTICLE = re.compile(r"(?:that|the|a|an|it|this)\s+", re.IGNORECASE | re.ASCII)
_ACKNOWLEDGEMENT = re.compile(r"(?:ok|okay|noted|got it|sure|thanks)[\s,.!]*$", re.IGNORECASE | re.ASCII)
_LONG_WORD = re.compile(r"[a-z]{4,}", re.ASCII)
_COPULA_SCAN = 4_000


def contents_ts(message: str) -> list[str]:
    """URLs, then requirements, then "X is Y", tidied, without those that a longer one contains."""
    found = [f"User-provided URL: {tidied(url)}" for url in _URL.findall(message)]
    found += [f"User requirement ({verb.lower()}): {tidied(body)}" for verb, body in _REQUIREMENT.findall(message)]
    found += [
        tidied(f"{subject} is {value}")
        for subject, value in _COPULA.findall(message[:_COPULA_SCAN])
        if not _EMPTY_VALUE.match(value) and _SPECIFIC.search(value)
    ]
    return without_contained(
        [content for content in found if 8 <= len(content) <= 300 and not _ACKNOWLEDGEMENT.match(content)]
    )


def tidied(statement: str) -> str:
    """One sentence without its article and its closing punctuation."""
    end = _SENTENCE_END.search(statement)
    kept = " ".join((statement[: end.start()] if end else statement).split())
    return _ARTICLE.sub("", kept, count=1).rstrip(",;:.。") if _ARTICLE.match(kept) else kept.rstrip(",;:.。")


def without_contained(contents: list[str]) -> list[str]:
    """Each statement once, and none whose longer words all occur in a longer one."""
    unique = list(dict.fromkeys(contents))
    spoken = [set(_LONG_WORD.findall(content.lower())) for content in unique]
    return [
        content
        for at, content in enumerate(unique)
        if not any(
            len(other) > len(content) and spoken[at] <= spoken[beside]
            for beside, other in enumerate(unique)
            if beside != at
        )
    ]
