"""How a client reaches its service, checked before the first call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypedDict
from urllib.parse import urlsplit

DEFAULT_BASE_URL = "http://localhost:3000"
DEFAULT_TIMEOUT = 30_000.0
DEFAULT_RETRY = 2
MAX_RETRY = 10


class ConfigFields(TypedDict, total=False):
    """The fields of `CognitiveMemoryConfig` as keyword arguments."""

    api_key: str
    base_url: str | None
    timeout: float
    retry: int
    debug: bool
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CognitiveMemoryConfig:
    """Where the service is and how patient to be with it. The key and the headers are in no `repr`.

    Attributes:
        api_key: The key the service minted; it decides organisation and scope.
        base_url: Scheme, host and, behind a proxy, a path prefix; what follows it is the client's to add.
        timeout: Milliseconds: to connect, for each silence of the service, and for an answer as a whole.
        retry: Further tries after a failure that may pass; 0 for none.
        debug: Log method, URL and status of each try.
        headers: Sent along with each request; they never replace the client's own.

    Raises:
        ValueError: a value cannot be used. The message never repeats the key or a header.
    """

    api_key: str = field(default="", repr=False)
    base_url: str | None = None
    timeout: float = DEFAULT_TIMEOUT
    retry: int = DEFAULT_RETRY
    debug: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        _check_patience(self.timeout, self.retry)
        object.__setattr__(self, "api_key", _key(self.api_key))
        object.__setattr__(self, "base_url", checked_url(self.base_url))
        object.__setattr__(self, "headers", MappingProxyType(_checked_headers(self.headers)))

    @property
    def url(self) -> str:
        """The base URL in use, without a slash at its end."""
        return checked_url(self.base_url)


def checked_url(base_url: str | None) -> str:
    """The base URL without slashes at its end; the default for None.

    Raises:
        ValueError: it is not an absolute http(s) URL, or has parts that cannot stand before a path.
    """
    url = DEFAULT_BASE_URL if base_url is None else base_url.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url:
        raise ValueError("base_url must be an absolute URL such as http://localhost:3000")
    if "?" in url or "#" in url:
        raise ValueError("base_url must not have a query or a fragment: paths are appended to it")
    if "@" in parts.netloc:
        raise ValueError("base_url must not have a user or password: it is logged; use api_key or headers")
    return url


def _key(api_key: str) -> str:
    """The key without the line break that files and shells leave behind it."""
    key = api_key.strip() if isinstance(api_key, str) else ""
    if not key:
        raise ValueError("api_key must not be blank: the memory service mints one for each organisation")
    if not _is_header_text(key) or " " in key:
        raise ValueError("api_key must be one word of ASCII characters")
    return key


def _check_patience(timeout: float, retry: int) -> None:
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not math.isfinite(timeout) or timeout <= 0:
        raise ValueError(f"timeout must be a positive number of milliseconds, got {timeout!r}")
    if isinstance(retry, bool) or not isinstance(retry, int) or not 0 <= retry <= MAX_RETRY:
        raise ValueError(f"retry must be a whole number from 0 to {MAX_RETRY}, got {retry!r}")


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        # The HTTP library would repeat the whole value in its own complaint, and a header may be a secret.
        if not name or not _is_header_text(name) or not _is_header_text(value):
            raise ValueError(f"the header {name!r} must be printable ASCII text on one line")
    return dict(headers)


def _is_header_text(text: str) -> bool:
    return isinstance(text, str) and text.isascii() and text.isprintable()
