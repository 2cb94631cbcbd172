"""The memory model's part in what the service learns: asked before a change is made, within one time for all its questions."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from activities.memory_answers import read_answers
from activities.memory_asking import Asked, MemoryModel, kept_answers, take, worth_asking
from activities.memory_keeper import Exchange
from activities.provider_errors import ProviderFault
from activities.store.records import Scope
from memory_engine import STAGES, Ask, CognitiveMemory, PostTurn, PostTurnAnswers, Reconciled, Stage, parse_verdicts
from worker.memory_service.errors import model_failure
from worker.memory_service.logs import log
from worker.memory_service.reading import Reading

MOST_ASKING = 16
"""Requests of one process that wait for the model; others stand in line, which counts as their time."""


class ModelFailed(Exception):
    """The model gave no answer. The message is for the caller, and has nothing of the provider's in it."""


@dataclass(frozen=True, slots=True)
class Learner:
    """Asks the model what turns and statements mean for a memory. Changes none."""

    model: MemoryModel
    reading: Reading
    seconds: float
    line: asyncio.Semaphore

    async def answers(self, scope: Scope, exchange: Exchange) -> PostTurnAnswers:
        """What the model says about a turn. After a failure it is asked nothing more: rules do without."""
        until = asyncio.get_running_loop().time() + self.seconds
        answers = PostTurnAnswers()
        for stage in STAGES:
            asking = await self._begin(scope, exchange, stage, answers)
            if (question := worth_asking(asking)) is None:
                continue
            is_answered = await self._put(asking, question, until)
            answers = read_answers(kept_answers(asking.answers, exchange.said))
            if not is_answered:
                break
        return answers

    async def verdicts(self, scope: Scope, contents: Sequence[str], now_ms: int) -> Reconciled | None:
        """What statements do to the held ones they resemble; None when the rules know it all.

        Raises:
            ApiError: 502, the model gave no answer.
        """
        until = asyncio.get_running_loop().time() + self.seconds
        question = await self.reading.read(scope, lambda engine: engine.reconcile_ask(contents, now=now_ms))
        if question is None:
            return None
        try:
            asked = await self._ask(question, until)
        except ModelFailed as failed:
            raise model_failure(str(failed)) from None
        if asked.problem is not None:
            raise model_failure("the memory model refused to answer")
        read = parse_verdicts(asked.text, question.input.items)
        return read_answers(kept_answers(PostTurnAnswers(reconcile=read), "")).reconcile

    async def _begin(self, scope: Scope, exchange: Exchange, stage: Stage, answers: PostTurnAnswers) -> PostTurn:
        def begin(engine: CognitiveMemory) -> PostTurn:
            asking = engine.begin_post_turn(
                exchange.said,
                exchange.replied,
                now=exchange.now_ms,
                session_id=exchange.session_id,
                asks=(stage,),
                answers=answers,
            )
            # Worked out here, while nobody changes the engine.
            _ = asking.ask
            return asking

        return await self.reading.read(scope, begin)

    async def _put(self, asking: PostTurn, question: Ask, until: float) -> bool:
        """Put a turn's question to the model; whether there was an answer."""
        try:
            take(asking, await self._ask(question, until))
        except ModelFailed as failed:
            asking.fail(str(failed))
            return False
        return True

    async def _ask(self, question: Ask, until: float) -> Asked:
        try:
            async with asyncio.timeout_at(until), self.line:
                return await self.model.ask(question)
        except TimeoutError:
            told = f"the memory model did not answer within {self.seconds:g} s"
        except ProviderFault as fault:
            told = "the memory model gave no usable answer" + (f" (status {fault.status})" if fault.status else "")
        log("the memory model failed", logging.WARNING, stage=question.kind, problem=told)
        raise ModelFailed(told)
