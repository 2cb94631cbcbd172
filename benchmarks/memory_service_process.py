"""A memory service in a process of its own, and connections to it that cost little."""

import asyncio
import json
import os
import sys
import tempfile
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError

from worker.dev_server import free_port

ADMIN = "the-admin-token-of-the-benchmark"
ROOT = Path(__file__).resolve().parents[1]

Body = dict[str, Any]


class Refused(Exception):
    """An answer that is no success."""


@dataclass
class Caller:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    key: str

    @classmethod
    async def connected(cls, port: int, key: str) -> "Caller":
        """Open it."""
        return cls(*await asyncio.open_connection("127.0.0.1", port), key)

    async def post(self, path: str, body: Body, request: str | None = None) -> Any:
        """What a POST is answered; `request` makes it repeatable."""
        return await self.send("POST", path, body, request)

    async def send(self, method: str, path: str, body: Body | None = None, request: str | None = None) -> Any:
        """Send one request and read its answer."""
        sent = b"" if body is None else json.dumps(body).encode()
        head = f"{method} /api/v1{path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {self.key}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(sent)}\r\n"
        head += f"idempotency-key: {request}\r\n\r\n" if request else "\r\n"
        self.writer.write(head.encode() + sent)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        length = answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        told = json.loads(await self.reader.readexactly(int(length)))
        if not answer.startswith(b"HTTP/1.1 2"):
            raise Refused(told)
        return told


@dataclass
class Service:
    """The process; `idle` are connections that wait for their next request, `others` ports of processes beside it."""

    port: int
    folder: Path
    process: asyncio.subprocess.Process
    idle: list[Caller]
    others: list[int]

    async def caller(self) -> Caller:
        """A connection with a new key."""
        admin = await Caller.connected(self.port, ADMIN)
        minted = await admin.post("/keys", {"name": "benchmark", "organizationId": "benchmark"})
        return await Caller.connected(self.port, minted["key"])

    async def restart(self) -> None:
        """End it as a crash would, and start it again."""
        self.process.kill()
        await self.process.wait()
        self.idle.clear()
        self.process = await _started(self.port, self.folder)


@asynccontextmanager
async def running_service(*, beside: int = 0) -> AsyncIterator[Service]:
    """A service with an empty database, and others beside it on the same one; all end with the block."""
    with tempfile.TemporaryDirectory() as folder:
        port, others = free_port(), [free_port() for _ in range(beside)]
        service = Service(port, Path(folder), await _started(port, Path(folder)), [], others)
        processes = [await _started(other, Path(folder)) for other in others]
        try:
            yield service
        finally:
            for process in (service.process, *processes):
                process.terminate()
                await process.wait()


async def _started(port: int, folder: Path) -> asyncio.subprocess.Process:
    own = {"TURNHOLD_DATABASE_URL": f"sqlite:///{folder}/store.db", "TURNHOLD_ADMIN_TOKEN": ADMIN}
    own |= {"TURNHOLD_MEMORY_RATE": "1000000", "TURNHOLD_MEMORY_BURST": "1000000"}
    command = [sys.executable, "-m", "worker.memory_service", "--port", str(port)]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env={**os.environ, **own}, stdout=asyncio.subprocess.DEVNULL
    )
    while not await asyncio.to_thread(_is_ready, port):
        if process.returncode is not None:
            raise RuntimeError("the service ended")
        await asyncio.sleep(0.05)
    return process


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5):
            return True
    except (URLError, OSError):
        return False
