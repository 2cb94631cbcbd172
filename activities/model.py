"""Asking the model once: read the turn, send one chat completion, store what came back.

Temporal owns the retries, so the client makes none, and a reply that was stored before its completion got lost is given again
without asking. With `options.stream` the text is shown while it comes, by chunks in the store; the workflow sees none of it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Protocol

from openai import AsyncOpenAI
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.asking import Prompt, Provider
from activities.chat_request import (
    ToolDefinitions,
    may_stream,
    merge_options,
    output_limit,
    request_fields,
    tool_fields,
)
from activities.completions import Completion, empty_response
from activities.contracts import Excerpt, ModelReply, ModelRequest, ToolFacts
from activities.conversation import Arguments, AssistantMessage, ErrorDetails, ModelUsage, ToolCall, ToolMessage
from activities.delegation import TOOL_NAME as DELEGATE
from activities.delegation import definition as delegate_definition
from activities.delegation import task_fault
from activities.errors import GMI_PROCESSING_ERROR, HISTORY_UNPAIRED
from activities.guarding import ask_guarded
from activities.guards import Guards
from activities.model_failures import answered, final
from activities.model_settings import ModelSettings as ModelSettings
from activities.output_parts import OutputParts
from activities.pairing import pairing_fault
from activities.personas import Persona, Personas
from activities.phases import phase_prompt
from activities.prompt import has_calls, system_messages
from activities.reply_facts import ReplyFacts, facts_of
from activities.reply_media import MediaKeeper, ReplyMedia
from activities.requested_calls import JudgedCall, Offer, cross, judge_calls
from activities.selection import CallPhase
from activities.store.chunk_store import ReplyPlace
from activities.store.errors import ReplyTaken
from activities.streaming import Chunks, reply_stream
from activities.streaming_chunks import reply_drafts, request_drafts
from activities.streaming_exchange import OnText
from activities.structured_asking import StructuredAsk, reading_of, with_issues
from activities.structured_contracts import StructuredReply
from activities.trimming import fit_turn
from activities.turn_input import MAX_DEPTH, ExternalTool, TurnOptions
from activities.turn_reading import Reading, Store, TurnReader
from activities.ui_commands import TOOL_NAME as UI_COMMAND
from activities.ui_commands import CommandCheck

# Asks the model, and gives its reply as it will be stored.
Ask = Callable[..., Awaitable[AssistantMessage]]


class Tools(Protocol):
    """What may be called in a turn: definitions for the model, facts for the gate, a check of arguments."""

    def definitions(
        self, persona: Persona, external_tools: Sequence[ExternalTool], only: Collection[str] | None = None
    ) -> ToolDefinitions: ...
    def facts(
        self, persona: Persona, external_tools: Sequence[ExternalTool], name: str, arguments: Arguments | None = None
    ) -> ToolFacts | None: ...
    def given(self, name: str, arguments: Arguments, external_tools: Sequence[ExternalTool]) -> Arguments: ...
    def check(self, name: str, arguments: Arguments, external_tools: Sequence[ExternalTool]) -> ErrorDetails | None: ...


class ModelActivities:
    """The activity that asks the model. `client` must be built with `max_retries=0`."""

    def __init__(
        self,
        *,
        store: Store,
        personas: Personas,
        tools: Tools,
        client: AsyncOpenAI,
        settings: ModelSettings,
        chunks: Chunks | None = None,
        guards: Guards | None = None,
        media: MediaKeeper | None = None,
    ) -> None:
        self._reader = TurnReader(store, personas)
        self._personas = personas
        self._tools = tools
        self._provider = Provider(client, settings)
        self._settings = settings
        self._chunks = chunks
        self._guards = guards or Guards()
        self._media = ReplyMedia(media, settings.provider)

    @activity.defn
    async def call_model(self, request: ModelRequest) -> ModelReply:
        """Store the request's results, ask the model, store its reply as row `request.rows`.

        Raises:
            ApplicationError: LLM_PROVIDER_ERROR (details: status, code, message, provider), retryable or not;
                HISTORY_UNPAIRED, SYS_RESOURCE_NOT_FOUND, GMI_PERSONA_NOT_FOUND, SYS_VALIDATION_ERROR or
                SYS_GUARDRAIL_REQUIRED_MISSING, not retryable.
        """
        return await answered(self._call(request), self._settings.provider, self._provider.secrets)

    async def _call(self, request: ModelRequest) -> ModelReply:
        reading = await asyncio.to_thread(
            self._reader.read, request.turn_id, request.rows, request.rows, request.results
        )
        offer = self._offer(reading, request.functions)
        if reading.reply:
            return _reply(request.rows, reading.reply, offer, reading.turn.input.options.structured_reply)
        options = merge_options(reading.turn.input.options, request.options)
        wanted = options.structured_reply
        structured = StructuredAsk.of(wanted, reading.rows, offer, tools_allowed=request.tools_allowed)
        prompt = self._prompt(reading, options, request, offer, structured)
        limit = output_limit(reading.persona, options)
        turn = reading.turn
        guards = self._guards.of_turn(request.turn_id, turn.conversation_id, reading.persona, turn.input)

        async def ask(on_text: OnText | None = None) -> AssistantMessage:
            completion, usage = await ask_guarded(self._provider, guards, prompt, options.user_api_keys, on_text)
            completion, parts = await self._media.keep(request.turn_id, reading.persona, options, completion)
            kept = {} if structured is None else structured.read(completion)
            return self._read(request, completion, parts, usage, prompt.model, offer, limit, kept)

        if options.stream and self._chunks is not None:
            message = await self._streamed(self._chunks, request, ask, offer, may_stream(options))
        else:
            message = await self._whole(request, ask)
        return _reply(request.rows, message, offer, wanted)

    async def _whole(self, request: ModelRequest, ask: Ask) -> AssistantMessage:
        message = await ask()
        if not _says_something(message):
            return message
        first = activity.in_activity() and activity.info().attempt == 1
        return await asyncio.to_thread(self._reader.keep, request.turn_id, request.rows, message, first_attempt=first)

    async def _streamed(
        self, chunks: Chunks, request: ModelRequest, ask: Ask, offer: Offer, piecewise: bool
    ) -> AssistantMessage:
        try:
            async with reply_stream(chunks, ReplyPlace(request.turn_id, request.rows, request.round)) as stream:
                message = await ask(stream.say if piecewise else None)
                requests = request_drafts(_called(message, offer), request.rows, message.content)
                drafts = reply_drafts(message, request.rows, request.round, requests)
                await stream.finish(message if _says_something(message) else None, drafts)
                return message
        except ReplyTaken:
            reading = await asyncio.to_thread(self._reader.read, request.turn_id, request.rows, request.rows)
            if reading.reply is None:
                text = "another attempt of this model call is at work"
                raise ApplicationError(text, type=GMI_PROCESSING_ERROR) from None
            return reading.reply

    def _read(
        self,
        request: ModelRequest,
        completion: Completion,
        parts: OutputParts | None,
        usage: ModelUsage | None,
        model: str,
        offer: Offer,
        limit: int | None,
        kept: dict[str, Any],
    ) -> AssistantMessage:
        judged = judge_calls(completion, offer, turn_id=request.turn_id, round_number=request.round, max_tokens=limit)
        if completion.hint:
            activity.logger.warning("turn %s, round %d: %s", request.turn_id, request.round, completion.hint)
        origins = {**_origins(request.phase, judged, offer), **kept}
        return self._message(completion, parts, judged, usage, model, origins)

    def _offer(self, reading: Reading, chosen: Collection[str] | None) -> Offer:
        persona, external = reading.persona, reading.turn.input.external_tools
        definitions = self._tools.definitions(persona, external, chosen)
        above = reading.turn.input.delegation
        if persona.sub_agents and (above is None or above.depth < MAX_DEPTH):
            definitions = [*definitions, delegate_definition(persona, self._personas)]
        # What was not chosen is as good as not there, however well the model remembers it.
        offered = None if chosen is None else {each["function"]["name"] for each in definitions}

        def facts(name: str, arguments: Arguments | None) -> ToolFacts | None:
            if offered is not None and name not in offered:
                return None
            return self._tools.facts(persona, external, name, arguments)

        commands = CommandCheck.after(persona.ui_commands, reading.rows)

        def check(name: str, arguments: Arguments) -> ErrorDetails | None:
            if name == UI_COMMAND and persona.ui_commands:
                return commands.fault(arguments)
            if name == DELEGATE and persona.sub_agents:
                return task_fault(persona, arguments)
            return self._tools.check(name, arguments, external)

        def given(name: str, arguments: Arguments) -> Arguments:
            return self._tools.given(name, arguments, external)

        return Offer(definitions, facts, check, given)

    def _prompt(
        self,
        reading: Reading,
        options: TurnOptions,
        request: ModelRequest,
        offer: Offer,
        structured: StructuredAsk | None,
    ) -> Prompt:
        persona, turn = reading.persona, reading.turn
        messages = [
            *reading.history,
            *with_issues(fit_turn(reading.rows, self._settings.turn_tokens)),
        ]
        if fault := pairing_fault(messages):
            raise final(HISTORY_UNPAIRED, fault)
        model = options.model or persona.model or self._settings.model
        tools = tool_fields(
            offer.definitions,
            options,
            allowed=request.tools_allowed,
            calls_before=has_calls(messages),
            answering=bool(messages) and isinstance(messages[-1], ToolMessage),
        )
        told = phase_prompt(request.phase, options.selection, request.now_ms) if request.phase else ""
        if structured is not None:
            told = "\n\n".join(filter(None, (told, structured.instruction)))
        prompt = Prompt(
            model=model,
            system=system_messages(persona, turn.memory_text, turn.input, told, turn.sources),
            messages=messages,
            tools=tools,
            fields=lambda dialect: request_fields(persona, options, model, dialect),
            calls_allowed=request.tools_allowed,
        )
        return prompt if structured is None else structured.asked_by(prompt)

    def _message(
        self,
        completion: Completion,
        parts: OutputParts | None,
        judged: Sequence[JudgedCall],
        usage: ModelUsage | None,
        asked: str,
        origins: dict[str, Any],
    ) -> AssistantMessage:
        own: dict[str, Any] = {
            "problems": {item.call.id: item.problem for item in judged if item.problem},
            "parts": parts,
        }
        if completion.is_empty and parts is None:
            own["error"] = empty_response(completion)
        facts = facts_of(completion, usage, asked, self._settings).model_copy(update=own)
        return AssistantMessage(
            content=completion.text,
            tool_calls=tuple(item.call for item in judged),
            meta={**facts.model_dump(mode="json", by_alias=True, exclude_none=True), **origins},
        )


def _origins(phase: CallPhase | None, judged: Sequence[JudgedCall], offer: Offer) -> dict[str, Any]:
    """What a row keeps for those who read it later: its phase, and whose function each call was, should it be gone then."""
    functions = {}
    for item in judged:
        facts = offer.facts(item.call.name, None)
        if facts is not None and facts.controller is not None:
            origin = {"controller": facts.controller, "function": facts.function, "protocol": facts.protocol}
            functions[item.call.id] = origin
    return {name: value for name, value in (("phase", phase), ("functions", functions)) if value}


def _called(message: AssistantMessage, offer: Offer) -> list[tuple[ToolCall, ToolFacts | None]]:
    """The calls of a reply with what is known of their tools; None for one that must not run."""
    problems = ReplyFacts.model_validate(message.meta or {}).problems
    calls = message.tool_calls
    return [(call, None if call.id in problems else offer.facts(call.name, call.arguments)) for call in calls]


def _says_something(message: AssistantMessage) -> bool:
    """Whether there is anything to keep: words, calls, sound, a picture, or the verdict of a guardrail that left nothing."""
    is_told = not {"guardrails", "parts"}.isdisjoint(message.meta or {})
    return message.content is not None or bool(message.tool_calls) or is_told


def _reply(row: int, message: AssistantMessage, offer: Offer, wanted: StructuredReply | None) -> ModelReply:
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
        parts=facts.parts,
        guardrails=facts.guardrails,
        structured=reading_of(message, wanted),
    )
