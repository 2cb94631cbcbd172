"""What the decorator makes of a function."""

import functools
from typing import Any

import pytest

from activities.function_schema import ArgumentsInvalidError
from activities.tool import Tool, ToolContext, tool

CONTEXT = ToolContext(
    turn_id="t",
    conversation_id="c",
    user_id="u",
    organization_id=None,
    persona_id="p",
    call_id="abc123xyz",
    idempotency_key="t:abc123xyz",
    attempt=1,
)


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def test_bare_decorator_means_the_careful_defaults() -> None:
    made = tool(add)
    assert (made.name, made.description) == ("add", "Add two numbers.")
    assert (made.side_effects, made.idempotent, made.needs_approval) == (True, False, False)
    assert (made.timeout, made.retries, made.is_async, made.repeatable) == (60.0, 0, False, False)


def test_settings_are_taken_as_given() -> None:
    made = tool(side_effects=False, needs_approval=True, timeout="PT2.5S", retries=3, name="plus", description="Sum.")(
        add
    )
    assert (made.name, made.description, made.timeout, made.retries) == ("plus", "Sum.", 2.5, 3)
    assert made.needs_approval
    assert made.repeatable
    assert tool(idempotent=True)(add).repeatable


def test_decorated_function_is_still_a_function() -> None:
    assert tool(add)(2, b=3) == 5


def test_bound_call_runs_with_coerced_arguments() -> None:
    assert tool(add).bind({"a": "2"})(CONTEXT) == 3
    with pytest.raises(ArgumentsInvalidError, match="a: is required"):
        tool(add).bind({})


def test_context_is_injected_wherever_it_stands() -> None:
    @tool
    def charge(context: ToolContext, amount: int, *rest: int, again: ToolContext | None = None) -> tuple[Any, ...]:
        return context, amount, again

    assert charge.bind({"amount": 3})(CONTEXT) == (CONTEXT, 3, CONTEXT)
    assert list(charge.input_schema["properties"]) == ["amount"]


def test_async_functions_of_every_kind_are_recognised() -> None:
    async def coroutine() -> None: ...
    async def generator() -> Any:
        yield 1

    class Callable:
        async def __call__(self) -> None: ...

    for function in (coroutine, generator, Callable(), functools.partial(coroutine)):
        assert tool(name="t")(function).is_async
    assert not tool(add).is_async


@pytest.mark.parametrize("name", ["", "1st", "has space", "dot.ted", "x" * 65, "ünï", "a\n"])
def test_name_that_providers_refuse_raises_at_decoration(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a tool"):
        Tool(name=name, description="", input_schema={}, bind=lambda _: lambda _: None, is_async=False)
    if name:
        with pytest.raises(ValueError, match="cannot name a tool"):
            tool(name=name)(add)


@pytest.mark.parametrize("timeout", ["", "60", "PT0S", "-PT1M", "1 minute", "PT"])
def test_timeout_that_is_no_duration_raises_at_decoration(timeout: str) -> None:
    with pytest.raises(ValueError):
        tool(timeout=timeout)(add)


def test_lambda_needs_a_name() -> None:
    with pytest.raises(ValueError, match="<lambda>"):
        tool(lambda: None)


def test_retries_of_a_tool_that_may_not_repeat_are_refused() -> None:
    with pytest.raises(ValueError, match="may not be retried"):
        tool(retries=1)(add)
    with pytest.raises(ValueError, match="between 0 and"):
        tool(side_effects=False, retries=-1)(add)


class Shop:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    @tool(side_effects=False)
    def find(self, name: str, context: ToolContext | None = None) -> str:
        """Find by name."""
        return f"{self.prefix} {name}"

    @tool
    async def fetch(self) -> None: ...

    @staticmethod
    @tool
    def ping(count: int) -> int:
        return count


def test_a_decorated_method_is_a_tool_of_each_object() -> None:
    made = Shop("a").find
    assert (made.name, made.description, made.repeatable) == ("find", "Find by name.", True)
    assert list(made.input_schema["properties"]) == ["name"]
    assert made.bind({"name": "x"})(CONTEXT) == "a x"
    assert Shop("b").find.bind({"name": "x"})(CONTEXT) == "b x"
    assert Shop("c").find("y") == "c y"
    assert Shop("a").fetch.is_async
    assert Shop("a").ping.bind({"count": 2})(CONTEXT) == 2


def test_a_method_without_its_object_cannot_be_called() -> None:
    with pytest.raises(TypeError, match="take it from an object"):
        Shop.find.bind({"name": "x"})


def test_a_tool_kept_in_a_class_is_that_tool() -> None:
    made = tool(add)

    class Kit:
        adder = made

    assert Kit().adder is Kit.adder is made


def test_context_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        CONTEXT.attempt = 2  # type: ignore[misc]
