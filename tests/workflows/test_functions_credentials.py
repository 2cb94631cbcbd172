"""What the worker's own configuration sends with a call is told to nobody but the API."""

import json

import pytest

from tests.activities.recording import Recorded
from tests.support import Harness, events_of
from tests.workflows.shop import Shop, ask, assert_told_to_nobody, document, results, said
from worker.app import AgentApp, HttpController, Rule

TOKEN, TENANT, SESSION = "sk-S3CRET-TOKEN", "tenant-S3CRET", "session-S3CRET"


def echo(request: Recorded) -> bytes:
    """An answer that repeats everything it was sent."""
    return said("422 Unprocessable Entity", {"got": [request.target, *map(list, request.headers)]}, f"X-Echo: {TOKEN}")


async def test_no_secret_of_a_connection_reaches_the_model_the_store_or_the_history(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("T_TOKEN", TOKEN), ("T_TENANT", TENANT), ("T_SESSION", SESSION)):
        monkeypatch.setenv(name, value)
    given = document()
    given["security"] = [{"key": []}]
    given["components"] = {"securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "api_key"}}}
    shop = await harness.stack.enter_async_context(Shop({f"POST /orders?api_key={TOKEN}": [echo]}))
    controller = HttpController(
        "shop",
        given,
        connection={
            "host": shop.url,
            "headers": {"Authorization": "Bearer env:T_TOKEN", "X-Tenant": "env:T_TENANT"},
            "cookies": {"session": "env:T_SESSION"},
        },
        security={"key": "env:T_TOKEN"},
        names="operationId",
        policy=[Rule("run")],
        allow_private_addresses=True,
    )
    await harness.work(AgentApp(controllers=[controller]))
    turn = await ask(harness, ("createOrder", {"body": {"article": "lamp"}}))
    await turn.result()

    [request] = shop.requests
    assert request.target == f"/orders?api_key={TOKEN}"
    assert [request.header(name) for name in ("authorization", "x-tenant", "cookie")] == [
        f"Bearer {TOKEN}",
        TENANT,
        f"session={SESSION}",
    ]
    assert "/orders?api_key=[secret]" in results(harness)[0]
    history = json.dumps(await events_of(turn.handle))
    for secret in (TOKEN, TENANT, SESSION):
        assert_told_to_nobody(harness, secret)
        assert secret not in history
