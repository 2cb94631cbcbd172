"""Making and closing clients."""

import threading
from typing import Any

import httpx
import pytest

from tests.worker.cogmem.scripted_service import KEY, MEMORY, Reply, ScriptedService
from worker.cogmem import (
    AsyncCogmem,
    Cogmem,
    CognitiveMemoryConfig,
    CognitiveMemoryError,
    create_client,
    create_http_client,
    fetch_health,
)


def test_a_client_is_made_in_each_way(service: ScriptedService) -> None:
    config = CognitiveMemoryConfig(api_key=KEY, base_url=service.base_url)
    for client in (Cogmem(config), Cogmem(api_key=KEY, base_url=f"{service.base_url}/"), create_client(config)):
        with client as memory:
            assert memory.base_url == service.base_url
            assert memory.memories.get("m1").id == "m1"


def test_fields_and_a_whole_configuration_do_not_mix() -> None:
    with pytest.raises(TypeError, match="retry must stand inside the configuration"):
        Cogmem(CognitiveMemoryConfig(api_key=KEY), retry=1)


def test_a_key_in_the_place_of_a_configuration_is_refused_without_showing_it() -> None:
    key: Any = KEY
    for make in (Cogmem, AsyncCogmem, create_client, create_http_client):
        with pytest.raises(TypeError, match="api_key=") as caught:
            make(key)
        assert KEY not in str(caught.value)


@pytest.mark.parametrize("client", [Cogmem, AsyncCogmem])
def test_a_client_needs_a_key_and_never_shows_it(client: type[Any]) -> None:
    for fields in ({}, {"api_key": " "}):
        with pytest.raises(ValueError, match="api_key"):
            client(**fields)
    made = client(api_key=KEY)
    assert repr(made) == f"{client.__name__}('http://localhost:3000')"
    assert KEY not in f"{made.http!r} {made.memories!r} {made.http.config!r}"


def test_the_network_can_be_replaced() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"memory": {**MEMORY, "id": request.url.path.rsplit("/", 1)[1]}})

    config = CognitiveMemoryConfig(api_key=KEY)
    assert create_client(config, httpx.MockTransport(answer)).memories.get("m7").id == "m7"
    assert create_http_client(config, httpx.MockTransport(answer)).request("GET", "/x/m8")["memory"]["id"] == "m8"


async def test_the_network_of_an_async_client_can_be_replaced_too() -> None:
    reply = httpx.MockTransport(lambda _: httpx.Response(200, json={"memory": MEMORY}))
    async with AsyncCogmem(api_key=KEY, transport=reply) as memory:
        assert (await memory.memories.get("m1")).id == "m1"


async def test_a_closed_client_says_so(service: ScriptedService) -> None:
    with Cogmem(api_key=KEY, base_url=service.base_url) as memory:
        memory.stats.get()
    with pytest.raises(RuntimeError, match="closed"):
        memory.stats.get()
    async with AsyncCogmem(api_key=KEY, base_url=service.base_url) as awaited:
        await awaited.stats.get()
    with pytest.raises(RuntimeError, match="closed"):
        await awaited.stats.get()


def test_health_is_asked_once_without_a_key(service: ScriptedService) -> None:
    health = fetch_health(f"{service.base_url}/")

    assert (health.ok, health.extractor, health.limits.max_total_tokens, health.problems) == (
        True,
        "rules-only",
        2000,
        [],
    )
    assert "authorization" not in service.seen[0].headers

    service.reply(Reply(503, {"error": "Starting", "message": "not yet"}))
    with pytest.raises(CognitiveMemoryError, match="not yet"):
        fetch_health(service.base_url)
    assert service.calls == ["GET /health"] * 2


def test_a_path_of_ones_own_begins_with_a_slash() -> None:
    with pytest.raises(ValueError, match="slash"):
        Cogmem(api_key=KEY).http.request("GET", "keys")


def test_threads_may_share_a_client(service: ScriptedService) -> None:
    found: list[str] = []
    with Cogmem(api_key=KEY, base_url=service.base_url) as memory:
        threads = [threading.Thread(target=lambda: found.append(memory.memories.get("m1").id)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)

    assert found == ["m1"] * 8
