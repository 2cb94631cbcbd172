"""Requests end in time, answers in size, and neither leaves the host that was named."""

import asyncio
import gzip
import logging
import shutil
import ssl
import subprocess
import threading
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from activities.http_client import HttpClient, NoResponse
from activities.openapi.message import HttpRequest
from activities.openapi.response import RawResponse
from tests.activities.recording import OK, Recorded, RecordingServer, answer


@pytest.fixture
async def server() -> AsyncIterator[RecordingServer]:
    async with RecordingServer() as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient()
    yield made
    await made.aclose()


async def send(
    client: HttpClient,
    server: RecordingServer,
    method: str = "GET",
    path: str = "/x",
    timeout: float = 10,
    **fields: Any,
) -> RawResponse:
    request = HttpRequest(method, f"{server.url}{path}", **fields)
    return await client.send(request, timeout=timeout, allow_private_addresses=True, max_bytes=100_000)


async def test_request_goes_out_as_it_was_built(client: HttpClient, server: RecordingServer) -> None:
    fields: dict[str, Any] = {
        "query": (("a%5B%5D", "%2e"),),
        "headers": (("X-A", "b"),),
        "cookies": (("s", "1"), ("t", "2")),
    }
    response = await send(client, server, "POST", "/a%2Fb/%2e./c;d", body=b"hi", **fields)
    assert (response.status, response.body, response.is_whole) == (200, b"{}", True)
    got = server.requests[0]
    assert (got.method, got.target, got.body) == ("POST", "/a%2Fb/%2e./c;d?a%5B%5D=%2e", b"hi")
    assert (got.header("X-A"), got.header("Cookie"), got.header("Content-Length")) == ("b", "s=1; t=2", "2")
    assert got.header("Host") == f"127.0.0.1:{server.port}"


async def test_body_that_is_absent_has_a_length_where_a_server_wants_one(
    client: HttpClient, server: RecordingServer
) -> None:
    for method in ("GET", "POST", "DELETE"):
        await send(client, server, method)
    assert [each.header("Content-Length") for each in server.requests] == [None, "0", None]


async def test_cookies_of_an_answer_are_not_kept(client: HttpClient, server: RecordingServer) -> None:
    server.respond = lambda _: answer("200 OK", b"{}", None, "Set-Cookie: a=1; Path=/")
    first = await send(client, server)
    await send(client, server)
    assert first.header("set-cookie") == "a=1; Path=/"
    assert server.requests[1].header("Cookie") is None


async def test_no_log_names_what_was_sent(
    client: HttpClient, server: RecordingServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        await send(client, server, query=(("api_key", "s3cr3t"),), headers=(("Authorization", "Bearer s3cr3t"),))
    assert "s3cr3t" not in caplog.text


@pytest.mark.parametrize("size", [100_000, 100_001, 5_000_000])
async def test_answer_is_read_up_to_its_limit(client: HttpClient, server: RecordingServer, size: int) -> None:
    server.respond = lambda _: answer("200 OK", b"x" * size, "text/plain")
    response = await send(client, server)
    assert (len(response.body), response.is_whole) == (min(size, 100_000), size <= 100_000)
    server.respond = lambda _: OK
    assert (await send(client, server)).body == b"{}"


async def test_endless_answer_is_read_up_to_its_limit(client: HttpClient) -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                writer.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
                await writer.drain()
        except ConnectionError:
            writer.close()

    running = await asyncio.start_server(endless, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{running.sockets[0].getsockname()[1]}/"
    response = await client.send(HttpRequest("GET", url), timeout=10, allow_private_addresses=True, max_bytes=50_000)
    assert (len(response.body), response.is_whole) == (50_000, False)
    running.close()


async def test_compressed_answer_is_unpacked_and_a_bomb_is_not(client: HttpClient, server: RecordingServer) -> None:
    server.respond = lambda _: answer("200 OK", gzip.compress(b"hello" * 1000), None, "Content-Encoding: gzip")
    response = await send(client, server)
    assert (response.body, response.is_whole) == (b"hello" * 1000, True)
    assert server.requests[0].header("Accept-Encoding") == "gzip"
    bomb = gzip.compress(bytes(50_000_000), 9)
    server.respond = lambda _: answer("200 OK", bomb, None, "Content-Encoding: gzip")
    tracemalloc.start()
    response = await send(client, server)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(response.body), response.is_whole) == (100_000, False)
    assert most < 5_000_000


async def test_broken_compression_is_no_answer(client: HttpClient, server: RecordingServer) -> None:
    server.respond = lambda _: answer("200 OK", b"no gzip at all", None, "Content-Encoding: gzip")
    with pytest.raises(NoResponse) as raised:
        await send(client, server)
    assert (raised.value.sent, raised.value.lasting) == (True, True)


async def test_other_encoding_is_passed_on_as_it_came(client: HttpClient, server: RecordingServer) -> None:
    server.respond = lambda _: answer("200 OK", b"\x0b\x02\x80", None, "Content-Encoding: br")
    assert (await send(client, server)).body == b"\x0b\x02\x80"


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"not http at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        b"HTTP/1.1 banana\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x00\x00",
    ],
)
async def test_answer_that_is_none_says_that_the_request_was_sent(
    client: HttpClient, server: RecordingServer, said: bytes
) -> None:
    async def once(_: Recorded) -> bytes:
        writer = next(iter(server._open))
        writer.write(said)
        await writer.drain()
        return b""

    server.respond = once
    with pytest.raises(NoResponse) as raised:
        await send(client, server)
    assert (raised.value.sent, raised.value.lasting) == (True, False)


async def test_server_that_is_away_gets_nothing(client: HttpClient) -> None:
    async with RecordingServer() as gone:
        pass
    with pytest.raises(NoResponse) as raised:
        await send(client, gone)
    assert (raised.value.sent, raised.value.lasting) == (False, False)


async def test_name_that_nobody_has_gets_nothing(client: HttpClient) -> None:
    with pytest.raises(NoResponse, match="cannot be resolved") as raised:
        await client.send(HttpRequest("GET", "http://no-such-name.invalid/"), timeout=10)
    assert not raised.value.sent


@pytest.mark.parametrize("slow_after", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"])
async def test_slow_server_is_left_at_the_timeout(
    client: HttpClient, server: RecordingServer, slow_after: bytes
) -> None:
    async def never(_: Recorded) -> bytes:
        writer = next(iter(server._open))
        writer.write(slow_after)
        await asyncio.Event().wait()
        return b""

    server.respond = never
    with pytest.raises(NoResponse, match=r"no answer within 0\.2 seconds") as raised:
        await send(client, server, timeout=0.2)
    assert (raised.value.sent, raised.value.lasting) == (True, False)
    server.respond = lambda _: OK
    assert (await send(client, server)).status == 200


async def test_private_address_is_refused_before_anything_is_sent(client: HttpClient, server: RecordingServer) -> None:
    with pytest.raises(NoResponse, match="not a public address") as raised:
        await client.send(HttpRequest("GET", server.url), timeout=5)
    assert (raised.value.sent, raised.value.lasting) == (False, True)
    assert server.connections == 0


def redirect(location: str, status: str = "302 Found") -> bytes:
    return answer(status, b"", None, f"Location: {location}")


@pytest.mark.parametrize("location", ["/y?z=1", "y?z=1", "http://127.0.0.1:{port}/y?z=1#part"])
async def test_redirect_on_the_same_host_is_followed(
    client: HttpClient, server: RecordingServer, location: str
) -> None:
    said = redirect(location.format(port=server.port))
    server.respond = lambda got: said if got.target == "/x" else OK
    assert (await send(client, server, headers=(("X-A", "b"),))).status == 200
    assert [(got.method, got.target, got.header("X-A")) for got in server.requests] == [
        ("GET", "/x", "b"),
        ("GET", "/y?z=1", "b"),
    ]


@pytest.mark.parametrize(
    "location",
    [
        "http://example.com/",
        "//example.com/",
        "http://169.254.169.254/latest/meta-data",
        "http://localhost:{port}/",
        "http://127.0.0.1:1/",
        "https://127.0.0.1:{port}/",
        "http://user:pw@127.0.0.1:{port}/",
        "file:///etc/passwd",
        "http://[::1",
        "http://127.0.0.1:99999/",
    ],
)
async def test_redirect_to_anywhere_else_is_the_answer(
    client: HttpClient, server: RecordingServer, location: str
) -> None:
    server.respond = lambda _: redirect(location.format(port=server.port))
    assert (await send(client, server)).status == 302
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", ["301 Moved", "303 See Other", "307 Temporary Redirect"])
async def test_redirect_of_what_changes_something_is_the_answer(
    client: HttpClient, server: RecordingServer, status: str
) -> None:
    server.respond = lambda _: redirect("/y", status)
    assert (await send(client, server, "POST", body=b"{}")).status == int(status[:3])
    assert len(server.requests) == 1


async def test_redirects_come_to_an_end(client: HttpClient, server: RecordingServer) -> None:
    server.respond = lambda _: redirect("/x")
    assert (await send(client, server)).status == 302
    assert len(server.requests) == 6


async def test_host_gets_a_bounded_number_of_requests_at_once(server: RecordingServer) -> None:
    running, most = 0, 0

    async def counted(_: Recorded) -> bytes:
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0.01)
        running -= 1
        return OK

    server.respond = counted
    client = HttpClient(per_host=3)
    await asyncio.gather(*(send(client, server) for _ in range(12)))
    assert (len(server.requests), most) == (12, 3)
    await client.aclose()


async def test_cancelled_request_leaves_room_for_the_next(server: RecordingServer) -> None:
    reached = asyncio.Event()

    async def never(_: Recorded) -> bytes:
        reached.set()
        await asyncio.Event().wait()
        return b""

    server.respond = never
    client = HttpClient(per_host=1)
    task = asyncio.create_task(send(client, server))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    server.respond = lambda _: OK
    assert (await send(client, server)).status == 200
    await client.aclose()


async def test_one_client_serves_several_loops(client: HttpClient, server: RecordingServer) -> None:
    statuses = []

    def elsewhere() -> None:
        statuses.append(asyncio.run(send(client, server)).status)

    for _ in range(2):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        await asyncio.to_thread(thread.join)
    statuses.append((await send(client, server)).status)
    assert statuses == [200, 200, 200]


async def test_connections_are_used_again(client: HttpClient, server: RecordingServer) -> None:
    for _ in range(3):
        await send(client, server)
    assert server.connections == 1


async def test_certificate_must_be_trusted_and_bear_the_name(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    certificate, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout", key, "-out", certificate]
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    await asyncio.to_thread(
        subprocess.run,
        ["openssl", "req", "-x509", "-nodes", "-days", "2", *made, *named],
        check=True,
        capture_output=True,
    )
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    trusting = HttpClient(ssl_context=ssl.create_default_context(cafile=certificate))
    async with RecordingServer(tls=tls) as server:

        async def status(client: HttpClient, host: str) -> int:
            request = HttpRequest("GET", f"https://{host}:{server.port}/")
            return (await client.send(request, timeout=10, allow_private_addresses=True)).status

        assert await status(trusting, "localhost") == 200
        for client, host in ((trusting, "127.0.0.1"), (HttpClient(), "localhost")):
            with pytest.raises(NoResponse, match="certificate") as raised:
                await status(client, host)
            assert not raised.value.sent
        await trusting.aclose()
