"""What becomes of the functions of several controllers together."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from activities.contracts import PREVIEW_CHARS
from activities.controllers.controller import ControllerInvalid, Exclusion, Function, Listing, Opening
from activities.controllers.opening import Opened, assemble, open_controllers
from activities.controllers.policy import FunctionFacts, Rule
from activities.personas import Persona
from activities.tool import Separated, Tool, tool

EVERYONE = Persona(id="default")


def made(name: str, schema: dict[str, Any] | None = None, **fields: Any) -> Tool:
    return Tool(
        name=name,
        description=f"The {name}.",
        input_schema=schema or {"type": "object"},
        bind=lambda arguments: lambda context: arguments,
        is_async=False,
        **fields,
    )


class Fixed:
    """A controller with these tools."""

    def __init__(self, name: str, *tools: Tool, rules: Sequence[Rule] = (), fault: str | None = None) -> None:
        self.name = name
        self.rules = rules
        self._tools = tools
        self._fault = fault

    async def open(self, opening: Opening) -> Listing:
        if self._fault is not None:
            raise ControllerInvalid(self.name, self._fault)
        functions = [Function(FunctionFacts(self.name, each.name, "class"), each, "run") for each in self._tools]
        return Listing(tuple(functions), (Exclusion("odd", "It is odd."),), ("Mind the gap.",))


async def opened(*controllers: Fixed, tools: Sequence[Tool] = ()) -> Opened:
    async with AsyncExitStack() as stack:
        return await open_controllers(stack, tools, controllers, {"never": lambda facts, arguments: False}, {})


async def test_functions_stand_after_the_apps_own_tools_in_the_order_of_the_controllers() -> None:
    all_of = await opened(Fixed("b", made("y"), made("x")), Fixed("a", made("z")), tools=[tool(name="own")(lambda: 1)])
    assert all_of.tools.names == ("own", "y", "x", "z")


async def test_reports_say_what_is_offered_hidden_and_left_out() -> None:
    rules = [Rule("hidden", name="secret"), Rule("hidden", predicate="never", name="maybe")]
    all_of = await opened(Fixed("a", made("get"), made("secret"), made("maybe"), rules=rules), Fixed("b", made("Get")))
    first, second = all_of.reports
    assert (first.names, first.hidden, second.names) == (("a_get", "maybe"), ("secret",), ("b_Get",))
    assert first.exclusions == (Exclusion("odd", "It is odd."),)
    assert first.warnings == ("Mind the gap.",)
    assert first.size == 2 * len('{"properties":{},"type":"object"}')
    assert all_of.tools.get("secret") is None


async def test_a_name_of_a_memory_tool_is_prefixed() -> None:
    all_of = await opened(Fixed("a", made("Remember")))
    assert all_of.tools.names == ("a_Remember",)
    assert all_of.tools.get("_0_Remember") is all_of.tools.get("a_Remember")


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (made("bad", {"type": "object", "properties": {"a b": {}}}), "cannot name a property"),
        (made("bad", {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}), "which is not there"),
        (made("bad", {"type": "object", "properties": {"a": {"pattern": "("}}}), "cannot be checked"),
        (made("bad", {"type": "object", "description": "x" * 100_001}), "of every request"),
        (
            made(
                "bad", separated=Separated({"type": "object"}, {"type": "object", "description": "x" * PREVIEW_CHARS})
            ),
            "a person fills",
        ),
    ],
)
async def test_a_function_that_a_model_api_would_refuse_costs_nothing_but_itself(bad: Tool, reason: str) -> None:
    all_of = await opened(Fixed("a", made("good"), bad))
    assert all_of.tools.names == ("good",)
    excluded = all_of.reports[0].exclusions[-1]
    assert excluded.function == "bad"
    assert reason in excluded.reason


async def test_a_controller_that_cannot_be_opened_is_named() -> None:
    with pytest.raises(ControllerInvalid, match=r"^controller b: It is gone\.$"):
        await opened(Fixed("a", made("x")), Fixed("b", fault="It is gone."))


async def test_names_do_not_depend_on_the_order_of_controllers() -> None:
    one, two = Fixed("one", made("get"), made("only")), Fixed("two", made("get"))
    first, second = await opened(one, two), await opened(two, one)
    assert set(first.tools.names) == set(second.tools.names) == {"one_get", "only", "two_get"}


def test_no_controllers_are_no_reports() -> None:
    assert assemble([], [], {}).reports == ()


async def test_facts_say_which_function_a_name_means() -> None:
    tools = (await opened(Fixed("one", made("get")), Fixed("two", made("get", corrections=0)))).tools
    facts = tools.facts(EVERYONE, [], "two_get")
    assert facts is not None
    assert (facts.controller, facts.function, facts.protocol) == ("two", "get", "class")
    assert (facts.correctable, facts.corrections) == (False, 0)
    assert tools.facts(EVERYONE, [], "_1_get") == facts
    assert tools.facts(EVERYONE, [], "get") is None
