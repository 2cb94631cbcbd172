"""Texts that a caller puts into later prompts without their being statements: no credentials, and no orders."""

from collections.abc import Mapping

from memory_engine import has_secret, screen_injection
from worker.memory_service.errors import invalid_request


def screen(texts: Mapping[str, str | None]) -> None:
    """Look at texts by the names of their fields.

    Raises:
        ApiError: 400, one of them is not to be kept.
    """
    issues = [f"{name}: {trouble}" for name, text in texts.items() if text and (trouble := _trouble(text))]
    if issues:
        raise invalid_request(*issues)


def _trouble(text: str) -> str | None:
    if has_secret(text):
        return "holds a password, key or other secret"
    suspicion = screen_injection(text)
    return None if suspicion is None else f"looks like an instruction: {suspicion}"
