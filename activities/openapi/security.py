"""Security schemes: which credentials an operation wants, and where they go. The credentials themselves are never here."""

from typing import Any

from activities.openapi.operation import SecurityScheme
from activities.openapi.reading import Unfit, text_at
from activities.openapi.references import Source
from activities.openapi.versions import Version, security_definitions

_KINDS = frozenset({"apiKey", "http", "oauth2", "openIdConnect", "mutualTLS"})
_PLACES = frozenset({"header", "query", "cookie"})


def security_schemes(document: dict[str, Any], version: Version, source: Source) -> dict[str, SecurityScheme]:
    """The schemes of a document by name; what is no scheme is left out."""
    found = {}
    for name, node in security_definitions(document, version).items():
        try:
            scheme, _ = source.resolved(node, "a security scheme")
        except Unfit:
            continue
        if made := _scheme(name, scheme):
            found[name] = made
    return found


def _scheme(name: str, node: dict[str, Any]) -> SecurityScheme | None:
    kind = text_at(node, "type")
    if kind == "basic":
        return SecurityScheme(name, "http", scheme="basic")
    if kind not in _KINDS:
        return None
    if kind == "http":
        return SecurityScheme(name, kind, scheme=text_at(node, "scheme").lower() or None)
    if kind != "apiKey":
        return SecurityScheme(name, kind)
    where, parameter = text_at(node, "in"), text_at(node, "name")
    return SecurityScheme(name, kind, where, parameter) if where in _PLACES and parameter else None


def credential_parameters(schemes: dict[str, SecurityScheme]) -> frozenset[tuple[str, str]]:
    """Place and name of each parameter that is a credential, header names in lower case."""
    return frozenset(
        (scheme.where, scheme.parameter.lower() if scheme.where == "header" else scheme.parameter)
        for scheme in schemes.values()
        if scheme.where and scheme.parameter
    )


def requirements(operation: dict[str, Any], document: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    """The alternatives of an operation, its own or else the document's: sets of scheme names, () when it needs none."""
    listed = operation.get("security", document.get("security"))
    if not isinstance(listed, list):
        return ()
    return tuple(tuple(each) for each in listed if isinstance(each, dict))
