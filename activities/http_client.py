"""Plain HTTP for tools: bounded in time and size, without cookies, and never to another host than the one named.

It stands on httpcore, the connections of httpx: nothing rewrites an address, no log names one, and where a connection leads
can be decided. Tools run on an event loop of their own, which may be replaced by another, so each loop has its own pools.
"""

import asyncio
import ssl
import weakref
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpcore
import httpx

from activities.json_values import clean_text
from activities.openapi.message import HttpRequest
from activities.openapi.response import GZIP, RawResponse
from activities.private_addresses import AddressRefused, PublicNetwork

MAX_RESPONSE_BYTES = 1_000_000
PER_HOST = 16
MAX_CONNECTIONS = 128
IDLE_SECONDS = 5.0
CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 5.0
MAX_REDIRECTS = 5
# A server may refuse these when they do not say how long their body is.
BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
REDIRECTED_METHODS = frozenset({"GET", "HEAD"})
URL_SAFE = "%:/?#[]@!$&'()*+,;=~"
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_GZIP = 16 + zlib.MAX_WBITS
_SENT = "http11.send_request_headers.started"


class NoResponse(Exception):
    """There was no answer. `sent` is false where certainly nothing was sent; `lasting` where trying again cannot help."""

    def __init__(self, message: str, *, sent: bool, lasting: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.lasting = lasting


@dataclass(slots=True)
class _Pools:
    """The connections of one event loop. A host's semaphore is the queue of those who wait for it."""

    public: httpcore.AsyncConnectionPool
    any: httpcore.AsyncConnectionPool
    hosts: dict[str, asyncio.Semaphore] = field(default_factory=dict)

    async def aclose(self) -> None:
        await self.public.aclose()
        await self.any.aclose()


class HttpClient:
    """Sends requests. One is shared by all tools; `per_host` requests to one host at once, the others wait their turn."""

    def __init__(self, *, per_host: int = PER_HOST, ssl_context: ssl.SSLContext | None = None) -> None:
        self._per_host = per_host
        self._ssl_context = ssl_context
        self._pools: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Pools] = weakref.WeakKeyDictionary()

    async def send(
        self,
        request: HttpRequest,
        *,
        timeout: float,
        allow_private_addresses: bool = False,
        max_bytes: int = MAX_RESPONSE_BYTES,
    ) -> RawResponse:
        """The answer, of which at most `max_bytes` are read; `timeout` in seconds is for all of it.

        Redirects are followed only for GET and HEAD, and only on the same host; any other is the answer.

        Raises:
            NoResponse: none came, it could not be read, or the host may not be called.
        """
        exchange = _Exchange(self._loop_pools(), self._per_host, allow_private_addresses, max_bytes)
        try:
            async with asyncio.timeout(timeout):
                return await exchange.answer(request)
        except TimeoutError:
            raise NoResponse(f"no answer within {timeout:g} seconds", sent=exchange.sent) from None
        except AddressRefused as refused:
            raise NoResponse(str(refused), sent=False, lasting=True) from None
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError) as fault:
            raise NoResponse(_told(fault), sent=exchange.sent) from None
        except (httpcore.UnsupportedProtocol, zlib.error) as fault:
            raise NoResponse(_told(fault), sent=exchange.sent, lasting=True) from None

    async def aclose(self) -> None:
        """Close all connections, those of other running loops too."""
        here = asyncio.get_running_loop()
        for loop, pools in list(self._pools.items()):
            if loop is here:
                await pools.aclose()
            elif loop.is_running():
                closing = asyncio.run_coroutine_threadsafe(pools.aclose(), loop)
                # That loop may be blocked, or end before it gets to this.
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.wrap_future(closing), CLOSE_SECONDS)
        self._pools.clear()

    def _loop_pools(self) -> _Pools:
        loop = asyncio.get_running_loop()
        pools = self._pools.get(loop)
        if pools is None:
            if self._ssl_context is None:
                self._ssl_context = httpx.create_ssl_context()
            pools = _Pools(self._pool(PublicNetwork()), self._pool(httpcore.AnyIOBackend()))
            self._pools[loop] = pools
        return pools

    def _pool(self, network: httpcore.AsyncNetworkBackend) -> httpcore.AsyncConnectionPool:
        return httpcore.AsyncConnectionPool(
            ssl_context=self._ssl_context,
            max_connections=MAX_CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=network,
        )


class _Exchange:
    """One request with the redirects it leads through. `sent` from the moment something may have reached the server."""

    def __init__(self, pools: _Pools, per_host: int, allow_private: bool, max_bytes: int) -> None:
        self.sent = False
        self._pool = pools.any if allow_private else pools.public
        self._hosts = pools.hosts
        self._per_host = per_host
        self._max_bytes = max_bytes

    async def answer(self, request: HttpRequest) -> RawResponse:
        url = request.url
        host = urlsplit(url).netloc.lower()
        async with self._hosts.setdefault(host, asyncio.Semaphore(self._per_host)):
            response = await self._once(request, url)
            for _ in range(MAX_REDIRECTS):
                following = _redirect(request.method, url, response)
                if following is None:
                    break
                url = following
                response = await self._once(request, url)
            return response

    async def _once(self, request: HttpRequest, url: str) -> RawResponse:
        async with self._opened(request, url) as response:
            headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers)
            body, is_whole = await self._body(response, RawResponse(response.status, headers, b""))
        return RawResponse(response.status, headers, body, is_whole)

    @asynccontextmanager
    async def _opened(self, request: HttpRequest, url: str) -> AsyncIterator[httpcore.Response]:
        sent = httpcore.Request(
            request.method,
            _address(url),
            headers=_headers(request, url),
            content=request.body or b"",
            extensions={"timeout": {"connect": CONNECT_SECONDS}, "trace": self._note},
        )
        response = await self._pool.handle_async_request(sent)
        try:
            yield response
        finally:
            await response.aclose()

    async def _note(self, event: str, _: Any) -> None:
        self.sent = self.sent or event == _SENT

    async def _body(self, response: httpcore.Response, head: RawResponse) -> tuple[bytes, bool]:
        unpack = _unpacker(head.header("content-encoding"))
        body = bytearray()
        async for chunk in response.aiter_stream():
            while chunk:
                room = self._max_bytes - len(body)
                plain, chunk = unpack(chunk, room + 1)
                body += plain
                if len(body) > self._max_bytes:
                    return bytes(body[: self._max_bytes]), False
                if not plain and chunk:
                    raise zlib.error("the compressed body is broken")
        return bytes(body), True


def _address(url: str) -> httpcore.URL:
    """The address as it was built: what is encoded stays so, and nothing is joined or shortened."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return httpcore.URL(scheme=parts.scheme, host=parts.hostname or "", port=parts.port, target=target)


def _headers(request: HttpRequest, url: str) -> list[tuple[bytes, bytes]]:
    own = {"Host": urlsplit(url).netloc, "Accept-Encoding": "gzip"}
    if request.body is not None or request.method in BODY_METHODS:
        own["Content-Length"] = str(len(request.body or b""))
    given = [pair for pair in request.wire_headers() if pair[0].title() not in own]
    if not any(name.lower() == "user-agent" for name, _ in given):
        own["User-Agent"] = "turnhold"
    return [(name.encode("ascii"), value.encode("utf-8")) for name, value in (*own.items(), *given)]


def _redirect(method: str, url: str, response: RawResponse) -> str | None:
    """Where a redirect leads, when it may be followed."""
    location = response.header("location")
    if method not in REDIRECTED_METHODS or response.status not in REDIRECTS or location is None:
        return None
    try:
        # The bytes of a header; some servers write them without encoding.
        target = urljoin(url, quote(location.strip().encode("latin-1"), URL_SAFE)).partition("#")[0]
        return target if _same_host(url, target) else None
    except ValueError:
        return None


def _same_host(url: str, target: str) -> bool:
    here, there = urlsplit(url), urlsplit(target)
    if there.username is not None or here.hostname != there.hostname:
        return False
    return (here.scheme, _port(here)) == (there.scheme, _port(there)) or (
        # The one step that only makes a connection safer.
        (here.scheme, _port(here), there.scheme, _port(there)) == ("http", 80, "https", 443)
    )


def _port(parts: Any) -> int | None:
    return parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _unpacker(encoding: str | None) -> Callable[[bytes, int], tuple[bytes, bytes]]:
    """A function of compressed bytes and the most bytes it may make of them; its second result is what is left to unpack.

    Gzip alone is asked for, because it can be undone in bounded steps. Another encoding is passed on as it came.
    """
    if (encoding or "").strip().lower() not in GZIP:
        return lambda chunk, room: (chunk, b"")
    unpacker = zlib.decompressobj(_GZIP)
    return lambda chunk, room: (unpacker.decompress(chunk, room), unpacker.unconsumed_tail)


def _told(fault: BaseException) -> str:
    said = clean_text(str(fault))[:300]
    return f"{type(fault).__name__}: {said}" if said else type(fault).__name__
