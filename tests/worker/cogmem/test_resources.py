"""Every call of both clients, as the service sees it."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from memory_engine import (
    AddTensionRequest,
    ContextReport,
    Health,
    LearnResult,
    Memory,
    RecallRequest,
    RecallResponse,
    RememberItem,
    SelfModel,
    Stats,
    Tension,
    TurnRequest,
)
from tests.worker.cogmem.scripted_service import KEY, ScriptedService, refused, told
from worker.cogmem import AsyncCogmem, Cogmem, CognitiveMemoryError
from worker.memory_service.wire import MemoryDeleted

AWKWARD = "a/b c?d"
Ask = Callable[[Any], Any]
CALLS: list[tuple[Ask, str, Any, type[Any]]] = [
    (lambda m: m.memories.list(), "GET /memories", None, list),
    (lambda m: m.memories.list(limit=5, tier="L0"), "GET /memories?limit=5&tier=L0", None, list),
    (lambda m: m.memories.list({"tier": "L2"}), "GET /memories?tier=L2", None, list),
    (lambda m: m.memories.list(offset=100), "GET /memories?offset=100", None, list),
    (lambda m: m.memories.get(AWKWARD), "GET /memories/a%2Fb%20c%3Fd", None, Memory),
    (lambda m: m.memories.create(["x y"]), "POST /memories", {"items": [{"content": "x y"}]}, LearnResult),
    (
        lambda m: m.memories.create(
            [RememberItem(content="x", tier="L0"), {"content": "y", "domains": ["d"]}], session_id="s"
        ),
        "POST /memories",
        {"items": [{"content": "x", "tier": "L0"}, {"content": "y", "domains": ["d"]}], "sessionId": "s"},
        LearnResult,
    ),
    (
        lambda m: m.memories.create({"items": [{"content": "x"}], "sessionId": "s"}),
        "POST /memories",
        {"items": [{"content": "x"}], "sessionId": "s"},
        LearnResult,
    ),
    (lambda m: m.memories.promote(AWKWARD, "L1"), "PATCH /memories/a%2Fb%20c%3Fd", {"tier": "L1"}, Memory),
    (lambda m: m.memories.remove(AWKWARD), "DELETE /memories/a%2Fb%20c%3Fd", None, MemoryDeleted),
    (lambda m: m.context.build(), "POST /context", {}, ContextReport),
    (
        lambda m: m.context.build("Deploy?", force_full=("m1",), max_tokens=500, session_id="s"),
        "POST /context",
        {"userMessage": "Deploy?", "forceFull": ["m1"], "maxTokens": 500, "sessionId": "s"},
        ContextReport,
    ),
    (lambda m: m.recall.search("deploys"), "POST /recall", {"query": "deploys"}, RecallResponse),
    (
        lambda m: m.recall.search(RecallRequest(query="deploys", limit=3)),
        "POST /recall",
        {"query": "deploys", "limit": 3},
        RecallResponse,
    ),
    (
        lambda m: m.turns.learn("I use uv", "Noted", session_id="s"),
        "POST /turns",
        {"userMessage": "I use uv", "assistantResponse": "Noted", "sessionId": "s"},
        LearnResult,
    ),
    (
        lambda m: m.turns.learn(TurnRequest(user_message="I use uv", assistant_response="")),
        "POST /turns",
        {"userMessage": "I use uv", "assistantResponse": ""},
        LearnResult,
    ),
    (lambda m: m.tensions.list(), "GET /tensions", None, list),
    (lambda m: m.tensions.list("active"), "GET /tensions?status=active", None, list),
    (
        lambda m: m.tensions.create("a", "b", "Which?", impact="critical"),
        "POST /tensions",
        {"claimA": "a", "claimB": "b", "actionableQuestion": "Which?", "impact": "critical"},
        Tension,
    ),
    (
        lambda m: m.tensions.create(AddTensionRequest(claim_a="a", claim_b="b", actionable_question="Which?")),
        "POST /tensions",
        {"claimA": "a", "claimB": "b", "actionableQuestion": "Which?"},
        Tension,
    ),
    (
        lambda m: m.tensions.resolve(AWKWARD, "ada", pattern="ask first"),
        "POST /tensions/a%2Fb%20c%3Fd",
        {"resolvedBy": "ada", "pattern": "ask first"},
        Tension,
    ),
    (lambda m: m.self_model.get(), "GET /self-model", None, SelfModel),
    (
        lambda m: m.self_model.record("database", False, failure_pattern="lock"),
        "POST /self-model/outcome",
        {"domain": "database", "success": False, "failurePattern": "lock"},
        SelfModel,
    ),
    (lambda m: m.stats.get(), "GET /stats", None, Stats),
    (lambda m: m.health(), "GET /health", None, Health),
    (lambda m: m.http.request("GET", "/memories", query={"limit": 1}), "GET /memories?limit=1", None, dict),
]


@pytest.mark.parametrize(("ask", "sent", "body", "answer"), CALLS)
async def test_a_call_goes_where_it_should_and_comes_back_as_its_type(
    memory: Any, service: ScriptedService, ask: Ask, sent: str, body: Any, answer: type[Any]
) -> None:
    result = await told(ask(memory))

    assert service.calls == [sent]
    assert service.seen[0].body == body
    assert type(result) is answer


async def test_an_answer_has_the_names_of_python(memory: Any) -> None:
    report = await told(memory.context.build("Deploy?"))
    learned = await told(memory.turns.learn("a", "b"))
    model = await told(memory.self_model.get())
    (held,) = await told(memory.memories.list())

    assert (report.total_tokens, report.entries[0].reason, report.entries[0].body) == (9, "trigger", "Deploys run")
    assert (learned.merged_into[0].id, learned.counts.merged, learned.rejected[0].reason) == ("m1", 1, "too short")
    assert model.domains["database"].known_failure_patterns == ["lock"]
    assert (held.access_count, held.session_id, held.created_at) == (2, "s1", 1_767_225_600_000)


async def test_the_key_goes_with_every_call_but_the_one_that_needs_none(memory: Any, service: ScriptedService) -> None:
    await told(memory.stats.get())
    await told(memory.health())

    assert service.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in service.seen[1].headers


async def test_a_text_with_half_a_surrogate_pair_arrives_as_it_is(memory: Any, service: ScriptedService) -> None:
    await told(memory.recall.search("cut \ud83d here, Žofie 日本"))

    assert service.seen[0].body == {"query": "cut \ud83d here, Žofie 日本"}


async def test_what_the_service_refuses_is_told_with_its_issues(memory: Any, service: ScriptedService) -> None:
    service.reply(refused(400, "InvalidRequest", issues=["limt: unknown field"]))
    with pytest.raises(CognitiveMemoryError) as caught:
        await told(memory.recall.search({"query": "x", "limt": 3}))

    assert caught.value.is_validation_error()
    assert caught.value.issues == ("limt: unknown field",)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m: m.memories.create("one text"),
        lambda m: m.memories.create([7]),
        lambda m: m.memories.get(".."),
        lambda m: m.recall.search(None),
        lambda m: m.turns.learn("no response"),
        lambda m: m.self_model.record("database"),
    ],
)
async def test_a_request_that_cannot_be_written_is_never_sent(
    memory: Any, service: ScriptedService, wrong: Ask
) -> None:
    with pytest.raises(ValueError):
        await told(wrong(memory))
    assert service.calls == []


@pytest.mark.parametrize("client", [Cogmem, AsyncCogmem])
def test_a_method_says_what_it_takes_and_does(client: type[Any]) -> None:
    search = client(api_key=KEY).recall.search

    assert list(inspect.signature(search).parameters) == ["query", "limit"]
    assert "matches best" in (inspect.getdoc(search) or "")
