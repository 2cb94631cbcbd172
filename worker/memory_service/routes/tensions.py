"""Contradictions: two claims that cannot both be true."""

import hashlib
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from activities.memory_service import Reply
from activities.store.records import Scope
from memory_engine import Claim, CognitiveMemory, KnowledgeTension, new_tension, tension_key
from worker.memory_service.answers import answer, encoded
from worker.memory_service.desk import Desk, desk
from worker.memory_service.errors import not_found
from worker.memory_service.room import MOST_TENSIONS, need_room
from worker.memory_service.screening import screen
from worker.memory_service.views import flat, tensions_of
from worker.memory_service.wire import (
    AddTensionRequest,
    ListTensionsQuery,
    ResolveTensionRequest,
    TensionAnswer,
    TensionListing,
)

router = APIRouter(prefix="/tensions", tags=["tensions"])

Reader = Annotated[Desk, Depends(desk("memories:read"))]
Writer = Annotated[Desk, Depends(desk("memories:write"))]


@router.get("", response_model=TensionListing)
async def list_tensions(at: Reader, query: Annotated[ListTensionsQuery, Query()]) -> Response:
    """Contradictions, the newest first."""
    return answer(await at.read(lambda engine: encoded(TensionListing(tensions=tensions_of(engine, query.status)))))


@router.post("", response_model=TensionAnswer, status_code=201)
async def add_tension(at: Writer, request: AddTensionRequest) -> Response:
    """Raise a contradiction. The same two claims, in either order, are the one that is held; a resolved one opens again."""
    screen({"claimA": request.claim_a, "claimB": request.claim_b, "actionableQuestion": request.actionable_question})

    def work(engine: CognitiveMemory, now_ms: int) -> Reply:
        need_room(len(engine.tensions()), 1, MOST_TENSIONS, "contradictions")
        raised = _raised(at.scope, request, now_ms)
        engine.add_tension(raised)
        return Reply(201, encoded(TensionAnswer(tension=flat(_same_claims(engine, raised)))))

    return await at.write(work)


@router.post("/{tension_id:path}", response_model=TensionAnswer)
async def resolve_tension(at: Writer, tension_id: str, request: ResolveTensionRequest) -> Response:
    """Say how it was decided. It stays on record and leaves the prompts."""
    screen({"resolvedBy": request.resolved_by, "pattern": request.pattern})

    def work(engine: CognitiveMemory, now_ms: int) -> Reply:
        return Reply(200, encoded(TensionAnswer(tension=flat(resolved(engine, tension_id, request, now_ms)))))

    return await at.write(work)


def resolved(engine: CognitiveMemory, tension_id: str, request: ResolveTensionRequest, now_ms: int) -> KnowledgeTension:
    """Resolve a contradiction of the engine.

    Raises:
        ApiError: 404, there is none of this id.
    """
    if not engine.resolve_tension(tension_id, request.resolved_by, request.pattern or "", now=now_ms):
        raise not_found("tension", tension_id)
    return next(each for each in engine.tensions() if each.id == tension_id)


def _raised(scope: Scope, request: AddTensionRequest, now_ms: int) -> KnowledgeTension:
    first = Claim(source="user", statement=request.claim_a, timestamp=now_ms)
    second = Claim(source="api", statement=request.claim_b, timestamp=now_ms)
    raised = new_tension(first, second, request.impact or "medium", request.actionable_question)
    # The engine's id follows from the claims alone; two memories with the same claims must not share one.
    named = "\0".join((scope.organization_id, scope.user_id, scope.persona_id, raised.id))
    return raised.model_copy(update={"id": hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:24]})


def _same_claims(engine: CognitiveMemory, raised: KnowledgeTension) -> KnowledgeTension:
    key = tension_key(raised.claim_a.statement, raised.claim_b.statement)
    return next(
        each for each in engine.tensions() if tension_key(each.claim_a.statement, each.claim_b.statement) == key
    )
