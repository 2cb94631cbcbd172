"""Nobody reads or changes another organisation's memory, by any route."""

import asyncio
import random

from activities.memory_keeper import MemoryKeeper
from activities.store.records import Scope
from activities.store.snapshots import SnapshotStore
from tests.worker.memory_service.calls import Caller, Running, refused

CLAIMS = {"claimA": "Deploys run at noon", "claimB": "Deploys run at night", "actionableQuestion": "When?"}


async def everything_seen(caller: Caller) -> str:
    """The text of every answer that reads."""
    answers = [await caller.send("GET", path) for path in ("/memories", "/tensions", "/self-model", "/stats")]
    answers.append(await caller.send("POST", "/recall", {"query": "canary secret-free harbour fact", "limit": 50}))
    answers.append(await caller.send("POST", "/context", {"userMessage": "canary harbour"}))
    assert all(answer.is_success for answer in answers)
    return " ".join(answer.text for answer in answers)


async def test_a_foreign_id_looks_like_a_missing_one(at: Running) -> None:
    theirs, ours = await at.caller("theirs"), await at.caller("ours")
    memory = (await theirs.remember("Our staging host is blue-7"))["stored"][0]["id"]
    tension = (await theirs.post("/tensions", CLAIMS))["tension"]["id"]
    calls = [
        ("GET", "/memories/{}", None, memory),
        ("PATCH", "/memories/{}", {"tier": "L3"}, memory),
        ("POST", "/tensions/{}", {"resolvedBy": "me"}, tension),
    ]
    for method, path, body, foreign_id in calls:
        foreign = refused(await ours.send(method, path.format(foreign_id), body), 404, "NotFound")
        missing = refused(await ours.send(method, path.format("missing"), body), 404, "NotFound")
        assert {**foreign, "id": "missing"} == missing
    assert (await ours.send("DELETE", f"/memories/{memory}")).json()["deleted"] is False
    assert (await ours.post("/context", {"forceFull": [memory]}))["entries"] == []
    assert (await theirs.get(f"/memories/{memory}"))["memory"]["tier"] == "L1"
    assert (await theirs.get("/tensions"))["tensions"][0]["status"] == "active"


async def test_the_same_claims_have_another_id_in_another_organisation(at: Running) -> None:
    ids = {(await (await at.caller(name)).post("/tensions", CLAIMS))["tension"]["id"] for name in ("ours", "theirs")}
    assert len(ids) == 2


async def test_users_and_personas_of_one_organisation_are_apart(at: Running) -> None:
    callers = [await at.caller(userId=user, personaId=persona) for user in ("ren", "sam") for persona in ("a", "b")]
    await callers[0].remember("Our staging host is blue-7")
    assert [len(await caller.recalled("staging host")) for caller in callers] == [1, 0, 0, 0]


async def test_ten_organisations_never_see_each_other(at: Running) -> None:
    chance = random.Random(7)
    callers = {name: await at.caller(name) for name in (f"org-{number}" for number in range(10))}

    async def act(name: str, number: int) -> None:
        caller, canary = callers[name], f"canary-{name}"
        match chance.randrange(4):
            case 0:
                await caller.remember(f"The harbour fact {number} of {canary} holds")
            case 1:
                await caller.post(
                    "/turns", {"userMessage": f"Our harbour is {canary}-{number}.", "assistantResponse": ""}
                )
            case 2:
                claims = {"claimA": f"{canary} is open", "claimB": f"{canary} is shut", "actionableQuestion": "Which?"}
                await caller.post("/tensions", claims)
            case _:
                failed = {"domain": canary, "success": False, "failurePattern": f"broke {canary}"}
                await caller.post("/self-model/outcome", failed)

    await asyncio.gather(*(act(name, number) for number in range(10) for name in callers))
    for name, caller in callers.items():
        seen = await everything_seen(caller)
        assert f"canary-{name}" in seen
        assert not [other for other in callers if other != name and f"canary-{other}" in seen]


async def test_turns_and_the_service_share_one_memory(at: Running) -> None:
    caller = await at.caller("local", userId="ren", personaId="support")
    await caller.remember("Our staging host is blue-7")
    keeper = MemoryKeeper(SnapshotStore(at.service.database))
    scope = Scope("local", "ren", "support")
    text, _ = keeper.plan(scope, "what is up with blue-7?")
    assert "Our staging host is blue-7" in text
    keeper.change(scope, 1_700_000_000_000, lambda engine: engine.remember(["The build id is ZQ7X4M2K"]))
    assert await caller.recalled("ZQ7X4M2K") == ["The build id is ZQ7X4M2K"]
