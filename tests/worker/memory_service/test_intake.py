"""Bodies are bounded in bytes and in time, and nobody's connection stays open for nothing."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest

from tests.worker.memory_service.calls import Caller, Running, refused, running, settings_for


@pytest.fixture
async def at(database_url: str) -> AsyncIterator[Running]:
    """A service with little patience."""
    settings = settings_for(database_url, max_body=10_000, header_seconds=1, body_seconds=1)
    async with running(settings) as service:
        yield service


async def connected(at: Running) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    address = urlsplit(at.url)
    return await asyncio.open_connection(address.hostname, address.port)


async def answered(reader: asyncio.StreamReader) -> bytes:
    """Everything that is sent until the connection is closed."""
    async with asyncio.timeout(20):
        return await reader.read()


def head(caller: Caller, *more: str) -> bytes:
    lines = ["POST /api/v1/recall HTTP/1.1", "host: x", f"authorization: Bearer {caller.key}"]
    return "\r\n".join([*lines, "content-type: application/json", *more, "", ""]).encode()


async def test_a_body_that_is_too_large_is_refused_before_it_is_read(at: Running, caller: Caller) -> None:
    reader, writer = await connected(at)
    writer.write(head(caller, "content-length: 10001"))
    assert (await answered(reader)).startswith(b"HTTP/1.1 413")
    writer.close()
    refused(await caller.send("POST", "/recall", {"query": "x" * 10_000}), 413, "PayloadTooLarge")


async def test_a_body_without_a_length_is_counted(at: Running, caller: Caller) -> None:
    reader, writer = await connected(at)
    writer.write(head(caller, "transfer-encoding: chunked"))
    for _ in range(3):
        writer.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
    assert (await answered(reader)).startswith(b"HTTP/1.1 413")
    writer.close()


async def test_a_body_that_does_not_come_times_out(at: Running, caller: Caller) -> None:
    reader, writer = await connected(at)
    writer.write(head(caller, "content-length: 20") + b'{"que')
    answer = await answered(reader)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"RequestTimeout" in answer
    writer.close()


@pytest.mark.parametrize("sent", [b"", b"GET /health HT", b"GET /health HTTP/1.1\r\nhost: x\r\n"])
async def test_a_head_that_does_not_come_closes_the_connection(at: Running, sent: bytes) -> None:
    reader, writer = await connected(at)
    writer.write(sent)
    assert await answered(reader) == b""
    writer.close()


async def test_a_head_that_trickles_in_is_not_waited_for_longer(at: Running) -> None:
    reader, writer = await connected(at)
    reading = asyncio.create_task(answered(reader))
    for byte in b"GET /health HTTP/1.1\r\nx-padding: " + b"x" * 1_000:
        writer.write(bytes([byte]))
        done, _ = await asyncio.wait([reading], timeout=0.05)
        if done:
            break
    assert reading.done()
    assert await reading == b""
    writer.close()


async def test_a_head_without_end_is_refused(at: Running) -> None:
    reader, writer = await connected(at)
    writer.write(b"GET /health HTTP/1.1\r\nx-padding: " + b"x" * 100_000)
    assert (await answered(reader)).startswith(b"HTTP/1.1 400")
    writer.close()


async def test_a_connection_serves_many_requests_and_waits_between_them(at: Running) -> None:
    reader, writer = await connected(at)
    for _ in range(3):
        writer.write(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert b'"ok":true' in await reader.readuntil(b'"problems":[]}')
        await asyncio.sleep(0.5)
    writer.close()


async def test_a_stranger_s_body_is_not_read(at: Running) -> None:
    reader, writer = await connected(at)
    writer.write(b"POST /api/v1/memories HTTP/1.1\r\nhost: x\r\ncontent-length: 9000\r\n\r\n")
    async with asyncio.timeout(10):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 401")
    writer.close()


async def test_a_client_that_goes_away_leaves_the_service_as_it_was(at: Running, caller: Caller) -> None:
    for _ in range(20):
        _, writer = await connected(at)
        writer.write(head(caller, "content-length: 20") + b"{")
        writer.close()
    assert await caller.recalled("anything") == []


async def test_who_sends_more_than_a_share_waits(database_url: str) -> None:
    async with running(settings_for(database_url, rate=1, burst=3)) as service:
        first, second = await service.caller(), await service.caller()
        answers = [await first.send("GET", "/stats") for _ in range(5)]
        limited = [answer for answer in answers if answer.status_code == 429]
        assert len(limited) >= 1
        refused(limited[-1], 429, "RateLimited")
        assert int(limited[-1].headers["retry-after"]) >= 1
        assert (await second.send("GET", "/stats")).status_code == 200
        assert (await service.http.get("/health")).status_code == 200
