"""Asking the memory model one question. Turns and the memory service ask in the same words, of the same kind of server."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from openai import AsyncOpenAI

from activities.asking import Prompt, Provider
from activities.chat_request import Dialect
from activities.completions import Completion, empty_response
from activities.conversation import ModelUsage, UserMessage
from activities.memory_answers import fit_answers, without_echoes
from activities.memory_prompts import EXTRACTION, MemoryPrompt, memory_prompt
from activities.model_settings import ModelSettings
from activities.provider_errors import FINAL_CODES, ProviderFault
from memory_engine import Arbitrate, Ask, PostTurn, PostTurnAnswers


@dataclass(frozen=True, slots=True)
class Asked:
    """What came back: a text, or the problem for which it cannot be used. `usage` has its cost where the model has a price."""

    text: str | None
    problem: str | None
    usage: ModelUsage | None
    model: str


class MemoryModel:
    """The model that helps memory to learn. `client` must be built with `max_retries=0`."""

    def __init__(self, client: AsyncOpenAI, settings: ModelSettings) -> None:
        self._settings = settings
        self._provider = Provider(client, settings)
        self._takes_schemas = True

    async def ask(self, question: Ask, key_names: tuple[str, ...] = ()) -> Asked:
        """The answer to one question. A server that refuses the schema is asked without it.

        Raises:
            ProviderFault: no usable completion.
            UnknownSecretError: the worker holds none of `key_names`.
        """
        completion, usage = await self._call(memory_prompt(question), key_names)
        model = completion.model or self._settings.model
        usage = self._settings.prices.priced(usage, model, self._settings.model)
        return Asked(completion.text, _problem(completion), usage, model)

    def secrets(self) -> Iterator[str]:
        """Every key that must not be seen in a message."""
        return self._provider.secrets()

    async def _call(self, prompt: MemoryPrompt, key_names: tuple[str, ...]) -> tuple[Completion, ModelUsage | None]:
        if not self._takes_schemas:
            return await self._provider.ask(self._prompt(prompt, with_schema=False), key_names)
        try:
            return await self._provider.ask(self._prompt(prompt, with_schema=True), key_names)
        except ProviderFault as fault:
            if fault.status not in (400, 422) or fault.code in FINAL_CODES:
                raise
        # The instructions tell the shape as well.
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


def worth_asking(asking: PostTurn) -> Ask | None:
    """The next question of a turn's learning, if it is worth a model call."""
    match asking.ask:
        case Arbitrate(input=shown) if not shown.candidates:
            # It could only order anew what the rules order as well.
            return None
        case question:
            return question


def take(asking: PostTurn, asked: Asked) -> None:
    """Give an answer to the learning that asked for it."""
    if asked.problem is not None:
        asking.fail(asked.problem)
    else:
        asking.answer(asked.text)


def kept_answers(answers: PostTurnAnswers, said: str) -> dict[str, Any]:
    """The answers as they may be kept: without secrets, copies of what is held, and repetitions of the instructions."""
    return fit_answers(without_echoes(answers, said, EXTRACTION))


def _problem(completion: Completion) -> str | None:
    if completion.error is not None:
        return f"{completion.error.code}: {completion.error.message}"
    return empty_response(completion).message if completion.text is None else None
