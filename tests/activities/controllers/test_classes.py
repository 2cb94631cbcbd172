"""What a Python object offers an agent."""

import enum
import functools
from contextlib import AsyncExitStack
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from activities.controllers.classes import ClassController
from activities.controllers.controller import Listing, Opening
from activities.controllers.opening import assemble
from activities.function_schema import ArgumentsInvalidError
from activities.tool import Tool, ToolContext, tool
from activities.tool_executor import ToolExecutor
from tests.activities.test_tool import CONTEXT


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


class Address(BaseModel):
    city: str


class Base:
    def inherited(self) -> str:
        return "from the base"

    def replaced(self) -> str:
        return "old"


class Shop(Base):
    """Orders."""

    disabled = None

    class Settings:
        """Not a method."""

    def find(
        self, q: str, limit: int = 10, tags: list[str] | None = None, *rest: int, mode: "Mode" = Mode.FAST, **kw: Any
    ) -> list[Any]:
        """Find orders.

        Args:
            q: text to find
        """
        return [q, limit, tags, rest, mode, kw]

    async def pay(self, order_id: int, amount: Decimal, due: date) -> list[Any]:
        return [order_id, amount, due]

    def send(self, to: Address, context: ToolContext) -> list[Any]:
        return [to, context]

    def _private(self) -> None: ...

    @staticmethod
    def ping() -> str:
        return "pong"

    @classmethod
    def make(cls) -> str:
        return cls.__name__

    @property
    def size(self) -> int:
        raise AssertionError("a property is never read")

    @functools.cached_property
    def total(self) -> int:
        raise AssertionError("a property is never read")

    def bad(self, x): ...  # type: ignore[no-untyped-def]

    def broken(self, x: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    def replaced(self) -> str:
        return "new"

    @tool(side_effects=False, retries=2, timeout="PT5S")
    def look(self, order_id: int) -> list[Any]:
        """Look an order up."""
        return [type(self).__name__, order_id]

    @tool(needs_approval=True, name="refund_order")
    def refund(self, order_id: int) -> None: ...


async def listing(instance: Any) -> Listing:
    return await ClassController("shop", instance).open(Opening(AsyncExitStack()))


async def tools(instance: Any) -> dict[str, Tool]:
    return {each.tool.name: each.tool for each in (await listing(instance)).functions}


async def test_the_public_methods_are_offered_and_nothing_else() -> None:
    assert set(await tools(Shop())) == {
        *("find", "pay", "send", "ping", "make", "bad", "replaced", "look", "refund_order", "inherited")
    }


async def test_a_method_that_cannot_be_a_tool_loses_only_itself() -> None:
    [excluded] = (await listing(Shop())).exclusions
    assert excluded.function == "broken"
    assert "Nowhere" in excluded.reason


async def test_schemas_have_defaults_and_texts_and_no_variable_parameters() -> None:
    find = (await tools(Shop()))["find"].input_schema
    assert list(find["properties"]) == ["q", "limit", "tags", "mode"]
    assert find["required"] == ["q"]
    assert find["properties"]["q"] == {"type": "string", "description": "text to find"}
    assert find["properties"]["limit"] == {"type": "integer", "default": 10}
    assert find["additionalProperties"] is False
    assert (await tools(Shop()))["bad"].input_schema["properties"] == {"x": {}}


async def test_arguments_arrive_as_the_types_of_the_method() -> None:
    made = await tools(Shop())
    run = functools.partial(ToolExecutor().run, context=CONTEXT)
    pay = made["pay"].bind({"order_id": "5", "amount": 1.5, "due": "2027-01-02"})
    assert await run(made["pay"], pay) == [5, "1.5", "2027-01-02"]
    assert made["find"].bind({"q": "tea", "mode": "slow"})(CONTEXT) == ["tea", 10, None, (), Mode.SLOW, {}]
    assert made["send"].bind({"to": {"city": "Oslo"}})(CONTEXT) == [Address(city="Oslo"), CONTEXT]
    assert made["look"].bind({"order_id": 7})(CONTEXT) == ["Shop", 7]
    assert [made[name].bind({})(CONTEXT) for name in ("ping", "make", "replaced")] == ["pong", "Shop", "new"]


@pytest.mark.parametrize("arguments", [{}, {"q": 1, "color": "red"}, {"q": {}}, {"q": "x", "rest": [1]}])
async def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ArgumentsInvalidError):
        (await tools(Shop()))["find"].bind(arguments)


async def test_options_of_a_decorated_method_are_those_of_its_tool() -> None:
    made = await listing(Shop())
    functions = {each.facts.function: each for each in made.functions}
    look, refund, find = functions["look"], functions["refund_order"], functions["find"]
    assert (look.tool.retries, look.tool.timeout, look.tool.repeatable, look.default) == (2, 5.0, True, "run")
    assert refund.default == "approve"
    assert (find.default, find.tool.repeatable, find.tool.is_async) == ("run", False, False)
    assert functions["pay"].tool.is_async


def test_a_decorated_method_is_still_a_method() -> None:
    assert Shop().look(3) == ["Shop", 3]
    assert Shop.look.for_object is not None
    with pytest.raises(TypeError, match="made of a method"):
        Shop.look.bind({"order_id": 1})


async def test_methods_of_the_standard_library_and_of_pydantic_are_not_offered() -> None:
    class Counter(BaseModel):
        count: int = 0

        def add(self, n: int) -> int:
            return self.count + n

    class Store(dict[str, int]):
        def total(self) -> int:
            return sum(self.values())

    assert list(await tools(Counter())) == ["add"]
    assert list(await tools(Store())) == ["total"]


async def test_names_that_models_cannot_say_are_changed_and_parameters_cost_the_method() -> None:
    class Unsayable:
        def получить(self) -> int:
            return 1

        def set(self, имя: str) -> None: ...

    controller = ClassController("shop", Unsayable())
    opened = assemble([], [(controller, await controller.open(Opening(AsyncExitStack())))], {})
    [name] = opened.tools.names
    assert name.isascii()
    [excluded] = opened.reports[0].exclusions
    assert (excluded.function, "имя" in excluded.reason) == ("set", True)


async def test_a_method_has_the_name_it_has_in_the_class() -> None:
    class Wrapping:
        def get(self, size: int = 1) -> int:
            return size

        double = functools.partialmethod(get, size=2)
        also = lambda self: 3  # noqa: E731

        @functools.wraps(get)
        def again(self, *args: Any, **kwargs: Any) -> int:
            return 1 + self.get(*args, **kwargs)

    made = await tools(Wrapping())
    assert list(made) == ["get", "double", "also", "again"]
    assert [made[name].bind({})(CONTEXT) for name in made] == [1, 2, 3, 2]


async def test_of_two_methods_that_differ_in_case_only_the_first_is_kept() -> None:
    class Twice:
        def get(self) -> int:
            return 1

        def Get(self) -> int:  # noqa: N802
            return 2

    made = await listing(Twice())
    assert [each.tool.name for each in made.functions] == ["get"]
    assert [each.function for each in made.exclusions] == ["Get"]


def test_a_class_in_place_of_an_object_is_refused() -> None:
    with pytest.raises(ValueError, match="an object of Shop"):
        ClassController("shop", Shop)
    with pytest.raises(ValueError, match="controller's name"):
        ClassController("\n", Shop())
