"""A server that records what reaches it, byte by byte, and answers as a test says."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


@dataclass(frozen=True)
class Recorded:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The only header of that name."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) <= 1
        return values[0] if values else None


def answer(status: str, body: bytes = b"", content_type: str | None = None, *headers: str) -> bytes:
    """The bytes of an answer."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass
class RecordingServer:
    """Listens on a free port of loopback. `respond` gives the bytes of an answer; empty ones close the connection."""

    respond: Callable[[Recorded], bytes | Awaitable[bytes]] = lambda _: OK
    requests: list[Recorded] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    tls: ssl.SSLContext | None = None

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer, task in list(self._open.items()):
            writer.close()
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open[writer] = asyncio.current_task()
        try:
            while request := await _read(reader):
                self.requests.append(request)
                made = self.respond(request)
                said = made if isinstance(made, bytes) else await made
                if not said:
                    break
                writer.write(said)
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self._open.pop(writer, None)
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Recorded | None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head[:-4].split("\r\n")
    method, target, _ = first.split(" ")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Recorded(method, target, headers, await reader.readexactly(length))
