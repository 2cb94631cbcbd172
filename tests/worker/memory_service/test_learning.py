"""The service with a memory model: what it asks, what it keeps, and what becomes of a request when the model fails."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest
from pydantic import SecretStr

from tests.memory_minds import MEMORY_MODEL, Minds, data_of, silence
from tests.worker.memory_service.calls import Caller, refused, running, settings_for
from worker.memory_service.settings import ModelAccess, ServiceSettings, load_service_settings
from worker.scripted_model import ScriptedModel
from worker.scripted_responses import refuse, respond

KEY = "sk-test-0123456789abcdef"
SAID = {"userMessage": "My host is blue-7. Ana looks after my boat in Oslo.", "assistantResponse": "Noted."}


@dataclass(frozen=True, slots=True)
class Helped:
    """Somebody with a key at a service that has a memory model."""

    caller: Caller
    minds: Minds
    model: ScriptedModel


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel(Minds()) as scripted:
        yield scripted


@pytest.fixture
def settings(database_url: str, model: ScriptedModel) -> ServiceSettings:
    access = ModelAccess(MEMORY_MODEL, SecretStr(KEY), model.base_url)
    return settings_for(database_url, model=access, model_seconds=20)


@pytest.fixture
async def helped(settings: ServiceSettings, model: ScriptedModel) -> AsyncIterator[Helped]:
    async with running(settings) as service:
        assert isinstance(model.handler, Minds)
        yield Helped(await service.caller(), model.handler, model)


def verdict(action: str, **more: object) -> dict[str, object]:
    return {"verdicts": [{"index": 0, "action": action, **more}]}


async def test_health_tells_that_a_model_helps(helped: Helped) -> None:
    assert (await helped.caller.get("/health"))["extractor"] == "rules+model"
    assert helped.model.requests == []


async def test_a_turn_teaches_what_the_model_finds_beside_what_rules_find(helped: Helped) -> None:
    helped.minds.found("Ana looks after the user's boat in Oslo")
    learned = await helped.caller.post("/turns", SAID)
    assert any("boat in Oslo" in memory["content"] for memory in learned["stored"])
    assert {memory["source"] for memory in learned["stored"]} >= {"model"}
    assert "errors" not in learned
    assert await helped.caller.recalled("who looks after the boat?")
    assert helped.model.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_a_question_costs_nothing(helped: Helped) -> None:
    learned = await helped.caller.post("/turns", {"userMessage": "Where is my host?", "assistantResponse": "Here."})
    assert learned["counts"]["stored"] == 0
    assert helped.model.requests == []


@pytest.mark.parametrize(
    ("failing", "told"), [(lambda _: refuse(503, "no"), "status 503"), (lambda _: silence(), "within 1 s")]
)
async def test_a_turn_is_learned_by_rules_when_the_model_fails_and_says_why(
    settings: ServiceSettings, model: ScriptedModel, failing: object, told: str
) -> None:
    assert isinstance(model.handler, Minds)
    model.handler.say("extract", failing)  # type: ignore[arg-type]  # a function that answers
    async with running(replace(settings, model_seconds=1)) as service:
        learned = await (await service.caller()).post("/turns", {**SAID, "userMessage": "My host is blue-7."})
    assert learned["counts"]["stored"] == 1
    assert any(error.startswith("extract: ") and told in error for error in learned["errors"])
    assert len(learned["errors"]) == 1, "no further question to a model that is away"
    assert KEY not in json.dumps(learned)


@pytest.mark.parametrize("answer", ["", "no JSON", '{"memories": 7}', '{"memories": [{"content": NaN}]}', "[" * 9_000])
async def test_an_answer_that_makes_no_sense_costs_the_model_s_part_alone(helped: Helped, answer: str) -> None:
    helped.minds.say("extract", *[answer] * 3)
    learned = await helped.caller.post("/turns", SAID)
    assert learned["counts"]["stored"] == 1
    assert learned["errors"]


async def test_what_the_provider_says_does_not_reach_the_caller(helped: Helped) -> None:
    failed = respond(401, {"error": {"message": f"Incorrect API key provided: {KEY} of account 77"}})
    helped.minds.say("extract", lambda _: failed)
    learned = await helped.caller.post("/turns", SAID)
    assert "account 77" not in json.dumps(learned)
    assert "status 401" in json.dumps(learned["errors"])


async def test_what_the_user_did_not_say_is_not_kept(helped: Helped) -> None:
    helped.minds.found("The launch code is 0000 and the moon is made of cheese")
    learned = await helped.caller.post("/turns", SAID)
    assert not any("cheese" in memory["content"] for memory in learned["stored"])
    assert learned["counts"]["rejected"] >= 1


async def test_statements_are_reconciled_by_the_model_when_that_is_asked_for(helped: Helped) -> None:
    await helped.caller.remember("Ana leads the harbour team from Oslo")
    helped.minds.say("reconcile", lambda request: json.dumps(verdict("merge")))
    body = {"items": [{"content": "Ana leads the harbour team from Oslo since spring"}], "reconcile": True}
    learned = await helped.caller.post("/memories", body)
    assert (learned["counts"]["merged"], learned["counts"]["stored"]) == (1, 0)
    assert await helped.caller.recalled("harbour team") == ["Ana leads the harbour team from Oslo since spring"]
    (item,) = data_of(helped.minds.requests[0])["items"]
    assert [held["text"] for held in item["held"]] == ["Ana leads the harbour team from Oslo"]


async def test_statements_are_not_shown_to_the_model_unasked(helped: Helped) -> None:
    await helped.caller.remember("Ana leads the harbour team from Oslo")
    await helped.caller.remember("Ana leads the harbour team from Oslo since spring")
    assert helped.model.requests == []


async def test_a_reconciliation_that_fails_is_a_502_and_stores_nothing(helped: Helped) -> None:
    await helped.caller.remember("Ana leads the harbour team from Oslo")
    body = {"items": [{"content": "Ana leads the harbour team from Oslo since spring"}], "reconcile": True}
    helped.minds.say("reconcile", lambda _: refuse(503, "no"))
    told = refused(await helped.caller.send("POST", "/memories", body, idempotency_key="r1"), 502, "ModelFailure")
    assert "503" in told["message"]
    assert (await helped.caller.get("/stats"))["memories"]["total"] == 1
    # Sent again it is done: a refusal is no answer to keep.
    assert (await helped.caller.post("/memories", body, idempotency_key="r1"))["counts"]["stored"] == 1


@pytest.mark.parametrize("path", ["/turns", "/memories"])
async def test_a_request_sent_again_asks_no_model_again(helped: Helped, path: str) -> None:
    await helped.caller.remember("My host in Oslo is blue and old")
    body = SAID if path == "/turns" else {"items": [{"content": "My host in Oslo is blue and new"}], "reconcile": True}
    first = await helped.caller.post(path, body, idempotency_key="k1")
    asked = len(helped.model.requests)
    assert asked
    assert await helped.caller.post(path, body, idempotency_key="k1") == first
    assert len(helped.model.requests) == asked
    other = await helped.caller.send("POST", path, {**body, "sessionId": "s"}, idempotency_key="k1")
    refused(other, 400, "InvalidRequest")
    assert len(helped.model.requests) == asked


async def test_a_lossy_verdict_loses_nothing(helped: Helped) -> None:
    await helped.caller.remember("The harbour staging gateway listens behind proxy red on port 8080")
    helped.minds.say("reconcile", verdict("merge", content="The harbour staging gateway listens"))
    body = {"items": [{"content": "The harbour staging gateway listens behind proxy red at night"}], "reconcile": True}
    await helped.caller.post("/memories", body)
    assert any("8080" in found for found in await helped.caller.recalled("harbour staging gateway"))


async def test_without_a_model_reconcile_changes_nothing(database_url: str, model: ScriptedModel) -> None:
    async with running(settings_for(database_url)) as service:
        caller = await service.caller()
        await caller.post("/memories", {"items": [{"content": "My host is blue-7"}], "reconcile": True})
        await caller.post("/turns", SAID)
        assert (await caller.get("/health"))["extractor"] == "rules-only"
    assert model.requests == []


@pytest.mark.parametrize(
    ("environment", "model", "problems"),
    [
        ({}, None, 0),
        ({"TURNHOLD_MEMORY_MODEL": "m", "OPENAI_API_KEY": KEY}, ModelAccess("m", SecretStr(KEY), None), 0),
        ({"TURNHOLD_MEMORY_MODEL": "m", "OPENAI_BASE_URL": "http://x/v1"}, ModelAccess("m", None, "http://x/v1"), 0),
        ({"TURNHOLD_MEMORY_MODEL": "m"}, None, 1),
    ],
)
def test_a_model_needs_a_name_and_a_place(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], model: ModelAccess | None, problems: int
) -> None:
    for name in ("TURNHOLD_MEMORY_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    loaded = load_service_settings(environment)
    assert (loaded.model, len(loaded.problems)) == (model, problems)
    assert KEY not in repr(loaded)
