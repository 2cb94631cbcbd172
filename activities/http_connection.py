"""Where an HTTP controller connects to, and what it sends with every request."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from activities.credentials import REFERENCE, Credentials, read_secret
from activities.openapi.parameters import HEADER_NAME
from activities.openapi.request import HEADER_VALUE

Value = str | tuple[str, ...]

# The client writes these from the request itself.
UNSETTABLE = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "cookie",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_NAMED = re.compile(rf"(|.* )({REFERENCE.pattern})")
_URL = re.compile(r"[\x21-\x7e]+")
_COOKIE_NAME = re.compile(r"[!#$%&'*+.^_`|~A-Za-z0-9-]+")


@dataclass(frozen=True, slots=True)
class HttpConnection:
    """The server to call, in place of the document's, and fixed headers and cookies.

    A value may be or end with `env:NAME`, as in `Bearer env:TOKEN`: that part is read from the environment at each call.

    What stands here is not offered to the model. `host` is a URL and may have a path; "" leaves the document's.

    Raises:
        ValueError: the host is no such URL, or a name or value cannot be sent. No value is repeated.
    """

    host: str = ""
    headers: Mapping[str, Value] = field(default_factory=dict, repr=False)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.host:
            check_base_url(self.host)
        for name, value in self.headers.items():
            if not HEADER_NAME.fullmatch(name):
                raise ValueError(f"{name!r} cannot name a header")
            if name.lower() in UNSETTABLE:
                raise ValueError(f"the header {name} is written by the client and cannot be set")
            if not all(HEADER_VALUE.fullmatch(text) for text in _texts(value)):
                raise ValueError(f"the value of the header {name} cannot stand in a header")
        for name in self.cookies:
            if not _COOKIE_NAME.fullmatch(name):
                raise ValueError(f"{name!r} cannot name a cookie")

    def base_url(self, document_url: str) -> str:
        """The address before the path of an operation, without a slash at its end."""
        return (self.host or document_url).rstrip("/")

    def credentials(self, environment: Mapping[str, str] = os.environ) -> Credentials:
        """Headers and cookies as they are sent, with the named secrets read now.

        Raises:
            CredentialMissing: a variable is not set, or what it holds cannot be sent.
        """
        secrets: list[str] = []

        def read(text: str) -> str:
            named = _NAMED.fullmatch(text)
            if named is None:
                return text
            secrets.append(read_secret(named[2], environment))
            return named[1] + secrets[-1]

        headers = {name: tuple(read(text) for text in _texts(value)) for name, value in self.headers.items()}
        cookies = {name: read(value) for name, value in self.cookies.items()}
        return Credentials(headers=headers, cookies=cookies, secrets=tuple(secrets))


def check_base_url(url: str) -> None:
    """Refuse what no path can be appended to.

    Raises:
        ValueError: the URL is not absolute, not of http or https, or has a user, a query or a fragment.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not _URL.fullmatch(url):
        raise ValueError("the host must be an absolute http or https URL in ASCII")
    if parts.port == 0:
        raise ValueError("the host must have a port other than 0")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("the host must have no user, query or fragment: give credentials by security or headers")


def _texts(value: Value) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
