"""What a controller is to the worker: a named source of functions that is opened once, when the worker starts."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol

from activities.controllers.policy import Action, FunctionFacts, Rule
from activities.http_client import HttpClient
from activities.tool import Tool

MAX_NAME_CHARS = 100


class ControllerInvalid(Exception):
    """A controller cannot be opened, so the worker cannot start; the message names it and says why."""

    def __init__(self, controller: str, reason: str) -> None:
        super().__init__(f"controller {controller}: {reason}")


@dataclass(frozen=True, slots=True)
class Function:
    """One function as its controller gives it: `default` holds where no rule of the app does; `original` is what its source
    calls it, where that could not be its name."""

    facts: FunctionFacts
    tool: Tool
    default: Action
    original: str | None = None


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Something that could have been a function and is none, and why, in one sentence."""

    function: str
    reason: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything a controller offers. Names of functions are unique in it, letter case aside.

    `warnings` are for whoever configured it, a sentence each.
    """

    functions: tuple[Function, ...]
    exclusions: tuple[Exclusion, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """What controllers find when they are opened. What they put on `stack` is closed with the worker.

    `executors` and `predicates` are the app's functions by the names that controllers use.
    """

    stack: AsyncExitStack
    client: HttpClient = field(default_factory=HttpClient)
    executors: Mapping[str, Any] = field(default_factory=dict)
    predicates: Mapping[str, Any] = field(default_factory=dict)


class Controller(Protocol):
    """A source of functions."""

    @property
    def name(self) -> str: ...
    @property
    def rules(self) -> Sequence[Rule]: ...

    async def open(self, opening: Opening) -> Listing:
        """The functions, ready to be called.

        Raises:
            ControllerInvalid: there is nothing to offer, and why.
        """
        ...


def checked_name(name: str) -> str:
    """The name of a controller, if it can be one.

    Raises:
        ValueError: it is empty, long, or has characters that cannot be printed.
    """
    if not name.strip() or len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise ValueError(f"a controller's name is 1 to {MAX_NAME_CHARS} printable characters, got {name[:40]!r}")
    return name
