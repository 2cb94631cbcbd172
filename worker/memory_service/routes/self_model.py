"""How reliable the agent has been, by field of work."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from activities.memory_service import Reply
from memory_engine import CognitiveMemory, SelfModel, domain_key
from worker.memory_service.answers import answer, encoded
from worker.memory_service.desk import Desk, desk
from worker.memory_service.errors import invalid_request
from worker.memory_service.room import MOST_DOMAINS, need_room
from worker.memory_service.screening import screen
from worker.memory_service.views import self_model_of
from worker.memory_service.wire import DomainOutcomeRequest

router = APIRouter(prefix="/self-model", tags=["self-model"])


@router.get("", response_model=SelfModel)
async def get_self_model(at: Annotated[Desk, Depends(desk("memories:read"))]) -> Response:
    """Reliability by domain. Without recorded outcomes it stays at its priors."""
    return answer(await at.read(lambda engine: encoded(self_model_of(engine))))


@router.post("/outcome", response_model=SelfModel)
async def record_outcome(
    at: Annotated[Desk, Depends(desk("memories:write"))], request: DomainOutcomeRequest
) -> Response:
    """Count how a task in a domain went."""
    if not domain_key(request.domain):
        raise invalid_request("domain: must have a name")
    screen({"domain": request.domain, "failurePattern": request.failure_pattern, "strategy": request.strategy})

    def work(engine: CognitiveMemory, now_ms: int) -> Reply:
        known = engine.self_model.domains
        need_room(len(known), domain_key(request.domain) not in known, MOST_DOMAINS, "fields of work")
        engine.record_domain_outcome(request.domain, request.success, request.failure_pattern, request.strategy)
        return Reply(200, encoded(self_model_of(engine)))

    return await at.write(work)
