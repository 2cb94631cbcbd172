"""What an agent is made with, read and checked before anything starts. Source: `INestiaAgentProps`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from activities.controllers.controller import Controller
from worker.nestia.config import NestiaConfig, NestiaProvider
from worker.nestia.prompts import Prompt
from worker.nestia.restoring import read_histories

MAX_ID_CHARS = 200

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class NestiaProps:
    """The four properties of the seed."""

    provider: NestiaProvider
    controllers: tuple[Controller, ...]
    config: NestiaConfig
    histories: tuple[Prompt, ...]

    @classmethod
    def of(cls, props: Mapping[str, Any], named: Mapping[str, Any]) -> "NestiaProps":
        """The properties of a mapping, with those that are `named` over them.

        Raises:
            ValueError: one cannot be used; the message names it, and not what was given, which may be secret.
        """
        if unknown := sorted(map(str, props.keys() - named.keys())):
            raise ValueError(f"props has no {', '.join(unknown)}; it has {', '.join(named)}")
        given = {**props, **{name: value for name, value in named.items() if value is not None}}
        return cls(
            provider=read_value("provider", NestiaProvider, given.get("provider")),
            controllers=tuple(given.get("controllers") or ()),
            config=read_value("config", NestiaConfig, given.get("config")),
            histories=_histories(given.get("histories") or ()),
        )


def read_value(name: str, model: type[M], given: Any) -> M:
    """The value as its model.

    Raises:
        ValueError: it does not fit; the message names the field.
    """
    if isinstance(given, model):
        return given
    try:
        return model.model_validate({} if given is None else given)
    except ValidationError as fault:
        wrong = "; ".join(
            f"{'.'.join(map(str, (name, *error['loc'])))}: {error['msg']}"
            for error in fault.errors(include_input=False, include_url=False, include_context=False)
        )
        raise ValueError(wrong) from None


def read_identifier(name: str, given: str) -> str:
    """An id that can stand in the names of workflows and queues.

    Raises:
        ValueError: it is empty, long, or cannot be printed.
    """
    if not given or len(given) > MAX_ID_CHARS or not given.isprintable():
        raise ValueError(f"{name} is 1 to {MAX_ID_CHARS} printable characters, got {given[:40]!r}")
    return given


def _histories(given: Any) -> tuple[Prompt, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str) or not all(isinstance(each, dict) for each in given):
        raise ValueError("histories is a list of objects")
    return tuple(read_histories(given))
