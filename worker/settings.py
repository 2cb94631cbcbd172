"""The worker's own settings, from the environment. Temporal's connection has its own standard variables (see `connect`)."""

import os
import re
from collections.abc import Mapping
from functools import cached_property

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from activities.modalities import Kind
from activities.prices import Price, Prices
from workflows.names import TASK_QUEUE

SECRET_PREFIX = "TURNHOLD_SECRET_"  # noqa: S105 - the prefix of names, not a secret


class SettingsInvalid(Exception):
    """The environment cannot be used; the message names each variable."""


class Settings(BaseSettings):
    """Every variable is `TURNHOLD_` and the field's name, except the model's key and address, which are the SDK's own.

    Times in seconds. `model_prices` is JSON: {"model": {"prompt": $, "completion": $}} per million tokens.
    `model_modalities` is JSON too: {"model": ["text", "image", "audio"]}, what each model takes; others are tried.
    """

    model_config = SettingsConfigDict(
        env_prefix="TURNHOLD_", populate_by_name=True, extra="ignore", env_ignore_empty=True
    )

    app: str | None = None
    personas: str | None = None
    database_url: str = "sqlite:///.turnhold/turnhold.db"
    task_queue: str = TASK_QUEUE
    model: str = "gpt-5-mini"
    model_timeout: float = Field(default=300.0, gt=0, le=3600)
    model_attempts: int = Field(default=8, ge=1, le=100)
    memory_model: str | None = None
    embedder: str | None = None
    model_modalities: dict[str, tuple[Kind, ...]] = Field(default_factory=dict)
    retrieval_timeout: float = Field(default=10.0, gt=0, le=30)
    model_prices: dict[str, Price] = Field(default_factory=dict)
    tool_only_content: str = Field(default="null", pattern="^(null|empty|omit)$")
    shutdown_grace: float = Field(default=30.0, ge=0, le=600)
    max_cached_workflows: int = Field(default=1000, ge=0)
    max_concurrent_activities: int = Field(default=100, ge=1)
    workflow_sandbox: bool = False
    tool_threads: int = Field(default=32, ge=1)
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL")

    @property
    def has_model(self) -> bool:
        """Whether a real model is named; without one the worker uses the scripted model."""
        return self.openai_api_key is not None or self.openai_base_url is not None

    @cached_property
    def prices(self) -> Prices:
        """Prices by model."""
        return Prices(self.model_prices)


def load_settings() -> Settings:
    """The settings of this process.

    Raises:
        SettingsInvalid: names the variables that are wrong, not their values.
    """
    try:
        return Settings()
    except SettingsError as fault:
        named = re.search(r'field "(\w+)"', str(fault))
        raise SettingsInvalid(f"{_variable((named[1],) if named else ())}: is not JSON") from None
    except ValidationError as fault:
        wrong = "; ".join(
            f"{_variable(error['loc'])}: {error['msg']}"
            for error in fault.errors(include_input=False, include_url=False)
        )
        raise SettingsInvalid(wrong) from None


def load_secrets(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Keys that turns may name in `options.userApiKeys`: `TURNHOLD_SECRET_ACME=…` is called `ACME`."""
    return {
        name.removeprefix(SECRET_PREFIX): value
        for name, value in environment.items()
        if name.startswith(SECRET_PREFIX) and value
    }


def _variable(location: tuple[int | str, ...]) -> str:
    name = str(location[0]) if location else "settings"
    return name if name.isupper() else f"TURNHOLD_{name.upper()}"
