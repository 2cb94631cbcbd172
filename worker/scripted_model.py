"""A model without a model: an OpenAI-compatible HTTP server that says what a script tells it.

The demo and the tests go through the real SDK and a real socket to it. What is queued is said first, in order; then a handler
answers, by default with the rules of the demo. It refuses with 400 what real providers refuse, so a history with a call left
open fails here as it would there. A request that wants a stream gets the same answer in pieces.
"""

import asyncio
import contextlib
import json
import socket
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from worker.demo_script import Call, Saying, answer
from worker.provider_rules import refusal
from worker.scripted_responses import (
    Request,
    RequestTooLargeError,
    Response,
    halved,
    read_body,
    refuse,
    respond,
    say,
    send_response,
)
from worker.scripted_streams import Piece, pieces, send_pieces, streamed

Said = Response | Saying | str | dict[str, Any]
Handler = Callable[[Request], Said]
Step = Said | Handler


class ScriptedModel:
    """The server, a task of the loop that starts it: `async with ScriptedModel() as model`, or `start` and `stop`.

    The newest `log_limit` requests are kept for tests to look at. Without `strict` every request is answered. `pace` is the
    time between two tokens of a stream, in seconds.
    """

    def __init__(
        self,
        handler: Handler = answer,
        *,
        port: int = 0,
        log_limit: int = 1_000,
        strict: bool = True,
        pace: float = 0.0,
    ) -> None:
        self.handler = handler
        self.strict = strict
        self.pace = pace
        self._port = port
        self._queue: deque[Step] = deque()
        self._log: deque[tuple[Request, dict[str, str]]] = deque(maxlen=log_limit)
        self._arrived = 0
        self._hung_up = 0
        self._changed = asyncio.Condition()
        self._stopping = asyncio.Event()
        self._server: _TaskServer | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def base_url(self) -> str:
        """Where an OpenAI client finds it, known after `start`."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def requests(self) -> list[Request]:
        """The bodies of the newest requests, oldest first; those refused too."""
        return [request for request, _ in self._log]

    @property
    def headers(self) -> list[dict[str, str]]:
        """The headers of the same requests, their names in lower case."""
        return [headers for _, headers in self._log]

    def say(self, text: str | None, *, delay: float = 0.0, **fields: Any) -> None:
        """Queue words. `fields` as in `scripted_responses.say`: `finish_reason`, `usage`, `refusal` …"""
        self._queue.append(lambda request: say(request, Saying(text), fields, delay=delay))

    def call(self, calls: Sequence[Call], text: str | None = None, *, delay: float = 0.0, **fields: Any) -> None:
        """Queue tool calls: (name, arguments). Arguments that are no dict are sent as they are."""
        saying = Saying(text, tuple(calls))
        self._queue.append(lambda request: say(request, saying, fields, delay=delay))

    def respond(
        self, status: int, body: Any = None, headers: Mapping[str, str] | None = None, *, delay: float = 0.0
    ) -> None:
        """Queue any HTTP answer. Bytes and strings are sent as they are, anything else as JSON."""
        self._queue.append(respond(status, body, headers, delay=delay))

    def hang(self) -> None:
        """Queue silence: nothing is sent until the client hangs up."""
        self._queue.append(Response(hangs=True))

    def cut(self) -> None:
        """Queue an answer whose connection breaks in the middle of its body."""
        self._queue.append(lambda request: halved(say(request, Saying("only half of this arrives"))))

    def stream(self, *script: Piece, cut: bool = False, hangs: bool = False) -> None:
        """Queue an event stream of exactly these pieces, which then ends, breaks off (`cut`) or is silent (`hangs`)."""
        self._queue.append(pieces(*script, cut=cut, hangs=hangs))

    def script(self, *steps: Step) -> None:
        """Queue steps: a `Response`, a `Saying`, words, a raw JSON body, or a function of the request that gives one."""
        self._queue.extend(steps)

    def forget(self) -> None:
        """As new for the next of several scripts: nothing queued, nothing logged, the rules of the demo again."""
        self._queue.clear()
        self._log.clear()
        self._arrived = self._hung_up = 0
        self.handler = answer

    async def wait_for_requests(self, count: int) -> None:
        """Return as soon as `count` requests have arrived since the start."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._arrived >= count)

    async def wait_for_hang_ups(self, count: int) -> None:
        """Return as soon as clients have given up `count` of the requests that hang."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._hung_up >= count)

    async def start(self) -> None:
        """Serve on 127.0.0.1, on a free port unless one was given."""
        listener = _listener(self._port)
        self._port = listener.getsockname()[1]
        self._server = _TaskServer(_config(self))
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
        # The socket listens already: a request that comes before the server is up waits in its backlog.

    async def stop(self) -> None:
        """Stop serving; requests that hang are dropped."""
        self._stopping.set()
        if self._server and self._serving:
            self._server.should_exit = True
            await self._serving

    async def __aenter__(self) -> "ScriptedModel":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One HTTP exchange, as an ASGI application."""
        try:
            body = await read_body(receive)
        except RequestTooLargeError:
            await send_response(send, refuse(413, "the request is too large"))
            return
        response = await self._answer(scope, body)
        if response.delay:
            await asyncio.sleep(response.delay)
        if response.pieces:
            await send_pieces(send, response)
        if response.hangs:
            await self._hang(receive)
        elif not response.pieces:
            await send_response(send, response)
        elif not response.cut:
            await send({"type": "http.response.body", "body": b""})

    async def _answer(self, scope: Scope, body: bytes) -> Response:
        if (scope["method"], scope["path"]) == ("GET", "/v1/models"):
            return respond(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        if (scope["method"], scope["path"]) != ("POST", "/v1/chat/completions"):
            return refuse(404, f"there is no {scope['method']} {scope['path']}")
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            return refuse(400, "the body is not JSON")
        await self._record(request, scope)
        if self.strict and (why := refusal(request)):
            return refuse(400, why)
        step = self._queue.popleft() if self._queue else self.handler
        response = _response(step(request) if callable(step) else step, request)
        return streamed(response, request, self.pace) if _wants_stream(request) else response

    async def _record(self, request: Request, scope: Scope) -> None:
        self._log.append((request, {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}))
        self._arrived += 1
        async with self._changed:
            self._changed.notify_all()

    async def _hang(self, receive: Receive) -> None:
        hung_up = asyncio.ensure_future(receive())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({hung_up, stopping}, return_when=asyncio.FIRST_COMPLETED)
        hung_up.cancel()
        stopping.cancel()
        self._hung_up += 1
        async with self._changed:
            self._changed.notify_all()


class _TaskServer(uvicorn.Server):
    """A server that leaves the process's signals to whoever runs the loop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(app: ScriptedModel) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        http="h11",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_keep_alive=3_600,
        timeout_graceful_shutdown=1,
    )


def _listener(port: int) -> socket.socket:
    # Named as TCP, or asyncio leaves Nagle's algorithm on and every answer waits 40 ms for an acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(512)
    return listener


def _wants_stream(request: Any) -> bool:
    return isinstance(request, dict) and request.get("stream") is True


def _response(said: Said, request: Request) -> Response:
    if isinstance(said, Response):
        return said
    if isinstance(said, Saying):
        return say(request, said)
    return say(request, Saying(said)) if isinstance(said, str) else respond(200, said)
