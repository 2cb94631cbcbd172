"""Asking the model which functions it wants, before it sees any of their schemas."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from openai import AsyncOpenAI
from temporalio import activity

from activities.asking import Prompt, Provider
from activities.call_ids import mint_call_id
from activities.chat_request import merge_options, request_fields
from activities.choices import Choice, cancelled, read_choice
from activities.completions import Completion
from activities.contracts import Excerpt
from activities.controllers.catalogue import Candidate, ListedFunction, catalogue_of
from activities.conversation import AssistantMessage, Message, ModelUsage
from activities.guarding import ask_guarded
from activities.guards import Guards
from activities.model_failures import answered
from activities.model_settings import ModelSettings
from activities.phases import choice_facts, earlier_tries, listing, phase_prompt, phase_tool
from activities.prompt import system_messages
from activities.registry import ToolRegistry
from activities.reply_facts import ReplyFacts, facts_of
from activities.selection import ChoiceFacts, ChoiceReply, ChoiceRequest, ChosenFunction
from activities.texts import text_of
from activities.trimming import fit_turn
from activities.turn_input import SelectionOptions, TurnOptions
from activities.turn_reading import Reading, TurnReader
from memory_engine import Embedder

MAX_ARGUMENTS_CHARS = 20_000
SCORES_LOGGED = 20


class ChoiceActivities:
    """The activity that asks for a choice. `client` must be built with `max_retries=0`.

    With an `embedder` candidates are found by meaning as well as by words.
    """

    def __init__(
        self,
        reader: TurnReader,
        registry: ToolRegistry,
        client: AsyncOpenAI,
        settings: ModelSettings,
        embedder: Embedder | None = None,
        guards: Guards | None = None,
    ) -> None:
        self._reader = reader
        self._registry = registry
        self._provider = Provider(client, settings)
        self._settings = settings
        self._embedder = embedder
        self._guards = guards or Guards()

    @activity.defn
    async def choose_functions(self, request: ChoiceRequest) -> ChoiceReply:
        """Ask the model to choose, store its reply as row `request.row`.

        Raises:
            ApplicationError: as `call_model`.
        """
        return await answered(self._choose(request), self._settings.provider, self._provider.secrets)

    async def _choose(self, request: ChoiceRequest) -> ChoiceReply:
        reading = await asyncio.to_thread(self._reader.read, request.turn_id, request.rows, request.row)
        if reading.reply:
            return _reply(request.row, reading.reply)
        options = merge_options(reading.turn.input.options, request.options)
        functions = await asyncio.to_thread(self._listed, request, reading, options.selection)
        prompt = self._prompt(request, reading, options, functions)
        turn = reading.turn
        guards = self._guards.of_turn(request.turn_id, turn.conversation_id, reading.persona, turn.input)
        completion, usage = await ask_guarded(self._provider, guards, prompt, options.user_api_keys)
        choice = self._read(request, reading, functions, completion)
        if completion.hint:
            activity.logger.warning("turn %s, %s: %s", request.turn_id, request.phase, completion.hint)
        message = self._message(request, completion, choice, usage, prompt.model)
        first = activity.in_activity() and activity.info().attempt == 1
        kept = await asyncio.to_thread(self._reader.keep, request.turn_id, request.row, message, first_attempt=first)
        return _reply(request.row, kept)

    def _listed(self, request: ChoiceRequest, reading: Reading, options: SelectionOptions) -> Sequence[ListedFunction]:
        """What this question is about: everything or the candidates, and of those its own group's share."""
        functions = self._registry.listed(reading.persona, reading.turn.input.external_tools)
        if request.phase == "cancel":
            waiting = {entry.name for entry in request.stack}
            return [each for each in functions if each.name in waiting]
        if request.among is not None:
            return [each for each in functions if each.name in request.among]
        if options.candidates is not None and len(functions) > options.candidates:
            said = text_of(reading.turn.input.content)
            catalogue = catalogue_of(functions, self._embedder)  # type: ignore[arg-type]  # hashed by identity
            found = catalogue.candidates(said, options.candidates)
            likely = {each.function.name for each in found}
            activity.logger.info("%s: candidates %s", request.turn_id, ", ".join(map(_scored, found[:SCORES_LOGGED])))
            functions = tuple(each for each in functions if each.name in likely)
        share = ceil(len(functions) / request.groups)
        return functions[request.group * share : (request.group + 1) * share]

    def _prompt(
        self, request: ChoiceRequest, reading: Reading, options: TurnOptions, functions: Sequence[ListedFunction]
    ) -> Prompt:
        persona, turn = reading.persona, reading.turn
        messages: list[Message] = [
            *(listing(functions, request.turn_id) if request.phase != "initialize" else ()),
            *reading.history,
            *fit_turn(reading.rows, self._settings.turn_tokens),
            *earlier_tries(reading.rows, request.phase),
        ]
        model = options.model or persona.model or self._settings.model
        told = phase_prompt(request.phase, options.selection, request.now_ms)
        return Prompt(
            model=model,
            system=system_messages(persona, turn.memory_text, turn.input, told, turn.sources),
            messages=messages,
            tools={"tools": [phase_tool(request.phase)]},
            fields=lambda dialect: request_fields(persona, _without_format(options), model, dialect),
            calls_allowed=True,
            # A model that has nothing to drop is told to say nothing.
            may_be_empty=request.phase == "cancel",
        )

    def _read(
        self, request: ChoiceRequest, reading: Reading, functions: Sequence[ListedFunction], completion: Completion
    ) -> Choice:
        choice = read_choice(completion, request.phase, {each.name for each in functions})
        if request.phase == "cancel":
            dropped, missing = cancelled(choice.chosen, request.stack)
            faults = (*choice.faults, *(f"{name} does not wait that often." for name in missing))
            choice = replace(choice, chosen=tuple(dropped), faults=faults)
        return replace(choice, chosen=tuple(self._with_origin(each, reading) for each in choice.chosen))

    def _with_origin(self, chosen: ChosenFunction, reading: Reading) -> ChosenFunction:
        facts = self._registry.facts(reading.persona, reading.turn.input.external_tools, chosen.name)
        if facts is None:
            return chosen
        origin = {"controller": facts.controller, "function": facts.function, "protocol": facts.protocol}
        return chosen.model_copy(update=origin)

    def _message(
        self, request: ChoiceRequest, completion: Completion, choice: Choice, usage: ModelUsage | None, asked: str
    ) -> AssistantMessage:
        facts = facts_of(completion, usage, asked, self._settings)
        kept = ChoiceFacts(
            phase=request.phase,
            call_id=mint_call_id(request.turn_id, request.call, request.group),
            wanted=choice.wanted,
            arguments=choice.arguments if len(str(choice.arguments)) <= MAX_ARGUMENTS_CHARS else None,
            chosen=choice.chosen,
            faults=choice.faults,
            group=request.group,
            groups=request.groups,
        )
        # Of a divided question only the choice counts: what each group says to the user, it says without knowing the others.
        text = completion.text if request.groups == 1 else None
        meta = facts.model_dump(mode="json", by_alias=True, exclude_none=True)
        return AssistantMessage(content=text, meta={**meta, "choice": kept.model_dump(mode="json", by_alias=True)})


def _reply(row: int, message: AssistantMessage) -> ChoiceReply:
    """The reply as the row has it; the first attempt and every later one give the same."""
    facts, choice = ReplyFacts.model_validate(message.meta or {}), choice_facts(message)
    return ChoiceReply(
        row=row,
        wanted=choice.wanted if choice else False,
        chosen=choice.chosen if choice else (),
        faults=choice.faults if choice else (),
        text=None if message.content is None else Excerpt.of(message.content),
        finish_reason=facts.finish_reason,
        model=facts.model,
        provider=facts.provider,
        usage=facts.usage,
        error=facts.error,
        hint=facts.hint,
        guardrails=facts.guardrails,
    )


def _scored(candidate: Candidate) -> str:
    return f"{candidate.function.name} {candidate.score:.2f}"


def _without_format(options: TurnOptions) -> TurnOptions:
    """The forms that the turn's answer shall have are none that a choice can have."""
    return options.model_copy(update={"response_format": None, "modalities": None, "audio": None})
