"""What both clients do when the network or the service misbehaves, on real sockets."""

import asyncio
import logging
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest

from tests.worker.cogmem.scripted_service import CONTEXT, KEY, Reply, ScriptedService, refused, told
from worker.cogmem import AsyncCogmem, Cogmem, CognitiveMemoryError, transport
from worker.dev_server import free_port


def clients(service: ScriptedService, **config: Any) -> list[Any]:
    fields = {"api_key": KEY, "base_url": service.base_url, "retry": 0, **config}
    return [Cogmem(**fields), AsyncCogmem(**fields)]


async def test_a_write_that_lost_its_answer_is_sent_again_under_the_same_key(
    memory: Any, service: ScriptedService
) -> None:
    service.reply(Reply(drop=True), refused(503, "StorageFailure"))
    model = await told(memory.self_model.record("database", True))

    assert model.weak_domains == ["database"]
    assert service.calls == ["POST /self-model/outcome"] * 3
    assert len({request.headers["idempotency-key"] for request in service.seen}) == 1
    assert len({str(request.body) for request in service.seen}) == 1


async def test_a_write_without_a_method_of_its_own_is_sent_once(memory: Any, service: ScriptedService) -> None:
    service.reply(refused(503, "StorageFailure"), refused(503, "StorageFailure"))
    with pytest.raises(CognitiveMemoryError):
        await told(memory.http.request("POST", "/keys", body={"name": "ci"}))
    assert service.calls == ["POST /keys"]
    await told(memory.http.request("GET", "/stats"))
    assert service.calls == ["POST /keys", "GET /stats", "GET /stats"]


async def test_two_calls_have_two_keys(memory: Any, service: ScriptedService) -> None:
    await told(memory.self_model.record("database", True))
    await told(memory.self_model.record("database", True))

    assert len({request.headers["idempotency-key"] for request in service.seen}) == 2


async def test_when_every_try_fails_the_last_answer_is_told(memory: Any, service: ScriptedService) -> None:
    service.reply(*[refused(429, "RateLimited")] * 3)
    with pytest.raises(CognitiveMemoryError) as caught:
        await told(memory.stats.get())

    assert caught.value.is_rate_limit_error()
    assert len(service.seen) == 3


async def test_nobody_there_is_a_connection_error() -> None:
    for client in (Cogmem, AsyncCogmem):
        away = client(api_key=KEY, base_url=f"http://127.0.0.1:{free_port()}", retry=0)
        with pytest.raises(httpx.ConnectError):
            await told(away.stats.get())


async def test_a_silent_service_is_given_up(service: ScriptedService) -> None:
    for client in clients(service, timeout=200):
        # The headers promise a body that never comes.
        service.reply(Reply(raw=b"", headers={"content-length": "5"}, then=lambda handler: _wait(handler, 2)))
        with pytest.raises(httpx.TimeoutException):
            await told(client.stats.get())


async def test_an_answer_that_trickles_is_given_up_as_well(service: ScriptedService) -> None:
    for client in clients(service, timeout=500):
        service.reply(Reply(raw=b"{", headers={"content-length": "10000"}, then=_trickle))
        with pytest.raises(httpx.TimeoutException):
            await told(client.stats.get())


async def test_an_answer_without_an_end_is_given_up(service: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_ANSWER_BYTES", 100_000)
    for client in clients(service):
        service.reply(Reply(raw=b'"' + b"x" * 300_000 + b'"'))
        with pytest.raises(CognitiveMemoryError, match="200"):
            await told(client.stats.get())


async def test_an_answer_that_cannot_be_decompressed_tells_its_status_and_is_tried_again_if_that_may_pass(
    memory: Any, service: ScriptedService
) -> None:
    broken = {"content-encoding": "gzip"}
    service.reply(Reply(503, raw=b"not gzip", headers=broken), Reply(raw=b"not gzip", headers=broken))
    with pytest.raises(CognitiveMemoryError) as caught:
        await told(memory.stats.get())

    assert (caught.value.status, caught.value.code, len(service.seen)) == (200, "UnknownError", 2)


@pytest.mark.parametrize("status", [200, 404, 502])
async def test_an_answer_that_is_not_json_tells_its_status(service: ScriptedService, status: int) -> None:
    for client in clients(service):
        service.reply(Reply(status, raw=b"<html>\xff\xfe nginx</html>", headers={"content-type": "text/html"}))
        with pytest.raises(CognitiveMemoryError, match=str(status)) as caught:
            await told(client.memories.get("m1"))
        assert (caught.value.code, caught.value.status) == ("UnknownError", status)


async def test_a_success_of_another_shape_is_an_error(service: ScriptedService) -> None:
    for client in clients(service):
        service.reply(Reply(body={"memory": {"id": 7}}))
        with pytest.raises(CognitiveMemoryError, match="does base_url lead to it"):
            await told(client.memories.get("m1"))


async def test_a_redirect_is_not_followed_with_the_key(service: ScriptedService) -> None:
    with ScriptedService() as elsewhere:
        for client in clients(service):
            service.reply(Reply(307, headers={"location": f"{elsewhere.base_url}/api/v1/stats"}))
            with pytest.raises(CognitiveMemoryError) as caught:
                await told(client.stats.get())
            assert caught.value.status == 307
        assert elsewhere.seen == []


async def test_unknown_members_of_an_answer_are_harmless(service: ScriptedService) -> None:
    for client in clients(service):
        service.reply(Reply(body={**CONTEXT, "costUSD": 0.1}))
        assert (await told(client.context.build())).total_tokens == 9


async def test_a_prefix_of_the_base_url_stands_before_every_path(service: ScriptedService) -> None:
    for client in clients(service, base_url=f"{service.base_url}/memory/"):
        service.reply(Reply(body=CONTEXT))
        await told(client.context.build())

    assert [request.path for request in service.seen] == ["/memory/api/v1/context"] * 2


async def test_own_headers_are_sent_and_replace_none_of_the_clients(service: ScriptedService) -> None:
    headers = {"X-Team": "a", "Authorization": "Basic eDp5", "Content-Type": "text/plain", "Idempotency-Key": "1"}
    for client in clients(service, headers=headers):
        await told(client.recall.search("x"))
        seen = service.seen[-1].headers
        assert (seen["x-team"], seen["authorization"], seen["content-type"]) == (
            "a",
            f"Bearer {KEY}",
            "application/json",
        )
        assert seen["idempotency-key"] != "1"


async def test_an_error_that_repeats_the_key_does_not_show_it(service: ScriptedService) -> None:
    for client in clients(service):
        service.reply(refused(401, "Unauthorized", resource=f"Bearer {KEY}", issues=[KEY]))
        with pytest.raises(CognitiveMemoryError) as caught:
            await told(client.stats.get())
        assert KEY not in f"{caught.value} {caught.value.body} {caught.value.issues}"
        assert "[key]" in str(caught.value.body)


async def test_it_is_quiet_unless_asked_and_never_logs_the_key(
    service: ScriptedService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for client in clients(service):
        await told(client.recall.search("secret plans"))
    assert [record for record in caplog.records if record.name == transport.__name__] == []

    for client in clients(service, debug=True, headers={"x-secret": "hunter2"}):
        caplog.clear()
        await told(client.recall.search("secret plans"))
        lines = [record.getMessage() for record in caplog.records if record.name == transport.__name__]
        assert lines == [f"POST {service.base_url}/api/v1/recall", f"POST {service.base_url}/api/v1/recall: 200"]
    assert KEY not in caplog.text
    assert "hunter2" not in caplog.text
    assert "secret plans" not in caplog.text


async def test_a_cancelled_call_ends_at_once(service: ScriptedService) -> None:
    service.reply(Reply(raw=b"", headers={"content-length": "5"}, then=lambda handler: _wait(handler, 30)))
    async with AsyncCogmem(api_key=KEY, base_url=service.base_url) as client:
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await client.stats.get()
        assert time.monotonic() - started < 15


def _wait(handler: BaseHTTPRequestHandler, seconds: float) -> None:
    """Hold the connection until the client gives up, or so long."""
    handler.connection.settimeout(seconds)
    handler.rfile.read(1)
    handler.close_connection = True


def _trickle(handler: BaseHTTPRequestHandler) -> None:
    """A byte now and then, each well within the time allowed for silence."""
    for _ in range(60):
        handler.wfile.write(b" ")
        time.sleep(0.05)
