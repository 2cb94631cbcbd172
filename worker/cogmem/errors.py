"""The one error that an answer of the memory service can become.

Where no answer came at all, `httpx.TransportError` says so: these two families are everything a call can raise, besides the
`ValueError` for a request that could not be written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from memory_engine import CognitiveMemoryErrorBody

UNKNOWN = "UnknownError"
MESSAGE_CHARS = 2_000


class CognitiveMemoryError(Exception):
    """The service answered, but not with what was asked for.

    `code` is the service's own word (`Unauthorized`, `InvalidRequest` …), or `UnknownError` for an answer not in its form,
    as from a proxy in between. `required_scope` comes with 403; `issues` name the fields of a 400, and stand below a traceback;
    `body` is the whole envelope.
    """

    def __init__(
        self,
        message: str,
        status: int,
        code: str,
        body: CognitiveMemoryErrorBody | None = None,
        required_scope: str | None = None,
        issues: Sequence[str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.body = body
        self.required_scope = required_scope
        self.issues = None if issues is None else tuple(issues)
        for issue in self.issues or ():
            self.add_note(issue)

    # An exception is rebuilt from `args`, which has the message alone, when it crosses a process.
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.status, self.code, self.body, self.required_scope, self.issues)

    def is_auth_error(self) -> bool:
        """The key is missing, malformed, expired or revoked."""
        return self.status == 401

    def is_scope_error(self) -> bool:
        """The key is good and lacks a scope: `required_scope`."""
        return self.status == 403

    def is_validation_error(self) -> bool:
        """The request broke a rule: `issues`."""
        return self.status == 400

    def is_not_found_error(self) -> bool:
        """Nothing of that id is in the key's organisation."""
        return self.status == 404

    def is_rate_limit_error(self) -> bool:
        """Too many calls; every try met the limit."""
        return self.status == 429

    def is_server_error(self) -> bool:
        """The service or something behind it failed; the same request may work later."""
        return self.status >= 500


def error_of(status: int, text: str) -> CognitiveMemoryError:
    """The error that an answer with this status and body stands for."""
    try:
        body = CognitiveMemoryErrorBody.model_validate(parse_json(text))
    except ValueError:
        return unreadable(status, "in a form that is not the memory service's; does base_url lead to it?")
    return CognitiveMemoryError(
        body.message[:MESSAGE_CHARS] or f"The memory service answered {status}.",
        status=status,
        code=body.error or UNKNOWN,
        body=body,
        required_scope=body.required_scope,
        issues=body.issues,
    )


def unreadable(status: int, how: str) -> CognitiveMemoryError:
    """The error for an answer of which nothing but its status can be used."""
    return CognitiveMemoryError(f"The memory service answered {status} {how}", status=status, code=UNKNOWN)


def parse_json(text: str) -> Any:
    """The decoded body.

    Raises:
        ValueError: it is not JSON, has NaN or an infinity, or is nested past all use.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
