"""A request as it is sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from activities.openapi.styles import Pair, escape

# What stands unescaped in names of a query; OData's begin with it.
NAME_SAFE = "$"
# What a cookie may hold as it is. A server gave it in this form, and wants it back so.
COOKIE_SAFE = "!#$%&'()*+/:<=>?@[]^`{|}"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. `address` is absolute and has no query; names and values of `query` and `cookies` are encoded.

    Only method and address are printed: all else may carry a person's data or, once credentials are added, a secret.
    """

    method: str
    address: str
    query: tuple[Pair, ...] = field(default=(), repr=False)
    headers: tuple[Pair, ...] = field(default=(), repr=False)
    cookies: tuple[Pair, ...] = field(default=(), repr=False)
    body: bytes | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """The address with its query."""
        if not self.query:
            return self.address
        return f"{self.address}?{'&'.join(f'{name}={value}' for name, value in self.query)}"

    def wire_headers(self) -> list[Pair]:
        """The headers that are sent, cookies among them; without Host, which the address says."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies)
        return [*self.headers, *([("Cookie", cookies)] if cookies else [])]

    def joined(
        self, *, query: Mapping[str, str], headers: Mapping[str, str | tuple[str, ...]], cookies: Mapping[str, str]
    ) -> "HttpRequest":
        """The request with these, plain text, in place of what it has under the same names.

        What a body is, the body says: its content type stays.
        """
        added = [(name, each) for name, value in headers.items() for each in _texts(value)]
        if self.body is not None:
            added = [pair for pair in added if pair[0].lower() != "content-type"]
        taken = {name.lower() for name, _ in added}
        return replace(
            self,
            query=_instead(self.query, {escape_name(name): escape(value) for name, value in query.items()}),
            headers=(*(pair for pair in self.headers if pair[0].lower() not in taken), *added),
            cookies=_instead(self.cookies, {name: escape(value, COOKIE_SAFE) for name, value in cookies.items()}),
        )


def escape_name(name: str) -> str:
    """The name of a query pair or a cookie, encoded."""
    return escape(name, NAME_SAFE)


def _instead(pairs: tuple[Pair, ...], added: Mapping[str, str]) -> tuple[Pair, ...]:
    return (*((name, value) for name, value in pairs if name not in added), *added.items())


def _texts(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value
