"""The operations of an HTTP API, described by an OpenAPI document, as functions."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from activities.controllers.controller import ControllerInvalid, Exclusion, Function, Listing, Opening, checked_name
from activities.controllers.documents import Document, DocumentReader, DocumentUnreadable
from activities.controllers.policy import Action, FunctionFacts, Rule
from activities.credentials import CredentialMissing, Secret, Security
from activities.durations import parse_duration
from activities.http_connection import HttpConnection
from activities.http_function import Execute, HttpOptions, http_function
from activities.openapi.conversion import Options, read_document
from activities.openapi.dialect import strict_schema
from activities.openapi.names import Naming
from activities.openapi.operation import ApiDocument, Operation
from activities.openapi.request import SAFE_METHODS
from activities.tool import Separated, Tool

Separate = Callable[[dict[str, Any]], bool]
MAX_CORRECTIONS = 100


class HttpController:
    """An HTTP API, called as its OpenAPI (or Swagger 2.0) document says.

    GET, HEAD and OPTIONS run; every other method waits for approval, and deprecated operations are hidden, unless a rule says
    otherwise. An operation that cannot be a function is left out with its reason.

    Args:
        name: what rules, personas and histories call it.
        document: path or address of the document, its text, or the object it decodes to.
        connection: `host` (in place of the document's servers), `headers` and `cookies`. What stands here is sent with every
            request and never offered to the model; values such as `env:NAME` are read from the environment for each call.
        security: for each security scheme of the document to use, the variable that has its secret, as `env:NAME`.
        names: functions are called after method and path, or after `operationId` where there is one.
        policy: rules, the first that fits decides.
        separate: which parts of the arguments a person fills, besides files: a function of a schema, or the name of a
            predicate of the app.
        execute: the executor of the app that makes the requests in place of the worker's own client.
        allow_private_addresses: whether the API may be in a private network or on this machine.
        idempotency_keys: whether the API knows the header `Idempotency-Key`; then unsafe calls may be repeated too.
        retry: how often the model may correct its arguments after a refusal (400, 404, 422) or a fault in them; 0 for never.
        timeout: how long one request may take, an ISO 8601 duration.
        retries: how often a request that failed in passing is made again, where that is safe.
        include_deprecated: offer deprecated operations like any other.
        external_references: follow references to other documents, by address only.
        strict: offer functions in strict mode, those whose arguments it can say; the provider has to know it.

    Raises:
        ValueError: a name, the connection, a duration or a number cannot be used.
    """

    def __init__(
        self,
        name: str,
        document: Document,
        connection: Mapping[str, Any] | HttpConnection | None = None,
        security: Mapping[str, Secret] | None = None,
        names: Naming = "path",
        policy: Sequence[Rule] = (),
        separate: Separate | str | None = None,
        execute: str | None = None,
        allow_private_addresses: bool = False,
        idempotency_keys: bool = False,
        retry: int = 3,
        timeout: str = "PT30S",
        retries: int = 2,
        include_deprecated: bool = False,
        external_references: bool = False,
        strict: bool = False,
    ) -> None:
        self.name = checked_name(name)
        self.rules = tuple(policy)
        if names not in ("path", "operationId"):
            raise ValueError(f"controller {name}: names is path or operationId, not {names!r}")
        if not 0 <= retry <= MAX_CORRECTIONS:
            raise ValueError(f"controller {name}: retry must be between 0 and {MAX_CORRECTIONS}, got {retry}")
        self._document = document
        self._connection = _connection(name, connection)
        self._security = dict(security or {})
        self._names = names
        self._separate = separate
        self._execute = execute
        self._retry = retry
        self._include_deprecated = include_deprecated
        self._external_references = external_references
        self._strict = strict
        self._options = HttpOptions(
            timeout=parse_duration(timeout).total_seconds(),
            retries=retries,
            idempotency_keys=idempotency_keys,
            allow_private_addresses=allow_private_addresses,
        )

    def __repr__(self) -> str:
        return f"HttpController({self.name!r})"

    async def open(self, opening: Opening) -> Listing:
        """Read the document and make a function of each operation."""
        try:
            execute = _found(self._execute, opening.executors, "executor")
            document = await self._read(opening)
            security = Security(document.security_schemes, self._security)
            # Read for each call; read once here so that a missing one is known before the first turn.
            self._connection.credentials()
            security.credentials(self._security)
        except (DocumentUnreadable, CredentialMissing, ValueError) as fault:
            raise ControllerInvalid(self.name, str(fault)) from None
        return self._listing(document, opening, security, execute)

    async def _read(self, opening: Opening) -> ApiDocument:
        reader = DocumentReader(
            opening.client, self._connection, allow_private_addresses=self._options.allow_private_addresses
        )
        separate = self._separate
        options = Options(
            naming=self._names,
            separate=_found(separate, opening.predicates, "predicate") if isinstance(separate, str) else separate,
            supplied=frozenset(_supplied(self._connection)),
            external=reader.fetcher() if self._external_references else None,
        )
        data, address = await reader.read(self._document)
        return await asyncio.to_thread(read_document, data, url=address, options=options)

    def _listing(self, document: ApiDocument, opening: Opening, security: Security, execute: Execute | None) -> Listing:
        functions, exclusions = [], []
        for operation in document.operations:
            try:
                made = http_function(
                    operation,
                    client=opening.client,
                    security=security,
                    connection=self._connection,
                    options=self._options,
                    execute=execute,
                )
            except ValueError as fault:
                exclusions.append(Exclusion(f"{operation.method} {operation.path}", str(fault)))
            else:
                functions.append(self._function(operation, made))
        exclusions += [Exclusion(f"{each.method} {each.path}", each.reason) for each in document.excluded]
        if exclusions and not functions:
            raise ControllerInvalid(self.name, f"no operation can be called; the first: {exclusions[0].reason}")
        warnings = (*document.warnings, *self._unauthorised(document.operations, security), *self._loose(functions))
        return Listing(tuple(functions), tuple(exclusions), warnings)

    def _function(self, operation: Operation, made: Tool) -> Function:
        facts = FunctionFacts(
            controller=self.name,
            function=operation.name,
            protocol="http",
            description=operation.description,
            method=operation.method,
            path=operation.path,
            tags=operation.tags,
            deprecated=operation.deprecated,
            operation_id=operation.operation_id,
        )
        made = replace(made, corrections=self._retry)
        if operation.human_schema is not None:
            parts = Separated(made.input_schema, operation.human_schema)
            made = replace(made, input_schema=operation.input_schema, separated=parts)
        if self._strict:
            made = replace(made, strict_schema=strict_schema(made.model_schema))
        original = operation.operation_id if self._names == "operationId" else None
        return Function(facts, made, self._default(operation), original)

    def _default(self, operation: Operation) -> Action:
        if operation.deprecated and not self._include_deprecated:
            return "hidden"
        return "run" if operation.method in SAFE_METHODS else "approve"

    def _loose(self, functions: Sequence[Function]) -> Iterable[str]:
        """A warning where functions have no strict form: maps and values of any type have none."""
        loose = [each.facts.function for each in functions if each.tool.strict_schema is None]
        if self._strict and loose:
            names = ", ".join(loose)[:200]
            yield f"strict mode cannot say the arguments of {len(loose)} functions, which are offered without: {names}"

    def _unauthorised(self, operations: Iterable[Operation], security: Security) -> Iterable[str]:
        """A warning where the document asks for credentials and there are none of any kind."""
        if self._connection.headers or self._connection.cookies:
            return
        guarded = [each for each in operations if each.security and all(each.security)]
        wanting = [each for each in guarded if not security.chosen(each.security)]
        if wanting:
            schemes = sorted({name for each in wanting for alternative in each.security for name in alternative})
            yield f"{len(wanting)} operations ask for credentials that are not given ({', '.join(schemes)[:200]})"


def _connection(name: str, given: Mapping[str, Any] | HttpConnection | None) -> HttpConnection:
    if isinstance(given, HttpConnection):
        return given
    try:
        return HttpConnection(**(given or {}))
    except TypeError:
        # Which keys there are is told, not what stands under them.
        raise ValueError(f"controller {name}: a connection has host, headers and cookies and nothing else") from None
    except ValueError as fault:
        raise ValueError(f"controller {name}: {fault}") from None


def _supplied(connection: HttpConnection) -> Iterable[tuple[str, str]]:
    yield from (("header", name) for name in connection.headers)
    yield from (("cookie", name) for name in connection.cookies)


def _found(name: str | None, known: Mapping[str, Any], what: str) -> Any:
    if name is None:
        return None
    if name not in known:
        raise ValueError(f"the app has no {what} called {name}")
    return known[name]
