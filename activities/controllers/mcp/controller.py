"""The tools of an MCP server as functions."""

from collections.abc import Mapping, Sequence

from activities.controllers.controller import Listing, Opening, checked_name
from activities.controllers.mcp.settings import McpSettings
from activities.controllers.policy import Rule
from activities.durations import parse_duration


class McpController:
    """The tools of one MCP server, reached by a command it is started with or by the address of its HTTP endpoint.

    The tools are listed once, when the worker starts; one session is kept and opened again when it ends. What the server
    says of its tools (read only, idempotent) is a default and nothing more: a tool that does not say it only reads needs
    approval, and rules decide over both. A call that the session did not survive is made again where that does no harm.

    Args:
        name: what rules, personas and histories call it.
        command: program and arguments of a server that speaks over stdin and stdout.
        url: address of a server that speaks streamable HTTP.
        headers: sent with every request to `url`; values such as `env:NAME` are read from the environment.
        env: variables for `command`, besides a few harmless ones (`PATH`, `HOME`); values as in `headers`.
        policy: rules, the first that fits decides.
        timeout: how long one call may take, an ISO 8601 duration.
        start_timeout: how long the server may take to start and to list its tools.

    Raises:
        ValueError: the name or a duration cannot be used, or not exactly one of `command` and `url` is given.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str] = (),
        url: str | None = None,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        policy: Sequence[Rule] = (),
        timeout: str = "PT1M",
        start_timeout: str = "PT8S",
    ) -> None:
        self.name = checked_name(name)
        if isinstance(command, str) or bool(command) == bool(url):
            raise ValueError(f"controller {name} needs either a command, as a list, or a url")
        self.rules = tuple(policy)
        self._settings = McpSettings(
            controller=name,
            command=tuple(command),
            url=url,
            headers=dict(headers or {}),
            env=dict(env or {}),
            timeout=parse_duration(timeout).total_seconds(),
            start_timeout=parse_duration(start_timeout).total_seconds(),
        )

    def __repr__(self) -> str:
        return f"McpController({self.name!r})"

    async def open(self, opening: Opening) -> Listing:
        """Open a session and list the tools."""
        # The library takes more than a second to load, which no worker without such a controller should wait for.
        from activities.controllers.mcp.tools import open_server

        return await open_server(self._settings, opening.stack)
