"""The overview, which monitoring may watch without reading memories."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from memory_engine import Stats
from worker.memory_service.answers import answer, encoded
from worker.memory_service.desk import Desk, desk
from worker.memory_service.views import stats_of

router = APIRouter(prefix="/stats", tags=["stats"])


@router.get("", response_model=Stats)
async def get_stats(at: Annotated[Desk, Depends(desk("stats:read"))]) -> Response:
    """How much is held, what is undecided, and where the agent is weak."""
    return answer(await at.read(lambda engine: encoded(stats_of(engine))))
