"""How an MCP server is reached and how long it may take."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class McpSettings:
    """Either `command` with `env`, or `url` with `headers`; values of both may be `env:NAME`. Times in seconds."""

    controller: str
    command: tuple[str, ...] = field(repr=False)
    url: str | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    timeout: float
    start_timeout: float
