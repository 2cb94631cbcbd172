"""How an MCP server is reached: a program that is started, or an HTTP endpoint. Secrets are read when a worker starts."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from activities.controllers.mcp.session import Transport
from activities.controllers.mcp.settings import McpSettings
from activities.credentials import REFERENCE, read_secret
from activities.http_connection import HttpConnection

_CONNECT_SECONDS = 10.0
# The transport waits longer for an answer than the tool may take, so that the tool's timeout decides.
_MARGIN_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server with the words that name it in messages, the way to it, and the secrets no message may repeat."""

    title: str
    transport: Callable[[], Transport] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)


def reach(settings: McpSettings) -> McpServer:
    """The server of these settings; nothing is started or sent yet.

    Raises:
        CredentialMissing: a variable that a value names is not set.
        ValueError: the address or a header cannot be used. No value is repeated.
    """
    if settings.url is None:
        return _program(settings.command, settings.env)
    return _endpoint(settings.url, settings.headers, settings.timeout + _MARGIN_SECONDS)


def _program(command: Sequence[str], env: Mapping[str, str]) -> McpServer:
    secrets = {name: read_secret(value) for name, value in env.items() if REFERENCE.fullmatch(value)}
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env={**env, **secrets})
    # Arguments are left out of the title: people put tokens there.
    return McpServer(f"the MCP server {command[0]}", lambda: stdio_client(parameters), tuple(secrets.values()))


def _endpoint(url: str, headers: Mapping[str, str], read_seconds: float) -> McpServer:
    address = httpx2.URL(url)
    if address.scheme not in ("http", "https") or not address.host:
        raise ValueError("the url must be an absolute http or https address")
    sent = HttpConnection(headers=headers).credentials().headers
    pairs = [(name, value) for name, values in sent.items() for value in values]
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=read_seconds)
    title = f"the MCP server at {address.scheme}://{address.netloc.decode()}{address.path}"
    return McpServer(title, lambda: _http(url, pairs, timeout), tuple(value for _, value in pairs))


@asynccontextmanager
async def _http(url: str, headers: Sequence[tuple[str, str]], timeout: httpx2.Timeout) -> AsyncIterator[Any]:
    async with (
        httpx2.AsyncClient(headers=list(headers), timeout=timeout) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams
