"""Every name of the TypeScript client's HTTP half is there, in Python's spelling."""

import inspect
import re
from typing import Any

import pytest

import memory_engine
from tests.support import SHARED
from worker import cogmem

SEED = SHARED / "seeds" / "cogmemory-0.0.1-beta.2-index.d.ts.diff.txt"

# Names of the HTTP half, and where each is.
CLIENT = {
    "Cogmem": cogmem.Cogmem,
    "CognitiveMemoryConfig": cogmem.CognitiveMemoryConfig,
    "CognitiveMemoryError": cogmem.CognitiveMemoryError,
    "ContextResource": cogmem.ContextResource,
    "HttpClient": cogmem.HttpClient,
    "MemoriesResource": cogmem.MemoriesResource,
    "RecallOrExplainOptions": cogmem.RecallOrExplainOptions,
    "RecallResource": cogmem.RecallResource,
    "RunTurnResult": cogmem.RunTurnResult,
    "SeedOptions": cogmem.SeedOptions,
    "SelfModelResource": cogmem.SelfModelResource,
    "StatsResource": cogmem.StatsResource,
    "TensionsResource": cogmem.TensionsResource,
    "TurnOptions": cogmem.TurnOptions,
    "TurnsResource": cogmem.TurnsResource,
    "createClient": cogmem.create_client,
    "createHttpClient": cogmem.create_http_client,
    "fetchHealth": cogmem.fetch_health,
    "recallOrExplain": cogmem.recall_or_explain,
    "runTurn": cogmem.run_turn,
    "seedMemories": cogmem.seed_memories,
}
VALUES = [
    "AddTensionRequest",
    "Claim",
    "CognitiveMemoryErrorBody",
    "ContextEntry",
    "ContextReport",
    "ContextRequest",
    "DomainCapability",
    "DomainOutcomeRequest",
    "Health",
    "Impact",
    "InclusionReason",
    "LearnResult",
    "ListMemoriesParams",
    "Memory",
    "MemorySource",
    "MemoryTier",
    "RecallHit",
    "RecallRequest",
    "RecallResponse",
    "RejectedStatement",
    "RememberRequest",
    "ResolveTensionRequest",
    "Scope",
    "SelfModel",
    "Stats",
    "Tension",
    "TensionStatus",
    "TurnRequest",
]
# Those of the engine that runs in the process; they are `memory_engine`'s.
ENGINE = [
    "ArbiterEvaluationResult",
    "ArbiterFn",
    "CANDIDATE_FLOOR",
    "COLLAPSE_THRESHOLD",
    "CognitiveMemory",
    "CognitiveMemoryOptions",
    "CognitiveMemoryStateSnapshot",
    "CognitiveMemoryTier",
    "DeterministicMemory",
    "FastGateResult",
    "KnowledgeTension",
    "MAX_CANDIDATES",
    "MemoryInclusionReason",
    "MemoryInjectionEntry",
    "MemoryInjectionReport",
    "MemoryItem",
    "MemoryMetadata",
    "MemoryReconciliation",
    "PROMOTE_THRESHOLD",
    "ProprioceptiveSelfModel",
    "TensionImpact",
    "TrajectoryPrediction",
    "distinctiveTokens",
    "estimateTokens",
    "extractDeterministic",
    "extractDomains",
    "extractIdentifiers",
    "gistOf",
    "isInteractionScoped",
    "isLossyRewrite",
    "normalise",
    "overlapScore",
    "relevanceTokens",
    "runFastGate",
    "similarity",
]
MEMBERS: dict[type[Any], str] = {
    cogmem.Cogmem: "baseUrl memories context recall turns tensions selfModel stats health",
    cogmem.AsyncCogmem: "baseUrl memories context recall turns tensions selfModel stats health",
    cogmem.MemoriesResource: "list get create promote remove",
    cogmem.ContextResource: "build",
    cogmem.RecallResource: "search",
    cogmem.TurnsResource: "learn",
    cogmem.TensionsResource: "list create resolve",
    cogmem.SelfModelResource: "get record",
    cogmem.StatsResource: "get",
    cogmem.CognitiveMemoryConfig: "apiKey baseUrl timeout retry debug headers",
    cogmem.CognitiveMemoryError: (
        "code status requiredScope issues body isAuthError isScopeError isValidationError isNotFoundError"
        " isRateLimitError isServerError"
    ),
    cogmem.TurnOptions: "sessionId domain failurePattern strategy learn onLearn",
    cogmem.RunTurnResult: "context learning learningSkipped",
    cogmem.RecallOrExplainOptions: "limit emptyMessage",
    cogmem.SeedOptions: "facts sessionId",
    cogmem.Health: "ok service version extractor limits problems",
    cogmem.Memory: "id content gist tier domains accessCount source sessionId createdAt lastAccessedAt",
    cogmem.LearnResult: "stored mergedInto counts rejected",
    cogmem.Stats: "memories tensions weakDomains recent activeTensions",
    cogmem.Tension: "id status claimA claimB impact actionableQuestion resolvedBy pattern",
    cogmem.SelfModel: "calibrationFactor activeDomains domains weakDomains",
    cogmem.ContextRequest: "userMessage forceFull maxTokens",
    cogmem.RememberRequest: "items sessionId",
}


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


@pytest.mark.parametrize("name", VALUES)
def test_a_value_of_the_wire_is_importable_from_the_client(name: str) -> None:
    assert getattr(cogmem, name) is getattr(memory_engine, name)
    assert name in cogmem.__all__


@pytest.mark.parametrize(("owner", "names"), MEMBERS.items())
def test_each_member_of_the_seed_is_there(owner: type[Any], names: str) -> None:
    instance: Any = owner(api_key="k") if owner in (cogmem.Cogmem, cogmem.AsyncCogmem) else owner
    if owner is cogmem.CognitiveMemoryError:
        instance = cogmem.CognitiveMemoryError("m", 400, "c")
    present = {*dir(instance), *inspect.get_annotations(owner), *getattr(owner, "model_fields", ())}

    assert {snake(name) for name in names.split()} <= present


def test_no_name_that_the_seed_exports_is_forgotten() -> None:
    if not SEED.exists():
        pytest.skip("the seed is not beside this checkout")
    exported = set(
        re.findall(r"^\+export declare (?:interface|type|class|function|const) (\w+)", SEED.read_text(), re.M)
    )

    assert len(exported) > 70
    assert exported == {*CLIENT, *VALUES, *ENGINE}


def test_everything_public_has_a_docstring() -> None:
    ours = [value for value in CLIENT.values() if getattr(value, "__module__", "").startswith("worker.cogmem")]

    assert [value for value in ours if not inspect.getdoc(value)] == []
