"""A write that is sent again under its key is answered as before and not done again."""

import asyncio
from typing import Any

import pytest

from tests.worker.memory_service.calls import Caller, Running, refused, running, settings_for

OUTCOME = {"domain": "database", "success": False}
ONE = {"idempotency_key": "one"}


async def test_an_outcome_that_is_sent_again_counts_once(caller: Caller) -> None:
    answers = [await caller.send("POST", "/self-model/outcome", OUTCOME, **ONE) for _ in range(3)]
    assert answers[0].json()["domains"]["database"]["sampleCount"] == 1
    assert answers[1].content == answers[2].content == answers[0].content
    assert (await caller.get("/self-model"))["domains"]["database"]["sampleCount"] == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/memories", {"items": [{"content": "Our staging host is blue-7"}]}),
        ("/turns", {"userMessage": "Never deploy on Fridays.", "assistantResponse": "Noted."}),
        ("/tensions", {"claimA": "a is b", "claimB": "a is c", "actionableQuestion": "Which?"}),
    ],
)
async def test_the_first_answer_is_given_again(caller: Caller, path: str, body: Any) -> None:
    first, second = [await caller.send("POST", path, body, **ONE) for _ in range(2)]
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert first.is_success


async def test_another_process_knows_it_too(at: Running, caller: Caller) -> None:
    first = await caller.send("POST", "/self-model/outcome", OUTCOME, **ONE)
    async with running(at.service.settings) as other:
        again = await other.with_key(caller.key).send("POST", "/self-model/outcome", OUTCOME, **ONE)
    assert again.content == first.content


async def test_many_at_once_count_once(caller: Caller) -> None:
    answers = await asyncio.gather(*(caller.send("POST", "/self-model/outcome", OUTCOME, **ONE) for _ in range(20)))
    assert {answer.json()["domains"]["database"]["sampleCount"] for answer in answers} == {1}


async def test_a_key_is_of_one_request(caller: Caller) -> None:
    await caller.post("/self-model/outcome", OUTCOME, **ONE)
    answer = await caller.send("POST", "/self-model/outcome", OUTCOME | {"success": True}, **ONE)
    assert refused(answer, 400, "InvalidRequest")["issues"][0].startswith("Idempotency-Key: ")
    answer = await caller.send("POST", "/memories", {"items": [{"content": "abc"}]}, **ONE)
    refused(answer, 400, "InvalidRequest")


async def test_keys_of_two_memories_have_nothing_to_do_with_each_other(at: Running) -> None:
    for user in ("ren", "sam"):
        caller = await at.caller(userId=user)
        model = await caller.post("/self-model/outcome", OUTCOME, **ONE)
        assert model["domains"]["database"]["sampleCount"] == 1


async def test_a_refusal_is_not_kept(caller: Caller) -> None:
    refused(await caller.send("PATCH", "/memories/none", {"tier": "L2"}, **ONE), 404, "NotFound")
    made = (await caller.post("/memories", {"items": [{"content": "Our staging host is blue-7"}]}, **ONE))["stored"]
    assert len(made) == 1


async def test_a_removal_that_is_sent_again_is_answered_as_before(caller: Caller) -> None:
    made = (await caller.remember("Our staging host is blue-7"))["stored"][0]
    answers = [await caller.send("DELETE", f"/memories/{made['id']}", **ONE) for _ in range(2)]
    assert [answer.json()["deleted"] for answer in answers] == [True, True]


async def test_what_was_removed_is_not_told_again(caller: Caller) -> None:
    body = {"items": [{"content": "Our staging host is blue-7"}]}
    made = (await caller.post("/memories", body, **ONE))["stored"][0]
    assert (await caller.send("DELETE", f"/memories/{made['id']}")).is_success
    answer = await caller.send("POST", "/memories", body, **ONE)
    refused(answer, 409, "Conflict")
    assert "blue-7" not in answer.text
    assert await caller.recalled("staging host") == []


@pytest.mark.parametrize("key", ["", "k" * 201, "two words", "schlüssel"])
async def test_a_key_of_another_form_is_refused(caller: Caller, key: str) -> None:
    headers = {b"authorization": f"Bearer {caller.key}".encode(), b"idempotency-key": key.encode()}
    answer = await caller.http.post("/api/v1/self-model/outcome", json=OUTCOME, headers=headers)
    refused(answer, 400, "InvalidRequest")
    assert (await caller.get("/self-model"))["domains"] == {}


async def test_a_day_later_the_key_is_free(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(settings_for(database_url)) as service:
        caller = await service.caller()
        await caller.post("/self-model/outcome", OUTCOME, **ONE)
        monkeypatch.setattr("activities.store.idempotency.KEPT_MS", -1)
        await caller.post("/self-model/outcome", OUTCOME, idempotency_key="two")
        again = await caller.post("/self-model/outcome", OUTCOME, idempotency_key="two")
        assert again["domains"]["database"]["sampleCount"] == 3
