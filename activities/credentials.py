"""Secrets of an HTTP controller: where they come from, where they go in a request, and how they are kept out of what is told.

A secret is named, `env:NAME`, and read from the environment when a call is made. It stands in no configuration, and an answer
or an error that repeats it is told without it.
"""

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

from activities.openapi.operation import SecurityScheme

REFERENCE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
REDACTED = "[secret]"
# Shorter texts stand everywhere by chance; replacing them would only garble an answer.
MIN_SECRET_CHARS = 4
_UNSENDABLE = re.compile(r"[\x00-\x1f\x7f]")

# A reference, or for `http` `basic` one for each part.
Secret = str | Mapping[str, str]


class CredentialMissing(Exception):
    """A secret that the configuration names is not in the environment, or cannot be sent. Not for the model to mend."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What makes one request ours: plain text by name. `secrets` are the texts that may not be told to anyone."""

    headers: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def redacted(self, value: Any) -> Any:
        """A JSON value, or a text, without the secrets; the same value where it has none."""
        return redacted(value, self.secrets)


@dataclass(frozen=True, slots=True)
class Security:
    """The credentials a controller was given, by the names of the document's security schemes.

    Raises:
        ValueError: a name is no scheme of the document, or a value is not `env:NAME`. It does not repeat the value.
    """

    schemes: Mapping[str, SecurityScheme]
    given: Mapping[str, Secret] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name, secret in self.given.items():
            scheme = self.schemes.get(name)
            if scheme is None:
                known = ", ".join(self.schemes) or "none"
                raise ValueError(f"the document has no security scheme {name!r}; it has {known}")
            if scheme.kind == "mutualTLS":
                raise ValueError(f"the security scheme {name!r} is mutualTLS, which is not supported")
            if not all(REFERENCE.fullmatch(each) for each in _references(scheme, secret)):
                raise ValueError(f"the credential of {name!r} must name a variable of the environment, as in env:NAME")

    def chosen(self, alternatives: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        """The schemes to use: the first alternative of which all are given; none where no alternative is."""
        return next((each for each in alternatives if each and all(name in self.given for name in each)), ())

    def credentials(self, names: Iterable[str], environment: Mapping[str, str] = os.environ) -> Credentials:
        """The credentials of these schemes, read now.

        Raises:
            CredentialMissing: a variable is not set, or what it holds cannot be sent.
        """
        places: dict[str, dict[str, str]] = {"header": {}, "query": {}, "cookie": {}}
        secrets: list[str] = []
        for name in names:
            scheme, given = self.schemes[name], self.given[name]
            texts = [read_secret(each, environment) for each in _references(scheme, given)]
            where, parameter, value = _placed(scheme, texts)
            places[where][parameter] = value
            # The text itself, the password behind a user name, and what stands behind the word Basic or Bearer.
            secrets += [texts[-1], texts[-1].partition(":")[2], value.rpartition(" ")[2]]
        return Credentials(places["header"], places["query"], places["cookie"], tuple(secrets))


def read_secret(reference: str, environment: Mapping[str, str] = os.environ) -> str:
    """The text of `env:NAME`, without the newline that files end with.

    Raises:
        CredentialMissing: it is not set or empty, or has characters no request can carry. It names the variable only.
    """
    named = REFERENCE.fullmatch(reference)
    if named is None:
        raise CredentialMissing("a credential is not a reference of the form env:NAME")
    text = environment.get(named[1], "").strip()
    if not text:
        raise CredentialMissing(f"the environment variable {named[1]} is not set")
    if _UNSENDABLE.search(text):
        raise CredentialMissing(f"the environment variable {named[1]} has characters that no request can carry")
    return text


def redacted(value: Any, secrets: Iterable[str]) -> Any:
    """A JSON value with each secret replaced, in keys too, also as URLs, JSON and HTML write it inside a text."""
    forms = {form for secret in secrets if len(secret) >= MIN_SECRET_CHARS for form in _forms(secret)}
    # The longest first: one secret may be the beginning of another.
    return _replaced(value, sorted(forms, key=len, reverse=True)) if forms else value


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield quote(secret, safe="", errors="replace")
    yield quote_plus(secret, errors="replace")
    yield escape(secret)
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]


def _replaced(value: Any, forms: Sequence[str]) -> Any:
    match value:
        case str():
            return _blackened(value, forms)
        case dict():
            return {_blackened(key, forms): _replaced(item, forms) for key, item in value.items()}
        case list():
            return [_replaced(item, forms) for item in value]
    return value


def _blackened(text: str, forms: Sequence[str]) -> str:
    # Not one pattern of all forms: a person's part may be a file, and a pattern of that size takes seconds to make.
    for form in forms:
        text = text.replace(form, REDACTED)
    return text


def _references(scheme: SecurityScheme, secret: Secret) -> list[str]:
    if isinstance(secret, str):
        return [secret]
    if scheme.kind == "http" and scheme.scheme == "basic":
        return [str(secret.get("username", "")), str(secret.get("password", ""))]
    return [""]


def _placed(scheme: SecurityScheme, texts: list[str]) -> tuple[str, str, str]:
    """Place, name and value of a credential. Tokens of OAuth 2 and OpenID Connect are bearer tokens."""
    if scheme.kind == "apiKey":
        return scheme.where or "header", scheme.parameter or "Authorization", texts[0]
    kind = (scheme.scheme or "bearer") if scheme.kind == "http" else "bearer"
    if kind == "basic":
        return "header", "Authorization", f"Basic {base64.b64encode(':'.join(texts).encode()).decode()}"
    return "header", "Authorization", f"{kind.capitalize()} {texts[0]}"
