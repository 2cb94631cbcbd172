"""Where the operations of a document are: one absolute base URL, which no argument of a model can change."""

import re
from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from activities.openapi.reading import text_at, texts_at
from activities.openapi.versions import Version

_VARIABLE = re.compile(r"\{([^{}]*)\}")


def base_url(document: dict[str, Any], version: Version, url: str | None, *nearer: dict[str, Any]) -> str:
    """The address of the first server, without a slash at the end; "" when the document does not say.

    `url` is the document's own, which relative servers start from. `nearer` are nodes whose servers count before those of
    the document, the nearest first.
    """
    if version.swagger2:
        return _of_swagger2(document, url)
    for node in (*nearer, document):
        servers = node.get("servers")
        if isinstance(servers, list) and servers and isinstance(servers[0], dict):
            return _usable(_filled(servers[0]), url)
    return _usable("/", url)


def _filled(server: dict[str, Any]) -> str:
    """The URL with each variable replaced by its default, by its first allowed value where it has none."""
    variables = server.get("variables")
    known = variables if isinstance(variables, dict) else {}

    def value(match: re.Match[str]) -> str:
        variable = known.get(match[1])
        if not isinstance(variable, dict):
            return match[0]
        return text_at(variable, "default") or next(iter(texts_at(variable, "enum")), match[0])

    return _VARIABLE.sub(value, text_at(server, "url") or "/")


def _of_swagger2(document: dict[str, Any], url: str | None) -> str:
    own = urlsplit(url or "") if _is_web(url) else None
    schemes = [name for name in texts_at(document, "schemes") if name in ("https", "http")]
    scheme = "https" if "https" in schemes else schemes[0] if schemes else own.scheme if own else "https"
    # Some documents write the scheme into the host, where it does not belong.
    host = text_at(document, "host").rpartition("://")[2] or (own.netloc if own else "")
    path = text_at(document, "basePath")
    return _usable(f"{scheme}://{host}/{path.lstrip('/')}", None) if host else ""


def _usable(address: str, url: str | None) -> str:
    try:
        parts = urlsplit(urljoin(url, address) if url and _is_web(url) else address)
        # A name and a password in a public document are no credentials to use, and would stand in every log.
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or "{" in address:
            return ""
        _ = parts.port
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def _is_web(url: str | None) -> bool:
    return bool(url) and str(url).lower().startswith(("http://", "https://"))
