"""Connections as this service wants them.

uvicorn waits for ever for the rest of a request's head; here nobody is waited for that long. Nor does it write its own line about
each request: a path may hold what somebody looks for.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def patient_for(seconds: float) -> type[H11Protocol]:
    """A protocol that closes a connection on which a head is not complete so many seconds after it could begin."""
    return type("PatientProtocol", (_Patient,), {"head_seconds": seconds})


class _Patient(H11Protocol):
    head_seconds = 10.0
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        super().connection_made(transport)
        self.access_log = False
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # One byte now and then does not begin the time anew.
        if self.conn.their_state is h11.IDLE:
            self._wait()
        else:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(self.head_seconds, self.transport.close)

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
