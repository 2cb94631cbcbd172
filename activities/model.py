"""Asking the model once: read the turn, send one chat completion, store what came back.

Temporal owns the retries, so the client makes none, and a reply that was stored before its completion got lost is given again
without asking. Replies are not streamed: `options.stream` is accepted, and the text arrives whole.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from openai import AsyncOpenAI
from temporalio import activity

from activities.asking import Prompt, Provider, UnknownSecretError
from activities.chat_request import ToolDefinitions, merge_options, output_limit, request_fields, tool_fields
from activities.completions import Completion, ReplyFacts, empty_response
from activities.contracts import Excerpt, ModelReply, ModelRequest, ToolFacts
from activities.conversation import Arguments, AssistantMessage, ErrorDetails, Message, ModelUsage, ToolMessage
from activities.errors import (
    GMI_PERSONA_NOT_FOUND,
    HISTORY_UNPAIRED,
    SYS_RESOURCE_NOT_FOUND,
    SYS_VALIDATION_ERROR,
)
from activities.heartbeat import heartbeats
from activities.model_failures import final, provider_failure
from activities.model_settings import ModelSettings as ModelSettings
from activities.pairing import pairing_fault
from activities.personas import Persona, Personas
from activities.prompt import has_calls, system_messages
from activities.provider_errors import ProviderFault
from activities.requested_calls import JudgedCall, Offer, cross, judge_calls
from activities.trimming import BYTES_PER_TOKEN, fit_turn, trim_history
from activities.turn_input import ExternalTool, TurnInput, TurnOptions

HISTORY_MESSAGES = 2_000
HISTORY_READ = 4


class StoredTurn(Protocol):
    """A turn as the store has it. `position` is its place in the conversation."""

    @property
    def input(self) -> TurnInput: ...
    @property
    def persona_id(self) -> str: ...
    @property
    def memory_text(self) -> str | None: ...
    @property
    def position(self) -> int: ...
    @property
    def conversation_id(self) -> str: ...


class Store(Protocol):
    """The rows of turns, blocking. `rows` gives those below `upto`; `history` the newest whole turns before a position."""

    def turn_and_rows(self, turn_id: str, upto: int) -> tuple[StoredTurn | None, list[tuple[int, Message]]]: ...
    def put_rows(self, turn_id: str, rows: Sequence[tuple[int, Message]]) -> int: ...
    def rows(self, turn_id: str, upto: int) -> list[tuple[int, Message]]: ...
    def history(
        self, conversation_id: str, before_position: int, max_messages: int, max_chars: int
    ) -> list[list[Message]]: ...


class Tools(Protocol):
    """What may be called in a turn: definitions for the model, facts for the gate, a check of arguments."""

    def definitions(self, persona: Persona, external_tools: Sequence[ExternalTool]) -> ToolDefinitions: ...
    def facts(self, persona: Persona, external_tools: Sequence[ExternalTool], name: str) -> ToolFacts | None: ...
    def check(self, name: str, arguments: Arguments, external_tools: Sequence[ExternalTool]) -> ErrorDetails | None: ...


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the store has for one request. `reply` is there when an earlier attempt got that far."""

    turn: StoredTurn
    persona: Persona
    history: list[list[Message]]
    rows: list[Message]
    reply: AssistantMessage | None


class ModelActivities:
    """The activity that asks the model. `client` must be built with `max_retries=0`."""

    def __init__(
        self, *, store: Store, personas: Personas, tools: Tools, client: AsyncOpenAI, settings: ModelSettings
    ) -> None:
        self._store = store
        self._personas = personas
        self._tools = tools
        self._provider = Provider(client, settings)
        self._settings = settings

    @activity.defn
    async def call_model(self, request: ModelRequest) -> ModelReply:
        """Store the request's results, ask the model, store its reply as row `request.rows`.

        Raises:
            ApplicationError: LLM_PROVIDER_ERROR (details: status, code, message, provider), retryable or not;
                HISTORY_UNPAIRED, SYS_RESOURCE_NOT_FOUND, GMI_PERSONA_NOT_FOUND or SYS_VALIDATION_ERROR, not retryable.
        """
        async with heartbeats():
            try:
                return await self._call(request)
            except ProviderFault as fault:
                failure = provider_failure(fault, self._settings.provider, self._provider.secrets())
            except UnknownSecretError as error:
                failure = final(SYS_VALIDATION_ERROR, str(error))
        # Raised out here, the failure has no cause and a short stack: there is nothing in it that a reader must not see.
        raise failure

    async def _call(self, request: ModelRequest) -> ModelReply:
        reading = await asyncio.to_thread(self._read, request)
        offer = self._offer(reading)
        if reading.reply:
            return _reply(request.rows, reading.reply, offer)
        options = merge_options(reading.turn.input.options, request.options)
        prompt = self._prompt(reading, options, request.tools_allowed, offer)
        completion, usage = await self._provider.ask(prompt, options.user_api_keys)
        limit = output_limit(reading.persona, options)
        judged = judge_calls(completion, offer, turn_id=request.turn_id, round_number=request.round, max_tokens=limit)
        message = self._message(completion, judged, usage, prompt.model)
        if completion.hint:
            activity.logger.warning("turn %s, round %d: %s", request.turn_id, request.round, completion.hint)
        if _says_something(message):
            message = await asyncio.to_thread(self._keep, request, message)
        return _reply(request.rows, message, offer)

    def _read(self, request: ModelRequest) -> _Reading:
        turn, placed = self._store.turn_and_rows(request.turn_id, request.rows + 1)
        if turn is None:
            raise final(SYS_RESOURCE_NOT_FOUND, f"there is no turn {request.turn_id}")
        persona = self._personas.get(turn.persona_id)
        if persona is None:
            raise final(GMI_PERSONA_NOT_FOUND, f"there is no persona {turn.persona_id}")
        if request.results:
            results = [(placed.row, ToolMessage(result=placed.result)) for placed in request.results]
            self._store.put_rows(request.turn_id, results)
            placed = self._store.rows(request.turn_id, request.rows + 1)
        stored = dict(placed)
        reply = stored.get(request.rows)
        if reply is not None and not isinstance(reply, AssistantMessage):
            raise final(HISTORY_UNPAIRED, f"row {request.rows}, where the reply belongs, is a {reply.role} message")
        if missing := [str(row) for row in range(request.rows) if row not in stored]:
            raise final(HISTORY_UNPAIRED, f"rows {', '.join(missing[:10])} of the turn are missing")
        rows = [stored[row] for row in range(request.rows)]
        if reply:
            return _Reading(turn, persona, [], rows, reply)
        # The store counts whole turns with everything in them; long results are shortened only once they are read.
        chars = persona.history_tokens * BYTES_PER_TOKEN * HISTORY_READ
        is_first = turn.position == 0
        history = [] if is_first else self._store.history(turn.conversation_id, turn.position, HISTORY_MESSAGES, chars)
        return _Reading(turn, persona, history, rows, None)

    def _keep(self, request: ModelRequest, message: AssistantMessage) -> AssistantMessage:
        if activity.in_activity() and activity.info().attempt == 1:
            self._store.put_rows(request.turn_id, [(request.rows, message)])
            return message
        # An attempt that was given up may still be running: the reply that came first is the one that counts.
        standing = dict(self._store.rows(request.turn_id, request.rows + 1)).get(request.rows)
        if isinstance(standing, AssistantMessage):
            return standing
        self._store.put_rows(request.turn_id, [(request.rows, message)])
        return message

    def _offer(self, reading: _Reading) -> Offer:
        persona, external = reading.persona, reading.turn.input.external_tools
        return Offer(
            definitions=self._tools.definitions(persona, external),
            facts=lambda name: self._tools.facts(persona, external, name),
            check=lambda name, arguments: self._tools.check(name, arguments, external),
        )

    def _prompt(self, reading: _Reading, options: TurnOptions, tools_allowed: bool, offer: Offer) -> Prompt:
        persona, turn = reading.persona, reading.turn
        messages = [
            *trim_history(reading.history, persona.history_tokens),
            *fit_turn(reading.rows, self._settings.turn_tokens),
        ]
        if fault := pairing_fault(messages):
            raise final(HISTORY_UNPAIRED, fault)
        model = options.model or persona.model or self._settings.model
        tools = tool_fields(
            offer.definitions,
            options,
            allowed=tools_allowed,
            calls_before=has_calls(messages),
            answering=bool(messages) and isinstance(messages[-1], ToolMessage),
        )
        return Prompt(
            model=model,
            system=system_messages(persona, turn.memory_text, turn.input),
            messages=messages,
            tools=tools,
            fields=lambda dialect: request_fields(persona, options, model, dialect),
            calls_allowed=tools_allowed,
        )

    def _message(
        self, completion: Completion, judged: Sequence[JudgedCall], usage: ModelUsage | None, asked: str
    ) -> AssistantMessage:
        model = completion.model or asked
        if usage:
            usage = usage.model_copy(update={"cost_usd": self._settings.prices.cost(usage, model, asked)})
        facts = ReplyFacts(
            finish_reason=completion.finish_reason,
            model=model,
            provider=self._settings.provider,
            usage=usage,
            error=empty_response(completion) if completion.is_empty else completion.error,
            hint=completion.hint,
            problems={item.call.id: item.problem for item in judged if item.problem},
        )
        return AssistantMessage(
            content=completion.text,
            tool_calls=tuple(item.call for item in judged),
            meta=facts.model_dump(mode="json", by_alias=True, exclude_none=True),
        )


def _says_something(message: AssistantMessage) -> bool:
    return message.content is not None or bool(message.tool_calls)


def _reply(row: int, message: AssistantMessage, offer: Offer) -> ModelReply:
    """The reply as the row has it; the first attempt and every later one give the same."""
    facts = ReplyFacts.model_validate(message.meta or {})
    judged = [JudgedCall(call, facts.problems.get(call.id)) for call in message.tool_calls]
    return ModelReply(
        row=row,
        stored=_says_something(message),
        text=None if message.content is None else Excerpt.of(message.content),
        calls=cross(judged, offer.facts),
        finish_reason=facts.finish_reason,
        model=facts.model,
        provider=facts.provider,
        usage=facts.usage,
        error=facts.error,
        hint=facts.hint,
    )
