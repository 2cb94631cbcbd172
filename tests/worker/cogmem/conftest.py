"""A scripted service and both clients of it."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.worker.cogmem.scripted_service import KEY, ScriptedService
from worker.cogmem import AsyncCogmem, Cogmem, exchange


@pytest.fixture
def service() -> Iterator[ScriptedService]:
    """A server that answers as it is told."""
    with ScriptedService() as service:
        yield service


@pytest.fixture(params=["sync", "async"])
async def memory(
    request: pytest.FixtureRequest, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Any]:
    """Each client in turn, without the waits between tries."""
    monkeypatch.setattr(exchange, "FIRST_PAUSE", 0.0)
    if request.param == "sync":
        with Cogmem(api_key=KEY, base_url=service.base_url) as client:
            yield client
    else:
        async with AsyncCogmem(api_key=KEY, base_url=service.base_url) as awaited:
            yield awaited
