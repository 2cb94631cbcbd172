"""How a Nestia agent is configured. Names and meaning are those of `INestiaAgentConfig` and `INestiaAgentProvider`."""

import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from openai import AsyncOpenAI
from pydantic import ConfigDict, Field, field_validator

from activities.phases import is_time_zone
from activities.turn_input import PROMPT_CHARS, SelectionOptions, SystemPrompts
from activities.wire import StrictWire
from worker.nestia.prompts import Prompt

PromptSource = Annotated[str, Field(max_length=PROMPT_CHARS)] | Callable[[Any], Any] | None
_LOCALE = re.compile(r"([A-Za-z]{2,3})(?:[_-]([A-Za-z]{2}|[0-9]{3}))?(?:[.@].*)?")
_ZONE_FILE = Path("/etc/localtime")
_ZONES = "zoneinfo/"


class NestiaProvider(StrictWire):
    """The model's service. `api` is a client of the OpenAI SDK, and stays yours to close.

    `options` are for every request: `headers`, `query` and `timeout` (seconds). Retries are Temporal's.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    type: Literal["chatgpt"] = "chatgpt"
    api: AsyncOpenAI = Field(repr=False)
    model: str = Field(min_length=1, max_length=200)
    options: dict[str, Any] | None = Field(default=None, repr=False)

    @field_validator("options")
    @classmethod
    def _known(cls, options: dict[str, Any] | None) -> dict[str, Any] | None:
        if unknown := sorted((options or {}).keys() - {"headers", "query", "timeout"}):
            raise ValueError(f"has no {', '.join(unknown)}; it has headers, query and timeout")
        timeout = (options or {}).get("timeout")
        if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout <= 3600):
            raise ValueError("timeout is a number of seconds, more than 0 and at most 3600")
        return options

    def client(self) -> AsyncOpenAI:
        """The client with the options, making no retries of its own."""
        options = self.options or {}
        return self.api.with_options(
            max_retries=0, default_headers=options.get("headers"), default_query=options.get("query")
        )


class SystemPromptConfig(StrictWire):
    """Texts in place of the built-in ones. A function is called before each turn and gives the text, or None for ours.

    It gets the histories so far; `common` gets the configuration.
    """

    common: PromptSource = None
    initialize: PromptSource = None
    select: PromptSource = None
    cancel: PromptSource = None
    execute: PromptSource = None
    describe: PromptSource = None


class NestiaConfig(StrictWire):
    """Configuration of an agent.

    `locale` and `timezone` are the system's unless given. `retry` is how often the model may correct its arguments, of a
    choice and of a call; without it controllers keep their own. More than `capacity` functions are divided, 0 for never.
    The rest is ours: with at most `threshold` functions the phases are left out; see `SelectionOptions` for `candidates`
    and `describe`; `initialize` is the phase that asks whether any function is wanted at all.
    """

    locale: str | None = Field(default=None, min_length=1, max_length=100)
    timezone: str | None = Field(default=None, max_length=100)
    retry: int | None = Field(default=None, ge=0, le=10)
    capacity: int | None = Field(default=None, ge=0, le=10_000)
    eliticism: bool = True
    system_prompt: SystemPromptConfig = SystemPromptConfig()
    threshold: int = Field(default=8, ge=0, le=128)
    candidates: int | None = Field(default=None, ge=1, le=1_000)
    initialize: bool = False
    describe: Literal["each", "end", "off"] = "each"

    @field_validator("timezone")
    @classmethod
    def _known(cls, name: str | None) -> str | None:
        if name is not None and not is_time_zone(name):
            raise ValueError(f"there is no time zone {name!r}")
        return name

    async def selection(self, histories: Callable[[], list[Prompt]]) -> SelectionOptions:
        """The options of the next turn; `histories` gives a copy of those before it."""
        own = self.system_prompt
        texts = {
            name: await _text(getattr(own, name), (lambda: self) if name == "common" else histories)
            for name in SystemPrompts.model_fields
        }
        return SelectionOptions(
            threshold=self.threshold,
            candidates=self.candidates,
            capacity=self.capacity or None,
            eliticism=self.eliticism,
            retry=3 if self.retry is None else self.retry,
            initialize=self.initialize,
            describe=self.describe,
            locale=self.locale or system_locale(),
            timezone=self.timezone or system_timezone(),
            system_prompt=SystemPrompts(**texts),
        )


async def _text(source: PromptSource, given: Callable[[], Any]) -> str | None:
    if not callable(source):
        return source
    made = source(given())
    text = await made if inspect.isawaitable(made) else made
    if text is not None and not isinstance(text, str):
        raise TypeError(f"a system prompt is text, not {type(text).__name__}")
    return text


def system_locale() -> str:
    """The locale that the environment names, as `de-DE`; `en-US` where it names none."""
    for variable in ("LC_ALL", "LANG"):
        named = _LOCALE.fullmatch(os.environ.get(variable, ""))
        if named:
            language, region = named.groups()
            return f"{language.lower()}-{region.upper()}" if region else language.lower()
    return "en-US"


def system_timezone() -> str:
    """The time zone of this machine by its name; UTC where it has none."""
    named = os.environ.get("TZ", "").removeprefix(":")
    linked = str(_ZONE_FILE.resolve()).partition(_ZONES)[2] if _ZONE_FILE.is_symlink() else ""
    return next((zone for zone in (named, linked) if zone and is_time_zone(zone)), "UTC")
