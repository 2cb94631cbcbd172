"""The service behind a socket."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import uvicorn

from worker.memory_service.app import build_app
from worker.memory_service.service import Service, running_service
from worker.memory_service.settings import ServiceSettings
from worker.memory_service.slow_clients import patient_for

MOST_CONNECTIONS = 2_000
_KEEP_ALIVE_SECONDS = 30
_LONGEST_HEAD = 16_384


class CannotListen(Exception):
    """The address cannot be listened on; the message says why."""


@dataclass(frozen=True, slots=True)
class Served:
    """A service that answers at `url`."""

    url: str
    service: Service


@contextlib.asynccontextmanager
async def serving(settings: ServiceSettings, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Served]:
    """A service that answers until the block ends, and then finishes what it has begun. Port 0 is any free one.

    Raises:
        CannotListen: the address is taken, or not this machine's.
        SettingsInvalid, StoreError: as `running_service`.
    """
    listener = _listener(host, port)
    with contextlib.closing(listener):
        async with running_service(settings) as service:
            server = _TaskServer(_config(service, settings))
            task = asyncio.create_task(server.serve(sockets=[listener]))
            try:
                # The socket listens already: who comes before the server is up waits a moment.
                yield Served(_url(host, listener), service)
            finally:
                server.should_exit = True
                await task


class _TaskServer(uvicorn.Server):
    """A server that leaves the process's signals to whoever runs the loop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(service: Service, settings: ServiceSettings) -> uvicorn.Config:
    return uvicorn.Config(
        build_app(service),
        lifespan="off",
        ws="none",
        http=patient_for(settings.header_seconds),
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.shutdown_seconds,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
    )


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio leaves Nagle's algorithm on and every answer waits 40 ms for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as fault:
        listener.close()
        raise CannotListen(f"{host}:{port}: {fault}") from None
    listener.listen(512)
    return listener


def _url(host: str, listener: socket.socket) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
