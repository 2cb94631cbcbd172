"""Fields of work a text is about, by keyword."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from .profile import Profile
from .text import SCAN_LIMIT


class Keywords(NamedTuple):
    """How a domain is recognised: words that may be continued (`token` finds `tokens`), and words that may not."""

    beginnings: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()


DOMAIN_KEYWORDS: Mapping[str, Keywords] = MappingProxyType(
    {
        "auth": Keywords(
            ("login", "session", "oauth", "token", "password", "permission", "authenticat", "authoriz", "authoris"),
            ("jwt", "auth", "authn", "authz"),
        ),
        "database": Keywords(
            ("postgres", "sqlite", "schema", "migration", "prisma", "drizzle", "mongo", "redis"), ("sql",), ("sql",)
        ),
        "frontend": Keywords(("tailwind", "component", "layout", "render"), ("css", "jsx", "tsx", "ui", "html")),
        "build": Keywords(("webpack", "turbo", "tsconfig", "pnpm", "package.json", "bundle"), ("vite",)),
        "api": Keywords(("graphql", "endpoint", "route", "fetch", "request", "response"), ("rest",)),
        "git": Keywords(("branch", "commit", "merge", "rebase", "worktree", "conflict")),
    }
)
"""The domains in the order in which they are reported. Pass a table of your own to add some."""

_TS_KEYWORDS = {
    "auth": "auth login session jwt oauth token password permission",
    "database": "postgres sqlite sql schema migration prisma drizzle mongo redis",
    "frontend": "css tailwind component jsx tsx layout ui render html",
    "build": "vite webpack turbo tsconfig pnpm package.json bundle",
    "api": "rest graphql endpoint route fetch request response",
    "git": "branch commit merge rebase worktree conflict",
}
_WORD = re.compile(r"\w+")
_TS_PATTERNS = {domain: re.compile("|".join(map(re.escape, words.split()))) for domain, words in _TS_KEYWORDS.items()}


def extract_domains(
    text: str, profile: Profile = Profile.V1, table: Mapping[str, Keywords] = DOMAIN_KEYWORDS
) -> list[str]:
    """The domains a text mentions, in the order of the table.

    TS finds a keyword anywhere, so that "build" is about the frontend for its "ui"; V1 only where a word begins.
    """
    lowered = text[:SCAN_LIMIT].lower()
    if profile is Profile.TS:
        return [domain for domain, pattern in _TS_PATTERNS.items() if pattern.search(lowered)]
    words = set(_WORD.findall(lowered))
    found = {domain for word in words for domain in _domains_of(word, tuple(table.items()))}
    return [domain for domain, keywords in table.items() if domain in found or _spans_words(keywords, lowered)]


@lru_cache(maxsize=16_384)
def _domains_of(word: str, table: tuple[tuple[str, Keywords], ...]) -> tuple[str, ...]:
    return tuple(
        domain
        for domain, keywords in table
        if word in keywords.whole or word.startswith(keywords.beginnings) or word.endswith(keywords.endings)
    )


def _spans_words(keywords: Keywords, lowered: str) -> bool:
    """Whether a keyword such as `package.json`, which is no single word, occurs."""
    return any(not word.isalnum() and word in lowered for word in (*keywords.beginnings, *keywords.whole))
