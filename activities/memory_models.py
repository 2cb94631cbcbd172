"""Asking a model what a finished turn teaches: what was said, how it relates to what is held, what should be shown next.

Each is one model call of its own, so that a crash between two costs one of them. The engine says what it would like to know;
where there is nothing, no model is called. What comes back is judged by the engine when the turn is learned.
"""

import asyncio
from dataclasses import dataclass

from openai import AsyncOpenAI
from temporalio import activity

from activities.contracts import MemoryAnswered, MemoryAsk, MemoryStage
from activities.exchanges import exchange_of
from activities.memory_answers import read_answers
from activities.memory_asking import MemoryModel, kept_answers, take, worth_asking
from activities.memory_keeper import Exchange, MemoryKeeper, scope_of
from activities.model_failures import answered
from activities.model_settings import ModelSettings
from activities.store.errors import SnapshotDamaged
from activities.store.records import Scope
from activities.store.turn_store import TurnStore
from activities.store_failures import store_failures
from memory_engine import (
    STAGES,
    MemoryEngineError,
    PostTurn,
    PostTurnAnswers,
)


@dataclass(frozen=True, slots=True)
class _Heard:
    """A turn to learn from. `key_names` are the secrets its model calls use."""

    scope: Scope
    exchange: Exchange
    key_names: tuple[str, ...]


class MemoryModelActivities:
    """The steps of learning that ask a model. `client` must be built with `max_retries=0`.

    With an empty `settings.model` no stage asks: a turn begun by a worker with a model may be finished by one without.
    """

    def __init__(self, store: TurnStore, keeper: MemoryKeeper, client: AsyncOpenAI, settings: ModelSettings) -> None:
        self._store = store
        self._keeper = keeper
        self._settings = settings
        self._model = MemoryModel(client, settings)

    @activity.defn
    async def extract_memories(self, ask: MemoryAsk) -> MemoryAnswered:
        """Which lasting statements does the user make in this turn?

        Raises:
            ApplicationError: LLM_PROVIDER_ERROR, SYS_DATABASE_ERROR, retryable or not.
        """
        return await self._stage("extract", ask)

    @activity.defn
    async def reconcile_memories(self, ask: MemoryAsk) -> MemoryAnswered:
        """What does each new statement do to the held ones it resembles? Raises as `extract_memories`."""
        return await self._stage("reconcile", ask)

    @activity.defn
    async def arbitrate(self, ask: MemoryAsk) -> MemoryAnswered:
        """Which memories should the next prompts show? Raises as `extract_memories`."""
        return await self._stage("arbitrate", ask)

    async def _stage(self, stage: MemoryStage, ask: MemoryAsk) -> MemoryAnswered:
        try:
            return await answered(self._answered(stage, ask), self._settings.provider, self._model.secrets)
        except (SnapshotDamaged, MemoryEngineError):
            # The last step meets the same memory, and tells what is wrong with it.
            return MemoryAnswered(answers=ask.answers)

    async def _answered(self, stage: MemoryStage, ask: MemoryAsk) -> MemoryAnswered:
        if not self._settings.model:
            return MemoryAnswered(answers=ask.answers)
        with store_failures():
            heard = await asyncio.to_thread(self._hear, ask)
            asking = await asyncio.to_thread(self._ask, heard, (stage,), read_answers(ask.answers))
        asked = None
        if (question := worth_asking(asking)) is not None:
            asked = await self._model.ask(question, heard.key_names)
            take(asking, asked)
        answers = kept_answers(asking.answers, heard.exchange.said)
        later = STAGES[STAGES.index(stage) + 1 :]
        with store_failures():
            following = await asyncio.to_thread(self._ask, heard, later, read_answers(answers))
        upcoming = worth_asking(following)
        return MemoryAnswered(
            answers=answers,
            next_stage=None if upcoming is None else _STAGE_OF[upcoming.kind],
            asked=asked is not None,
            usage=None if asked is None else asked.usage,
            model=self._settings.model if asked is None else asked.model,
            provider=self._settings.provider,
        )

    def _hear(self, ask: MemoryAsk) -> _Heard:
        turn, exchange = exchange_of(self._store, ask.turn_id, ask.now_ms)
        return _Heard(scope_of(turn.input, turn.persona_id), exchange, turn.input.options.user_api_keys)

    def _ask(self, heard: _Heard, stages: tuple[MemoryStage, ...], answers: PostTurnAnswers) -> PostTurn:
        return self._keeper.ask(heard.scope, heard.exchange, stages, answers)


_STAGE_OF: dict[str, MemoryStage] = {"extract": "extract", "reconcile": "reconcile", "arbitrate": "arbitrate"}
