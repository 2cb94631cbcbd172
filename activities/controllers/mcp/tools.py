"""The tools that an MCP server lists, made callable."""

from collections.abc import Iterable
from contextlib import AsyncExitStack
from typing import Any

from mcp.types import Tool as ServerTool
from mcp.types import ToolAnnotations

from activities.controllers.controller import ControllerInvalid, Exclusion, Function, Listing
from activities.controllers.mcp.connection import McpConnection, McpOutcomeUnknown
from activities.controllers.mcp.results import McpToolFailed, value_of
from activities.controllers.mcp.session import McpUnavailable
from activities.controllers.mcp.settings import McpSettings
from activities.controllers.mcp.transport import reach
from activities.controllers.names import local_names
from activities.controllers.policy import FunctionFacts
from activities.conversation import Arguments
from activities.credentials import CredentialMissing, redacted
from activities.function_schema import MAX_DESCRIPTION_CHARS
from activities.openapi.faults import ArgumentFaultsError
from activities.openapi.validation import ArgumentCheck
from activities.tool import BoundCall, Tool, ToolContext

# What is about the schema itself. Model providers refuse some of it, and no argument is judged by it.
_ABOUT_THE_SCHEMA = frozenset({"$schema", "$id", "$anchor", "$comment", "title"})


async def open_server(settings: McpSettings, stack: AsyncExitStack) -> Listing:
    """Open a session that the stack closes, and list the tools.

    Raises:
        ControllerInvalid: the server is away, does not answer in time, or a secret is missing.
    """
    try:
        server = reach(settings)
    except (CredentialMissing, ValueError) as fault:
        raise ControllerInvalid(settings.controller, str(fault)) from None
    connection = McpConnection(server.transport, settings.start_timeout)
    stack.push_async_callback(connection.close)
    try:
        listed = await connection.list_tools()
    except McpUnavailable as away:
        reason = redacted(str(away), server.secrets)
        raise ControllerInvalid(settings.controller, f"{server.title}: {reason}") from None
    unique, exclusions = _unique(listed)
    names = local_names([each.name for each in unique])
    functions = []
    for each in unique:
        made = RemoteTool(connection, each, server.secrets).tool(names[each.name], settings.timeout)
        functions.append(_function(settings.controller, made, each.name))
    return Listing(tuple(functions), tuple(exclusions))


def _unique(listed: Iterable[ServerTool]) -> tuple[list[ServerTool], list[Exclusion]]:
    by_name: dict[str, ServerTool] = {}
    exclusions = []
    for each in listed:
        if each.name in by_name:
            exclusions.append(Exclusion(each.name, "the server lists another tool of this name before it"))
        else:
            by_name[each.name] = each
    return list(by_name.values()), exclusions


def _function(controller: str, made: Tool, original: str) -> Function:
    facts = FunctionFacts(controller, made.name, "mcp", made.description)
    return Function(facts, made, "approve" if made.side_effects else "run", original)


class RemoteTool:
    """A tool of the server, called through the connection. What the server repeats of our secrets is not told."""

    def __init__(self, connection: McpConnection, listed: ServerTool, secrets: tuple[str, ...]) -> None:
        self._connection = connection
        self._listed = listed
        self._secrets = secrets
        said = listed.annotations or ToolAnnotations()
        # A tool that is said to do both is taken to destroy.
        self._only_reads = said.read_only_hint is True and said.destructive_hint is not True
        self._idempotent = said.idempotent_hint is True
        named = {name: value for name, value in listed.input_schema.items() if name not in _ABOUT_THE_SCHEMA}
        self._schema = {"type": "object", "properties": {}, **named}
        self._check = ArgumentCheck(self._schema)

    def tool(self, name: str, timeout: float) -> Tool:
        """The tool under the name that the worker gives it."""
        return Tool(
            name=name,
            description=(self._listed.description or self._listed.title or "")[:MAX_DESCRIPTION_CHARS],
            input_schema=self._schema,
            bind=self.bind,
            is_async=True,
            side_effects=not self._only_reads,
            idempotent=self._idempotent,
            timeout=timeout,
        )

    def bind(self, arguments: Arguments) -> BoundCall:
        """The call for these arguments; raises `ArgumentFaultsError` where they do not fit the server's schema."""
        if faults := self._check.faults(arguments):
            raise ArgumentFaultsError(faults)

        def call(context: ToolContext) -> Any:
            return self._call(arguments)

        return call

    async def _call(self, arguments: Arguments) -> Any:
        repeatable = self._only_reads or self._idempotent
        try:
            result = await self._connection.call(self._listed.name, arguments, repeatable=repeatable)
            return value_of(result, self._secrets)
        except McpUnavailable as away:
            reason = redacted(str(away), self._secrets)
            raise McpUnavailable(f"the server cannot be reached and nothing was run: {reason}") from None
        except McpOutcomeUnknown:
            raise
        except Exception as fault:
            # What a server says, in an error or in an answer that cannot be read, may repeat what it was sent.
            raise McpToolFailed(redacted(str(fault), self._secrets)) from None
