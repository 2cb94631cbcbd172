"""Sending a prompt to the provider until it says something: the few tries that are not Temporal's business.

A refused form of the request is changed, an empty reply is asked for again at most twice, and all of it together keeps
to one time limit. Whatever else goes wrong is a `ProviderFault`.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from openai import AsyncOpenAI

from activities.chat_request import Dialect, adapt, media_of, refused_media, stream_fields
from activities.completions import Completion, add_usage, filtered_request, read_completion
from activities.conversation import Message, ModelUsage
from activities.modalities import KINDS, without
from activities.model_settings import ModelSettings
from activities.prompt import ChatMessage, chat_messages
from activities.provider_call import post_chat
from activities.provider_errors import ProviderFault
from activities.streaming_exchange import OnText, stream_chat

RE_ASKS = 2
# A streamed request has two more forms that a server may not know. Pictures and sound left out count for none.
CHANGES, STREAMED_CHANGES = 1, 3
DIALECTS_KEPT = 100
# A shorter one could be part of an ordinary word.
SHORTEST_SECRET = 8


class UnknownSecretError(Exception):
    """None of the names in `userApiKeys` is a secret the worker holds."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request, but for what depends on the server's dialect. `fields` makes that part: model, limits, sampling.

    With `may_be_empty` an empty reply is an answer, and not asked for again. `unwrap` turns a completion into what it means,
    before anything else reads it. `fallbacks` is how often the request for a structured answer may be made in another way.
    """

    model: str
    system: list[ChatMessage]
    messages: list[Message]
    tools: dict[str, Any]
    fields: Callable[[Dialect], dict[str, Any]]
    calls_allowed: bool
    may_be_empty: bool = False
    unwrap: Callable[[Completion], Completion] = field(default=lambda completion: completion)
    fallbacks: int = 0


class Provider:
    """The provider's API as one client reaches it, and what was learned about its dialect, by model."""

    def __init__(self, client: AsyncOpenAI, settings: ModelSettings) -> None:
        self._client = client
        self._settings = settings
        self._dialects: dict[str, Dialect] = {}

    async def ask(
        self, prompt: Prompt, key_names: tuple[str, ...] = (), on_text: OnText | None = None
    ) -> tuple[Completion, ModelUsage | None]:
        """The completion, and the usage of every request it took. With `on_text` it is streamed, and its text given there.

        Raises:
            ProviderFault: no usable completion.
            UnknownSecretError: the worker holds none of `key_names`.
        """
        client = self._client_for(key_names)
        deadline = asyncio.get_running_loop().time() + self._settings.timeout
        usages: list[ModelUsage | None] = []
        for _ in range(1 + RE_ASKS):
            completion = prompt.unwrap(await self._answer(client, prompt, deadline, on_text))
            usages.append(completion.usage)
            # A model that used up its output limit in silence would do so again.
            if not completion.is_empty or completion.cut or prompt.may_be_empty:
                break
        return completion, add_usage(usages)

    def secrets(self) -> Iterator[str]:
        """Every key that must not be seen in a message."""
        keys = (self._client.api_key, *self._settings.secrets.values())
        return (key for key in keys if isinstance(key, str) and len(key) >= SHORTEST_SECRET)

    def _client_for(self, key_names: tuple[str, ...]) -> AsyncOpenAI:
        if not key_names:
            return self._client
        key = next((self._settings.secrets[name] for name in key_names if name in self._settings.secrets), None)
        if key is None:
            raise UnknownSecretError(f"the worker holds no secret named {' or '.join(key_names)}")
        return self._client.with_options(api_key=key)

    async def _answer(self, client: AsyncOpenAI, prompt: Prompt, deadline: float, on_text: OnText | None) -> Completion:
        try:
            return read_completion(
                await self._post(client, prompt, deadline, on_text), calls_allowed=prompt.calls_allowed
            )
        except ProviderFault as fault:
            if (filtered := filtered_request(fault)) is not None:
                return filtered
            raise

    async def _post(self, client: AsyncOpenAI, prompt: Prompt, deadline: float, on_text: OnText | None) -> Any:
        first = dialect = self._dialects.get(prompt.model) or self._first_dialect(prompt.model)
        changes = prompt.fallbacks + (CHANGES if on_text is None else STREAMED_CHANGES)
        while True:
            request = _request(prompt, dialect) | (stream_fields(dialect) if on_text else {})
            try:
                body = await self._send(client, request, deadline, on_text)
                break
            except ProviderFault as fault:
                is_streamed, is_structured = on_text is not None, prompt.fallbacks > 0
                other = adapt(dialect, fault, request["messages"], streamed=is_streamed, structured=is_structured)
                if other is None or not changes:
                    raise _about_media(fault, request["messages"], prompt.model) from None
                changes -= other.without == dialect.without
                dialect = other
        # What an earlier message held may be refused for itself, an address that is gone: the next turn tries again.
        if (kept := replace(dialect, without=first.without)) != first:
            self._keep(prompt.model, kept)
        return body

    def _first_dialect(self, model: str) -> Dialect:
        takes = self._settings.modalities.get(model, KINDS)
        return Dialect(self._settings.tool_only_content, without=frozenset(KINDS).difference(takes))

    async def _send(self, client: AsyncOpenAI, request: dict[str, Any], deadline: float, on_text: OnText | None) -> Any:
        left = max(0.001, deadline - asyncio.get_running_loop().time())
        if on_text is not None and request.get("stream"):
            return await stream_chat(client, request, left, on_text)
        return await post_chat(client, request, left)

    def _keep(self, model: str, dialect: Dialect) -> None:
        if len(self._dialects) >= DIALECTS_KEPT:
            self._dialects.clear()
        self._dialects[model] = dialect


def _about_media(fault: ProviderFault, messages: list[ChatMessage], model: str) -> ProviderFault:
    """The fault, saying first what it means where it is the newest message's picture or sound that is refused."""
    newest = next((message for message in reversed(messages) if message["role"] == "user"), {})
    kinds = refused_media(fault) & media_of(newest)
    if not kinds:
        return fault
    told = f"the model {model} takes no {' or '.join(sorted(kinds))}, or not that of this message: {fault.text}"
    return ProviderFault(told, fault.status, fault.code, fault.headers)


def _request(prompt: Prompt, dialect: Dialect) -> dict[str, Any]:
    return {
        **prompt.fields(dialect),
        "messages": [
            *prompt.system,
            *chat_messages(without(prompt.messages, dialect.without), dialect.tool_only_content),
        ],
        **prompt.tools,
    }
