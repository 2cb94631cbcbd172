"""Keys: who makes them, what they open, and how they are closed."""

import re

import pytest

from activities.store.api_keys import ApiKeyStore
from tests.worker.memory_service.calls import ADMIN, Running, refused, running, settings_for
from worker.memory_service.keys import digest, is_secret, make_key, split_key


async def test_a_key_has_its_form_and_its_secret_is_shown_once(at: Running) -> None:
    answer = await at.admin.send("POST", "/keys", {"name": "ci", "organizationId": "acme"})
    assert answer.status_code == 201
    minted = answer.json()
    assert re.fullmatch(r"cmi_dev_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", minted["key"])
    assert minted["scopes"] == ["memories:read", "memories:write", "stats:read"]
    assert minted["warning"]
    listed = await at.admin.get("/keys?organizationId=acme")
    assert listed["organizationId"] == "acme"
    assert [key["id"] for key in listed["keys"]] == [minted["id"]]
    secret = minted["key"].removeprefix(minted["prefix"] + "_")
    assert secret not in str(listed)
    stored = ApiKeyStore(at.service.database).find(minted["prefix"])
    assert stored is not None
    assert secret not in repr(stored)


async def test_a_manager_makes_keys_for_its_own_organisation_only(at: Running) -> None:
    manager = await at.caller("acme", scopes=["memories:read", "keys:manage"])
    made = await manager.post("/keys", {"name": "reader", "scopes": ["memories:read"], "userId": "ren"})
    assert (made["organizationId"], made["userId"], made["personaId"]) == ("acme", "ren", "default")
    answer = await manager.send("POST", "/keys", {"name": "x", "scopes": ["memories:read"], "organizationId": "other"})
    refused(answer, 403, "Forbidden")
    refused(await manager.send("GET", "/keys?organizationId=other"), 403, "Forbidden")
    assert len((await manager.get("/keys"))["keys"]) == 2


async def test_no_key_makes_one_that_may_do_more(at: Running) -> None:
    manager = await at.caller("acme", scopes=["memories:read", "keys:manage"])
    answer = await manager.send("POST", "/keys", {"name": "writer", "scopes": ["memories:write"]})
    assert refused(answer, 403, "Forbidden")["requiredScope"] == "memories:write"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "x", "organizationId": "acme", "scopes": ["keys:manage"]}, "scopes"),
        ({"name": "x", "organizationId": "acme", "scopes": []}, "scopes"),
        ({"name": "x", "organizationId": "acme", "scopes": ["all"]}, "scopes.0"),
        ({"name": "", "organizationId": "acme"}, "name"),
        ({"name": "n" * 101, "organizationId": "acme"}, "name"),
        ({"name": "x", "organizationId": "acme", "expiresInDays": 0}, "expiresInDays"),
        ({"name": "x"}, "organizationId"),
    ],
)
async def test_a_key_that_makes_no_sense_is_not_made(at: Running, body: dict[str, object], field: str) -> None:
    issues = refused(await at.admin.send("POST", "/keys", body), 400, "InvalidRequest")["issues"]
    assert issues[0].startswith(f"{field}: ")


async def test_a_closed_key_opens_nothing_from_that_moment(at: Running) -> None:
    caller = await at.caller()
    assert (await caller.send("GET", "/stats")).status_code == 200
    key_id = (await at.admin.get("/keys?organizationId=acme"))["keys"][0]["id"]
    closed = (await at.admin.send("DELETE", f"/keys/{key_id}")).json()
    assert (closed["id"], closed["revoked"]) == (key_id, True)
    refused(await caller.send("GET", "/stats"), 401, "Unauthorized")
    again = (await at.admin.send("DELETE", f"/keys/{key_id}")).json()
    assert again == closed
    assert (await at.admin.get("/keys?organizationId=acme"))["keys"][0]["status"] == "revoked"


async def test_a_key_closed_by_another_process_opens_nothing_a_second_later(
    at: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.memory_service.authority.KNOWN_SECONDS", 0.0)
    caller = await at.caller()
    assert (await caller.send("GET", "/stats")).status_code == 200
    key = (await at.admin.get("/keys?organizationId=acme"))["keys"][0]
    ApiKeyStore(at.service.database).revoke(key["id"], None, 1)
    refused(await caller.send("GET", "/stats"), 401, "Unauthorized")


async def test_an_expired_key_opens_nothing(at: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    caller = await at.caller(expiresInDays=1)
    monkeypatch.setattr("worker.memory_service.authority.now_ms", lambda: 2**45)
    refused(await caller.send("GET", "/stats"), 401, "Unauthorized")


async def test_another_organisation_s_key_looks_like_none(at: Running) -> None:
    await at.caller("theirs")
    theirs = (await at.admin.get("/keys?organizationId=theirs"))["keys"][0]["id"]
    manager = await at.caller("ours", scopes=["memories:read", "keys:manage"])
    foreign, absent = [await manager.send("DELETE", f"/keys/{key}") for key in (theirs, "key_none")]
    told = refused(foreign, 404, "NotFound")
    assert {**told, "id": "key_none"} == refused(absent, 404, "NotFound")
    assert (await at.admin.get("/keys?organizationId=theirs"))["keys"][0]["status"] == "active"


async def test_the_admin_token_opens_no_memory(at: Running) -> None:
    assert refused(await at.admin.send("GET", "/memories"), 403, "Forbidden")["requiredScope"] == "memories:read"
    refused(await at.admin.send("POST", "/memories", {"items": [{"content": "abc"}]}), 403, "Forbidden")


async def test_without_an_admin_token_a_first_key_cannot_be_made(database_url: str) -> None:
    async with running(settings_for(database_url, admin_token=None)) as service:
        refused(await service.with_key("").send("POST", "/keys", {"name": "x"}), 503, "BootstrapDisabled")
        refused(await service.with_key(ADMIN).send("POST", "/keys", {"name": "x"}), 401, "Unauthorized")


async def test_the_other_header_carries_a_key_too(at: Running) -> None:
    caller = await at.caller()
    given = {"x-cognitive-memory-key": caller.key}
    assert (await at.http.get("/api/v1/stats", headers=given)).status_code == 200


async def test_the_last_use_is_noted(at: Running) -> None:
    caller = await at.caller()
    await caller.get("/stats")
    key = (await at.admin.get("/keys?organizationId=acme"))["keys"][0]
    assert key["lastUsedAt"] >= key["createdAt"]


async def test_an_organisation_may_have_limits_of_its_own(at: Running) -> None:
    caller = await at.caller()
    await caller.remember(*(f"Worker {number} of the fleet runs in cell {number * 7}" for number in range(40)))
    path, limits = "/organizations/acme", {"maxTotalTokens": 60, "defaultRecallLimit": 3, "maxIndexItems": 2}
    assert (await at.admin.send("PUT", path, limits)).json() == limits
    assert await at.admin.get(path) == limits
    shown = await caller.post("/context", {})
    assert shown["totalTokens"] <= 60
    assert len(shown["entries"]) <= 2
    assert len((await caller.post("/recall", {"query": "fleet worker"}))["results"]) == 3
    other = await at.caller("other")
    assert (await other.post("/context", {}))["totalTokens"] == 0
    assert (await at.admin.send("PUT", path, {})).json() == {}
    assert (await caller.post("/context", {}))["totalTokens"] > 60
    manager = await at.caller(scopes=["memories:read", "keys:manage"])
    refused(await manager.send("PUT", path, limits), 403, "Forbidden")


def test_a_secret_is_compared_whole() -> None:
    made = make_key("prod")
    parts = split_key(made.text)
    assert parts is not None
    prefix, secret = parts
    assert prefix == made.prefix
    assert is_secret(secret, digest(secret))
    assert not is_secret(secret[:-1] + ("A" if secret[-1] != "A" else "B"), made.secret_sha256)
    assert not is_secret(secret, None)


@pytest.mark.parametrize("text", ["", "cmi", "cmi_dev_0123456_" + "a" * 43, "cmi_DEV_01234567_" + "a" * 43, "x" * 999])
def test_what_has_another_form_is_no_key(text: str) -> None:
    assert split_key(text) is None
