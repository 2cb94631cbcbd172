"""Identifiers as the original TypeScript package finds them: one pattern after the other over the whole text.

Kept for parity only. It finds fragments inside longer names and takes words made of the letters a to f for hashes.
"""

from __future__ import annotations

import re

_URL = re.compile(r"https?://\S+", re.ASCII)
_DOTTED_RUN = re.compile(r"[\w.-]++", re.ASCII)
_SLASH_RUN = re.compile(r"[\w./-]++", re.ASCII)
_SCREAMING = re.compile(r"\b[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++)++\b", re.ASCII)
_CODE = re.compile(r"\b[A-Z]{2,}+\d[A-Z0-9-]*+", re.ASCII)
_CAMEL = re.compile(r"\b[a-z]++[a-z0-9]*+[A-Z][A-Za-z0-9]*+\b", re.ASCII)
_KEBAB = re.compile(r"\b[a-z0-9]++(?:-[a-z0-9]++){2,}+", re.ASCII | re.IGNORECASE)
_HEX = re.compile(r"\b[0-9a-f]{6,}+\b", re.ASCII | re.IGNORECASE)
_LAST_LABEL = re.compile(r"[A-Za-z]{2,}", re.ASCII)


def extract_identifiers_ts(text: str) -> list[str]:
    """Kind by kind, each kind in order of appearance, each identifier once."""
    found = dict.fromkeys(_URL.findall(text))
    found.update(dict.fromkeys(_dotted_names(text)))
    found.update(dict.fromkeys(_slash_paths(text)))
    for pattern in (_SCREAMING, _CODE, _CAMEL, _KEBAB, _HEX):
        found.update(dict.fromkeys(pattern.findall(text)))
    return list(found)


def _dotted_names(text: str) -> list[str]:
    return [name for run in _DOTTED_RUN.findall(text) if "." in run and (name := _dotted_name(run))]


def _dotted_name(run: str) -> str:
    labels = run.split(".")
    first = next((at for at, label in enumerate(labels) if len(label) >= 2), len(labels))
    last = max((at for at, label in enumerate(labels) if at > first and _LAST_LABEL.fullmatch(label)), default=0)
    named = labels[first : last + 1]
    return ".".join(named) if len(named) >= 2 and all(named) else ""


def _slash_paths(text: str) -> list[str]:
    return [path for run in _SLASH_RUN.findall(text) if "/" in run and (path := _slash_path(run))]


def _slash_path(run: str) -> str:
    segments = run.split("/")
    for first, segment in enumerate(segments[:-1]):
        head = segment.rpartition(".")[2]
        if len(head) >= 2 and segments[first + 1]:
            rest = segments[first + 1 :]
            end = next((at for at, member in enumerate(rest) if not member), len(rest))
            return "/".join([head, *rest[:end]])
    return ""
