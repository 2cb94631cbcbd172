"""One operation of an HTTP API as a tool: its arguments are checked and written, the request is made, the answer is read.

An answer is a value whatever its status, {"status", "headers", "body"}: the model acts on a 404 as it does on a list. No
answer at all is such a value too, with status 500 and what happened as its body.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from activities.conversation import Arguments
from activities.credentials import Credentials, Security
from activities.http_client import HttpClient, NoResponse
from activities.http_connection import HttpConnection, check_base_url
from activities.openapi.faults import ArgumentFaultsError
from activities.openapi.message import HttpRequest
from activities.openapi.offered import offered
from activities.openapi.operation import Operation
from activities.openapi.request import SAFE_METHODS, ValueUnwritable, build_request, without_nulls
from activities.openapi.response import HttpResponse, read_response
from activities.openapi.validation import ArgumentCheck
from activities.outputs import error_text, tool_output
from activities.provider_errors import retry_after
from activities.tool import BoundCall, Tool, ToolContext
from activities.transient import TransientError

# What a run may take beyond its request before the tool as a whole counts as late, in seconds.
MARGIN = 5.0
PASSING_STATUSES = frozenset({408, 429})
NO_RESPONSE_STATUS = 500
_KEY = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One call for an executor. `request` is ready to be sent, with its credentials; `arguments` are checked."""

    connection: HttpConnection
    operation: Operation
    arguments: Arguments = field(repr=False)
    context: ToolContext
    request: HttpRequest


Execute = Callable[[HttpCall], Awaitable[HttpResponse]]


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How an API is called. `timeout` in seconds for a whole exchange; `retries` of what may be repeated.

    `idempotency_keys` says that the API knows the header `Idempotency-Key`: then unsafe methods are repeated too.
    """

    timeout: float = 30.0
    retries: int = 2
    idempotency_keys: bool = False
    allow_private_addresses: bool = False


DEFAULT_OPTIONS = HttpOptions()


def http_function(
    operation: Operation,
    *,
    client: HttpClient,
    security: Security,
    connection: HttpConnection | None = None,
    options: HttpOptions = DEFAULT_OPTIONS,
    execute: Execute | None = None,
) -> Tool:
    """The tool that calls an operation. Arguments that the connection or a credential sets are not among its own.

    `execute` makes the request in place of the built-in client.

    Raises:
        ValueError: no request can be made for this operation, or nobody says where its server is.
    """
    connection = connection or HttpConnection()
    base_url = connection.base_url(operation.base_url)
    if not base_url:
        raise ValueError("the document names no server: give the connection a host")
    check_base_url(base_url)
    operation = offered(
        operation,
        headers=frozenset(name.lower() for name in connection.headers),
        cookies=frozenset(connection.cookies),
    )
    function = _Function(operation, connection, base_url, security, options, execute or _execute_by(client, options))
    return Tool(
        name=operation.name,
        description=operation.description,
        input_schema=operation.llm_schema,
        bind=function.bind,
        is_async=True,
        side_effects=not function.is_safe,
        idempotent=options.idempotency_keys,
        timeout=options.timeout + MARGIN,
        retries=options.retries if function.is_repeatable else 0,
    )


def _execute_by(client: HttpClient, options: HttpOptions) -> Execute:
    async def execute(call: HttpCall) -> HttpResponse:
        raw = await client.send(
            call.request, timeout=options.timeout, allow_private_addresses=options.allow_private_addresses
        )
        return read_response(raw)

    return execute


class _Function:
    """An operation bound to a connection."""

    def __init__(
        self,
        operation: Operation,
        connection: HttpConnection,
        base_url: str,
        security: Security,
        options: HttpOptions,
        execute: Execute,
    ) -> None:
        self.is_safe = operation.method in SAFE_METHODS
        self.is_repeatable = self.is_safe or options.idempotency_keys
        self._operation = operation
        self._connection = connection
        self._base_url = base_url
        self._security = security
        self._schemes = security.chosen(operation.security)
        self._execute = execute
        self._check = ArgumentCheck(operation.input_schema, operation.human_schema)

    def bind(self, arguments: Arguments) -> BoundCall:
        """The call for these arguments.

        Raises:
            ArgumentFaultsError: they do not fit the schema, or one cannot stand where it belongs.
        """
        given = without_nulls(self._operation, arguments)
        if faults := self._check.faults(given):
            raise ArgumentFaultsError(faults)
        try:
            request = build_request(self._operation, given, self._base_url)
        except ValueUnwritable as fault:
            raise ArgumentFaultsError([self._check.fault_at(fault.place, fault, fault.value)]) from None

        def call(context: ToolContext) -> Awaitable[Any]:
            return self._call(given, request, context)

        return call

    async def _call(self, arguments: Arguments, request: HttpRequest, context: ToolContext) -> Any:
        fixed = self._connection.credentials()
        own = self._security.credentials(self._schemes)
        secrets = Credentials(secrets=(*fixed.secrets, *own.secrets))
        for each in (fixed, own):
            request = request.joined(query=each.query, headers=each.headers, cookies=each.cookies)
        if not self.is_safe:
            key = {"Idempotency-Key": _header_key(context.idempotency_key)}
            request = request.joined(query={}, headers=key, cookies={})
        call = HttpCall(self._connection, self._operation, arguments, context, request)
        try:
            response = await self._execute(call)
        except NoResponse as none:
            return self._without_answer(none, secrets)
        except TransientError:
            raise
        except Exception as fault:
            # Only an executor of the app's own raises others; what it says may quote the request.
            raise RuntimeError(secrets.redacted(error_text(fault))) from None
        if not isinstance(response, HttpResponse):
            raise TypeError(f"the executor of {self._operation.name} gave back no HttpResponse")
        return self._answered(response, secrets)

    def _answered(self, response: HttpResponse, secrets: Credentials) -> Any:
        value = secrets.redacted(response.shown())
        if self.is_repeatable and (response.status in PASSING_STATUSES or response.status >= 500):
            headers = {name: text for name, text in response.headers.items() if isinstance(text, str)}
            raise TransientError(
                f"the server answered {response.status}", retry_after(headers, datetime.now(UTC)), tool_output(value)
            )
        return value

    def _without_answer(self, none: NoResponse, secrets: Credentials) -> Any:
        said = secrets.redacted(str(none))
        if not none.sent:
            value = _no_response("ConnectionFailed", f"{said}. Nothing was sent.")
        elif self.is_safe:
            value = _no_response("NoResponse", said)
        else:
            value = _no_response(
                "OutcomeUnknown",
                f"{said}. The request had been sent: what it does may or may not have happened. Find out before calling "
                "it again.",
            )
        if self.is_repeatable and not none.lasting:
            raise TransientError(said, value=value)
        return value


def _no_response(name: str, message: str) -> Mapping[str, Any]:
    return {"status": NO_RESPONSE_STATUS, "headers": {}, "body": {"name": name, "message": message}}


def _header_key(key: str) -> str:
    """The key as a header can carry it: as it is, or its digest."""
    return key if _KEY.fullmatch(key) else hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
