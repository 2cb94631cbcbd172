"""What a model gets to read: a block for its prompt, and what it looks up."""

from collections import Counter
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from memory_engine import (
    CognitiveMemory,
    ContextReport,
    MemoryInjectionReport,
    RecallHit,
    RecallResponse,
    extract_identifiers,
    memory_of_item,
)
from worker.memory_service.answers import answer, encoded
from worker.memory_service.clock import now_ms
from worker.memory_service.desk import Desk, desk
from worker.memory_service.logs import log
from worker.memory_service.wire import MAX_RECALLED, ContextRequest, RecallRequest

router = APIRouter(tags=["recall"])

Reader = Annotated[Desk, Depends(desk("memories:read"))]


@router.post("/recall", response_model=RecallResponse)
async def recall(at: Reader, request: RecallRequest) -> Response:
    """The memories of every tier that share words with the query, best first. `empty` says that nothing does."""
    default = at.caller.limits.default_recall_limit or at.service.settings.default_recall_limit
    limit = min(request.limit or default, MAX_RECALLED)

    def look(engine: CognitiveMemory) -> str:
        hits = [
            RecallHit(memory=memory_of_item(hit.item), score=round(hit.score, 4))
            for hit in engine.search(request.query, limit)
        ]
        return encoded(RecallResponse(results=hits, empty=not hits))

    return answer(await at.read(look))


@router.post("/context", response_model=ContextReport)
async def build_context(at: Reader, request: ContextRequest) -> Response:
    """The block to put before the prompt that answers `userMessage`, and why each line is in it."""
    limits = at.caller.limits
    most = request.max_tokens or limits.max_total_tokens

    def look(engine: CognitiveMemory) -> tuple[MemoryInjectionReport, str]:
        report = engine.plan_injection(
            request.user_message, request.force_full or (), most, max_index_items=limits.max_index_items
        )
        return report, encoded(report)

    report, told = await at.read(look)
    _note(at, report, request.user_message or "")
    return answer(told)


def _note(at: Desk, report: MemoryInjectionReport, message: str) -> None:
    """Count the uses, and write down what was shown without what was asked."""
    at.service.writers.touch(at.scope, (entry.id for entry in report.entries if entry.reason in ("index", "trigger")))
    at.service.plans.note(at.scope, report, now_ms())
    at.service.metrics.planned_tokens.observe(report.total_tokens)
    bodies = sum(entry.body is not None for entry in report.entries)
    log(
        "context",
        key=at.caller.id,
        tokens=report.total_tokens,
        truncated=report.truncated,
        indexLines=len(report.entries) - bodies,
        bodies=bodies,
        identifiers=len(extract_identifiers(message)),
        reasons=Counter(entry.reason for entry in report.entries),
    )
