"""The service's settings, from the environment.

A limit that cannot be used is replaced by its default and told in `problems`, which `/health` shows. The address of the database
and the admin token are not guessed.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from worker.settings import Settings, load_settings

_ENVIRONMENT = re.compile(r"[a-z0-9]{1,16}")
_SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The memory model and where it is reached."""

    name: str
    api_key: SecretStr | None = None
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Limits are whole numbers; `rate` is requests a second for each key, `max_body` bytes, the time-outs seconds.

    `model_seconds` bounds all that one request asks of the model.
    """

    database_url: str
    admin_token: SecretStr | None = None
    environment: str = "dev"
    model: ModelAccess | None = None
    model_seconds: int = 30
    max_total_tokens: int = 2000
    max_index_items: int = 60
    default_recall_limit: int = 8
    rate: int = 100
    burst: int = 400
    max_body: int = 2_000_000
    header_seconds: int = 10
    body_seconds: int = 20
    request_seconds: int = 60
    shutdown_seconds: int = 10
    cors_origins: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


# name of the setting: (name of the variable without TURNHOLD_, lowest, highest)
_NUMBERS = {
    "max_total_tokens": ("MAX_TOTAL_TOKENS", 1, 1_000_000),
    "max_index_items": ("MAX_INDEX_ITEMS", 1, 10_000),
    "default_recall_limit": ("DEFAULT_RECALL_LIMIT", 1, 50),
    "rate": ("MEMORY_RATE", 1, 1_000_000),
    "burst": ("MEMORY_BURST", 1, 1_000_000),
    "model_seconds": ("MEMORY_MODEL_SECONDS", 1, 50),
    "max_body": ("MEMORY_MAX_BODY", 1_000, 50_000_000),
}


def load_service_settings(environment: Mapping[str, str] = os.environ) -> ServiceSettings:
    """The settings of this process.

    Raises:
        SettingsInvalid: the address of the database is no text.
    """
    problems: list[str] = []
    numbers = {
        name: number
        for name, (variable, lowest, highest) in _NUMBERS.items()
        if (number := _number(environment, f"TURNHOLD_{variable}", lowest, highest, problems)) is not None
    }
    settings = load_settings()
    origins = environment.get("TURNHOLD_MEMORY_CORS_ORIGINS", "").split(",")
    return ServiceSettings(
        database_url=settings.database_url,
        admin_token=_admin_token(environment, problems),
        environment=_environment(environment, problems),
        model=_model(settings, problems),
        cors_origins=tuple(origin.strip() for origin in origins if origin.strip()),
        **numbers,
        problems=tuple(problems),
    )


def _number(
    environment: Mapping[str, str], variable: str, lowest: int, highest: int, problems: list[str]
) -> int | None:
    given = environment.get(variable, "").strip()
    if not given:
        return None
    # Longer texts of digits are not worth a conversion.
    if re.fullmatch(r"[0-9]{1,9}", given) and lowest <= int(given) <= highest:
        return int(given)
    problems.append(f"{variable} is not a whole number from {lowest} to {highest}; the default is used")
    return None


def _model(settings: Settings, problems: list[str]) -> ModelAccess | None:
    if not settings.memory_model:
        return None
    if not settings.has_model:
        problems.append("TURNHOLD_MEMORY_MODEL needs OPENAI_API_KEY or OPENAI_BASE_URL; rules alone are used")
        return None
    return ModelAccess(settings.memory_model, settings.openai_api_key, settings.openai_base_url)


def _admin_token(environment: Mapping[str, str], problems: list[str]) -> SecretStr | None:
    given = environment.get("TURNHOLD_ADMIN_TOKEN", "").strip()
    if not given:
        return None
    if len(given) < _SHORTEST_TOKEN:
        problems.append(f"TURNHOLD_ADMIN_TOKEN has fewer than {_SHORTEST_TOKEN} characters; it is not used")
        return None
    return SecretStr(given)


def _environment(environment: Mapping[str, str], problems: list[str]) -> str:
    given = environment.get("TURNHOLD_ENV", "").strip()
    if not given or _ENVIRONMENT.fullmatch(given):
        return given or "dev"
    problems.append("TURNHOLD_ENV is not 1 to 16 small letters and digits; dev is used")
    return "dev"
