"""Learning from finished turns."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from activities.memory_keeper import Exchange
from activities.memory_service import Reply
from memory_engine import MAX_RULE_MEMORIES, CognitiveMemory
from worker.memory_service.answers import encoded
from worker.memory_service.clock import now_ms
from worker.memory_service.desk import Desk, desk
from worker.memory_service.room import MOST_MEMORIES, need_room
from worker.memory_service.views import learned, not_learned
from worker.memory_service.wire import Learned, TurnRequest

router = APIRouter(prefix="/turns", tags=["turns"])


@router.post("", response_model=Learned)
async def learn(at: Annotated[Desk, Depends(desk("memories:write"))], request: TurnRequest) -> Response:
    """Learn from a turn, by rules on the user's own words, and with the memory model's help where there is one.

    A turn that teaches nothing says why in `rejected`: that a message was a question counts as no rejection.
    """
    answers = None
    if (learner := at.service.learner) is not None:
        if (before := await at.answered()) is not None:
            return before
        heard = Exchange(None, request.user_message, request.assistant_response, request.session_id, now_ms())
        answers = await learner.answers(at.scope, heard)

    def work(engine: CognitiveMemory, now_ms: int) -> Reply:
        need_room(len(engine), MAX_RULE_MEMORIES, MOST_MEMORIES, "memories")
        result = engine.begin_post_turn(
            request.user_message,
            request.assistant_response,
            now=now_ms,
            session_id=request.session_id,
            asks=(),
            answers=answers,
        ).finish()
        told = learned([result])
        if result.learning_skipped and not result.facts:
            told.rejected.append(not_learned(request.user_message, result.learning_skipped))
        return Reply(200, encoded(told))

    return await at.write(work)
