"""A tool of the worker: what the model sees of it, what the gate and the retry policy need, and how it is called."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MethodType
from typing import Any, overload

from activities.controllers.policy import Action, FunctionFacts, Policy
from activities.conversation import Arguments
from activities.durations import parse_duration
from activities.function_schema import FunctionSchema, function_schema

TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
MAX_RETRIES = 100


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Which call this is. A function gets it by annotating a parameter with this type; the model does not see that parameter.

    `idempotency_key` is the same whenever this call runs again; `attempt` counts from 1.
    """

    turn_id: str
    conversation_id: str
    user_id: str
    organization_id: str | None
    persona_id: str
    call_id: str
    idempotency_key: str
    attempt: int


BoundCall = Callable[[ToolContext], Any]


@dataclass(frozen=True, slots=True)
class Separated:
    """The input of a tool in two parts: what the model fills, and what a person fills and the model never sees.

    Both are JSON Schemas of the same outer shape as the whole.
    """

    model_schema: dict[str, Any]
    human_schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `timeout` in seconds; `retries` is how often a failed run is repeated.

    `bind` checks the whole arguments and returns the call ready to be made; it has no effects and raises
    `ArgumentsInvalidError`. With `is_async` making the call only creates an awaitable or an async generator, and blocks
    nothing. `function` is what calling the tool from Python calls.

    A controller's function also has `policy`, which knows what it is and decides over its calls in the place of
    `needs_approval`; `separated`, where a person fills a part of its arguments; and `corrections`, how often the model may
    send better arguments after a failure (None: as often as the turn allows). `strict_schema` is what the model gets in the
    place of `model_schema`, in strict mode.

    A tool made of a method stands for no call until it is taken from an object: `shop.find`, not `Shop.find`.

    Raises:
        ValueError: name, timeout or retries cannot be used.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    bind: Callable[[Arguments], BoundCall]
    is_async: bool
    side_effects: bool = True
    idempotent: bool = False
    needs_approval: bool = False
    timeout: float = 60.0
    retries: int = 0
    function: Callable[..., Any] | None = None
    policy: Policy | None = None
    separated: Separated | None = None
    corrections: int | None = None
    strict_schema: dict[str, Any] | None = None
    for_object: "Callable[[Any], Tool] | None" = None

    def __post_init__(self) -> None:
        if TOOL_NAME.fullmatch(self.name) is None:
            raise ValueError(f"{self.name!r} cannot name a tool: providers accept {TOOL_NAME.pattern}")
        if not self.timeout > 0:
            raise ValueError(f"the timeout of tool {self.name} must be more than 0 seconds, got {self.timeout}")
        if not 0 <= self.retries <= MAX_RETRIES:
            raise ValueError(f"the retries of tool {self.name} must be between 0 and {MAX_RETRIES}, got {self.retries}")
        if self.retries and not self.repeatable:
            raise ValueError(
                f"tool {self.name} may not be retried: it has side effects and is not idempotent; set idempotent=True "
                "if it uses ToolContext.idempotency_key, or side_effects=False"
            )

    @property
    def repeatable(self) -> bool:
        """Whether a run that was cut off may simply be made again."""
        return self.idempotent or not self.side_effects

    @property
    def facts(self) -> FunctionFacts | None:
        """What is known of the controller's function that this is; None for any other tool."""
        return None if self.policy is None else self.policy.facts

    @property
    def model_schema(self) -> dict[str, Any]:
        """The schema of what the model fills."""
        return self.input_schema if self.separated is None else self.separated.model_schema

    def action(self, arguments: Arguments | None) -> Action:
        """What becomes of a call with these arguments; for None, of any call."""
        if self.policy is not None:
            return self.policy.decide(arguments)
        return "approve" if self.needs_approval else "run"

    def __get__(self, instance: Any, owner: type | None = None) -> "Tool":
        """The tool of one object, where this was made of a method of its class."""
        return self if self.for_object is None or instance is None else self.for_object(instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function as if it had not been decorated."""
        if self.function is None:
            raise TypeError(f"tool {self.name} is not a Python function")
        return self.function(*args, **kwargs)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    side_effects: bool = True,
    idempotent: bool = False,
    needs_approval: bool = False,
    timeout: str = "PT1M",
    retries: int = 0,
    name: str | None = None,
    description: str | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    side_effects: bool = True,
    idempotent: bool = False,
    needs_approval: bool = False,
    timeout: str = "PT1M",
    retries: int = 0,
    name: str | None = None,
    description: str | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a typed function or method, sync or async; its schema comes from the type hints and the docstring.

    A sync function runs in a thread, which nothing can interrupt: after a timeout or a cancellation it goes on to its end,
    unobserved. An async function is cancelled.

    Args:
        side_effects: the function changes something; such a tool runs at most once unless it is idempotent.
        idempotent: running it again with the same `ToolContext.idempotency_key` changes nothing more.
        needs_approval: each call waits for a person first.
        timeout: how long a run may take, an ISO 8601 duration.
        retries: how often a run that raised or timed out is repeated; only for tools that may be.
        name: what the model calls it; the function's name unless given.
        description: what the model reads; from the docstring unless given.

    Raises:
        TypeError: a parameter has no JSON form, or an annotation cannot be resolved.
        ValueError: the name, the timeout or the retries cannot be used.
    """

    def make(made_of: Callable[..., Any]) -> Tool:
        is_method = _takes_self(made_of)
        schema = function_schema(MethodType(made_of, object()) if is_method else made_of, injected=ToolContext)
        made = Tool(
            name=name or str(getattr(made_of, "__name__", "")),
            description=schema.description if description is None else description,
            input_schema=schema.input_schema,
            bind=_binder(made_of, schema),
            is_async=_is_async(made_of),
            side_effects=side_effects,
            idempotent=idempotent,
            needs_approval=needs_approval,
            timeout=parse_duration(timeout).total_seconds(),
            retries=retries,
            function=made_of,
        )
        return (
            replace(made, bind=_unbound(made.name), for_object=_binding(made, made_of, schema)) if is_method else made
        )

    return make if function is None else make(function)


def _binder(function: Callable[..., Any], schema: FunctionSchema) -> Callable[[Arguments], BoundCall]:
    def bind(arguments: Arguments) -> BoundCall:
        bound = schema.bind(arguments)

        def call(context: ToolContext) -> Any:
            bound.arguments.update(dict.fromkeys(schema.injected, context))
            return function(*bound.args, **bound.kwargs)

        return call

    return bind


def _takes_self(function: Callable[..., Any]) -> bool:
    if not inspect.isfunction(function):
        return False
    first = next(iter(inspect.signature(function).parameters), None)
    return first in ("self", "cls") and first not in function.__annotations__


def _binding(made: Tool, function: Callable[..., Any], schema: FunctionSchema) -> Callable[[Any], Tool]:
    def for_object(instance: Any) -> Tool:
        method = MethodType(function, instance)
        return replace(made, bind=_binder(method, schema), function=method)

    return for_object


def _unbound(name: str) -> Callable[[Arguments], BoundCall]:
    def bind(arguments: Arguments) -> BoundCall:
        raise TypeError(f"tool {name} is made of a method: take it from an object of the class")

    return bind


def _is_async(function: Callable[..., Any]) -> bool:
    candidates = (function, getattr(type(function), "__call__", None))  # noqa: B004 - the method itself is wanted
    return any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in candidates)
