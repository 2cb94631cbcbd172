"""Reading and writing what is stored."""

from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from activities.memory_service import Reply
from memory_engine import CognitiveMemory, MemoryTier, interaction_reason, memory_of_item
from worker.memory_service.answers import answer, encoded
from worker.memory_service.clock import now_ms
from worker.memory_service.desk import Desk, desk
from worker.memory_service.errors import invalid_request, not_found
from worker.memory_service.room import MOST_MEMORIES, need_room
from worker.memory_service.screening import screen
from worker.memory_service.views import learned, listing
from worker.memory_service.wire import (
    EditMemoryRequest,
    Learned,
    ListMemoriesQuery,
    MemoryAnswer,
    MemoryDeleted,
    MemoryListing,
    RememberItem,
    RememberRequest,
)

router = APIRouter(prefix="/memories", tags=["memories"])

Reader = Annotated[Desk, Depends(desk("memories:read"))]
Writer = Annotated[Desk, Depends(desk("memories:write"))]


@router.get("", response_model=MemoryListing)
async def list_memories(at: Reader, query: Annotated[ListMemoriesQuery, Query()]) -> Response:
    """Memories, the newest first, and counts of all."""
    found = await at.read(lambda engine: encoded(listing(engine, query.tier, query.offset, query.limit)))
    return answer(found)


@router.post("", response_model=Learned, status_code=201)
async def remember(at: Writer, request: RememberRequest) -> Response:
    """State facts outright. Each ends in `stored`, `mergedInto` or `rejected`, with the reason."""
    reconciled = None
    if request.reconcile and (learner := at.service.learner) is not None:
        if (before := await at.answered()) is not None:
            return before
        reconciled = await learner.verdicts(at.scope, [item.content for item in request.items], now_ms())

    def work(engine: CognitiveMemory, now_ms: int) -> Reply:
        need_room(len(engine), len(request.items), MOST_MEMORIES, "memories")
        results = [
            engine.remember(
                [(item.content, item.domains or ()) for item in items],
                tier=tier,
                now=now_ms,
                session_id=request.session_id,
                reconciled=reconciled,
            )
            for tier, items in groupby(request.items, _tier)
        ]
        return Reply(201, encoded(learned(results)))

    return await at.write(work)


@router.get("/{memory_id:path}", response_model=MemoryAnswer)
async def get_memory(at: Reader, memory_id: str) -> Response:
    """One memory."""
    return answer(await at.read(lambda engine: encoded(_shown(engine, memory_id))))


@router.patch("/{memory_id:path}", response_model=MemoryAnswer)
async def edit_memory(at: Writer, memory_id: str, request: EditMemoryRequest) -> Response:
    """Move a memory to another tier, or change what it says; its age and its uses stay."""
    screen({"content": request.content, "gist": request.gist})
    if request.content is not None and (reason := interaction_reason(request.content)):
        raise invalid_request(f"content: {reason}")

    def work(engine: CognitiveMemory, now_ms: int) -> Reply:
        if engine.get_memory(memory_id) is None:
            raise not_found("memory", memory_id)
        engine.edit_memory(memory_id, content=request.content, gist=request.gist, domains=request.domains)
        if request.tier is not None:
            engine.promote(memory_id, request.tier)
        removed = () if request.content is None else (memory_id,)
        return Reply(200, encoded(_shown(engine, memory_id)), removed=removed)

    return await _forgetting(at, await at.write(work))


@router.delete("/{memory_id:path}", response_model=MemoryDeleted)
async def delete_memory(at: Writer, memory_id: str) -> Response:
    """Forget a memory: its row, the contradictions that quote it, and answers that show it."""

    def work(engine: CognitiveMemory, now_ms: int) -> Reply:
        deleted = engine.remove_memory(memory_id)
        told = encoded(MemoryDeleted(deleted=deleted, id=memory_id))
        return Reply(200, told, changed=deleted, removed=(memory_id,) if deleted else ())

    return await _forgetting(at, await at.write(work))


def _tier(item: RememberItem) -> MemoryTier:
    return item.tier or "L1"


def _shown(engine: CognitiveMemory, memory_id: str) -> MemoryAnswer:
    item = engine.get_memory(memory_id)
    if item is None:
        raise not_found("memory", memory_id)
    return MemoryAnswer(memory=memory_of_item(item))


async def _forgetting(at: Desk, response: Response) -> Response:
    at.service.plans.forget(at.scope)
    return response
