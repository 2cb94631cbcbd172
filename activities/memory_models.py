"""Asking a model what a finished turn teaches: what was said, how it relates to what is held, what should be shown next.

Each is one model call of its own, so that a crash between two costs one of them. The engine says what it would like to know;
where there is nothing, no model is called. What comes back is judged by the engine when the turn is learned.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from openai import AsyncOpenAI
from temporalio import activity

from activities.asking import Prompt, Provider, UnknownSecretError
from activities.chat_request import Dialect
from activities.completions import Completion, empty_response
from activities.contracts import MemoryAnswered, MemoryAsk, MemoryStage
from activities.conversation import ModelUsage, UserMessage
from activities.errors import SYS_VALIDATION_ERROR
from activities.exchanges import exchange_of
from activities.heartbeat import heartbeats
from activities.memory_answers import fit_answers, read_answers, without_echoes
from activities.memory_keeper import Exchange, MemoryKeeper, scope_of
from activities.memory_prompts import EXTRACTION, MemoryPrompt, memory_prompt
from activities.model_failures import final, provider_failure
from activities.model_settings import ModelSettings
from activities.provider_errors import FINAL_CODES, ProviderFault
from activities.store.errors import SnapshotDamaged
from activities.store.records import Scope
from activities.store.turn_store import TurnStore
from activities.store_failures import store_failures
from memory_engine import (
    STAGES,
    Arbitrate,
    Ask,
    MemoryEngineError,
    PostTurn,
    PostTurnAnswers,
)

Reply = tuple[Completion, ModelUsage | None]


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
        self._provider = Provider(client, settings)
        self._takes_schemas = True

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
        async with heartbeats():
            try:
                return await self._answered(stage, ask)
            except ProviderFault as fault:
                failure = provider_failure(fault, self._settings.provider, self._provider.secrets())
            except UnknownSecretError as error:
                failure = final(SYS_VALIDATION_ERROR, str(error))
            except (SnapshotDamaged, MemoryEngineError):
                # The last step meets the same memory, and tells what is wrong with it.
                return MemoryAnswered(answers=ask.answers)
        # Raised out here, the failure has no cause and a short stack: there is nothing in it that a reader must not see.
        raise failure

    async def _answered(self, stage: MemoryStage, ask: MemoryAsk) -> MemoryAnswered:
        if not self._settings.model:
            return MemoryAnswered(answers=ask.answers)
        with store_failures():
            heard = await asyncio.to_thread(self._hear, ask)
            asking = await asyncio.to_thread(self._ask, heard, (stage,), read_answers(ask.answers))
        completion, usage = None, None
        if (question := _question(asking)) is not None:
            completion, usage = await self._call(memory_prompt(question), heard.key_names)
            _take(asking, completion)
        answers = fit_answers(without_echoes(asking.answers, heard.exchange.said, EXTRACTION))
        later = STAGES[STAGES.index(stage) + 1 :]
        with store_failures():
            following = await asyncio.to_thread(self._ask, heard, later, read_answers(answers))
        upcoming = _question(following)
        return MemoryAnswered(
            answers=answers,
            next_stage=None if upcoming is None else _STAGE_OF[upcoming.kind],
            asked=completion is not None,
            usage=self._priced(usage, completion),
            model=self._model_of(completion),
            provider=self._settings.provider,
        )

    def _hear(self, ask: MemoryAsk) -> _Heard:
        turn, exchange = exchange_of(self._store, ask.turn_id, ask.now_ms)
        return _Heard(scope_of(turn.input, turn.persona_id), exchange, turn.input.options.user_api_keys)

    def _ask(self, heard: _Heard, stages: tuple[MemoryStage, ...], answers: PostTurnAnswers) -> PostTurn:
        return self._keeper.ask(heard.scope, heard.exchange, stages, answers)

    async def _call(self, prompt: MemoryPrompt, key_names: tuple[str, ...]) -> Reply:
        """One answer. A server that refuses the schema is asked without it: the instructions tell the shape as well."""
        if not self._takes_schemas:
            return await self._provider.ask(self._prompt(prompt, with_schema=False), key_names)
        try:
            return await self._provider.ask(self._prompt(prompt, with_schema=True), key_names)
        except ProviderFault as fault:
            if fault.status not in (400, 422) or fault.code in FINAL_CODES:
                raise
        reply = await self._provider.ask(self._prompt(prompt, with_schema=False), key_names)
        self._takes_schemas = False
        return reply

    def _prompt(self, prompt: MemoryPrompt, *, with_schema: bool) -> Prompt:
        def fields(_: Dialect) -> dict[str, Any]:
            schema = {"response_format": prompt.response_format} if with_schema else {}
            return {"model": self._settings.model, **schema}

        return Prompt(
            model=self._settings.model,
            system=[{"role": "system", "content": prompt.instructions}],
            messages=[UserMessage(content=prompt.data)],
            tools={},
            fields=fields,
            calls_allowed=False,
        )

    def _priced(self, usage: ModelUsage | None, completion: Completion | None) -> ModelUsage | None:
        if usage is None:
            return None
        cost = self._settings.prices.cost(usage, self._model_of(completion), self._settings.model)
        return usage.model_copy(update={"cost_usd": cost})

    def _model_of(self, completion: Completion | None) -> str:
        return (completion.model if completion else "") or self._settings.model


_STAGE_OF: dict[str, MemoryStage] = {"extract": "extract", "reconcile": "reconcile", "arbitrate": "arbitrate"}


def _question(asking: PostTurn) -> Ask | None:
    """What is worth a model call."""
    match asking.ask:
        case Arbitrate(input=shown) if not shown.candidates:
            # It could only order anew what the rules order as well.
            return None
        case question:
            return question


def _take(asking: PostTurn, completion: Completion) -> None:
    if completion.error is not None:
        asking.fail(f"{completion.error.code}: {completion.error.message}")
    elif completion.text is None:
        asking.fail(empty_response(completion).message)
    else:
        asking.answer(completion.text)
