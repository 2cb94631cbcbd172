"""An app with controllers: what is checked when it is written down, when a worker opens it, and in a turn."""

import logging
from contextlib import AsyncExitStack
from typing import Any

import pytest

from activities.personas import Personas
from tests.support import Harness
from worker.app import (
    AgentApp,
    AppInvalid,
    ClassController,
    FunctionFacts,
    HttpController,
    McpController,
    Persona,
    Rule,
    tool,
)
from worker.functions import announce


class Stock:
    """What a shop has."""

    def count(self, item: str) -> dict[str, Any]:
        """Count an item."""
        return {"item": item, "count": 3}

    def order(self, item: str, amount: int) -> str:
        """Order more of an item."""
        return f"{amount} of {item} ordered"

    def broken(self, x: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821


def is_large(facts: FunctionFacts, arguments: dict[str, Any]) -> bool:
    return bool(arguments["amount"] > 10)


async def is_later(facts: FunctionFacts, arguments: dict[str, Any]) -> bool:
    return True


def app(**fields: Any) -> AgentApp:
    rules = [Rule("approve", name="order", predicate="is_large")]
    return AgentApp(controllers=[ClassController("stock", Stock(), rules)], predicates={"is_large": is_large}, **fields)


async def test_a_turn_calls_the_methods_of_an_object(harness: Harness) -> None:
    await harness.work(app())
    harness.model.call([("count", {"item": "tea"}), ("order", {"item": "tea", "amount": 5})])
    harness.model.say("There are 3; 5 more come.")

    turn = await harness.turns.start("How much tea is there?")
    output = await turn.result()

    assert output.response_text == "There are 3; 5 more come."
    contents = [each["content"] for each in harness.model.requests[-1]["messages"] if each["role"] == "tool"]
    assert contents == ['{"item": "tea", "count": 3}', "5 of tea ordered"]
    offered = [each["function"]["name"] for each in harness.model.requests[0]["tools"]]
    assert offered[:2] == ["count", "order"]


async def test_a_predicate_makes_a_call_wait_for_approval(harness: Harness) -> None:
    await harness.work(app())
    harness.model.call([("_0_order", {"item": "tea", "amount": 500})])
    harness.model.say("Done.")

    turn = await harness.turns.start("Order plenty of tea")
    stop = await harness.pause(turn)
    assert stop.tool_calls is not None
    assert stop.tool_calls[0].arguments == {"item": "tea", "amount": 500}
    await turn.answer([{"toolCallId": stop.tool_calls[0].id, "decision": "approve"}])
    await turn.result()

    assert harness.model.requests[-1]["messages"][-1]["content"] == "500 of tea ordered"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"controllers": [ClassController("a", Stock()), ClassController("a", Stock())]},
            "two controllers are called a",
        ),
        ({"controllers": [ClassController("a", Stock(), [Rule("run", predicate="nope")])]}, "does not have: nope"),
        ({"predicates": {"later": is_later}}, "must not be async: later"),
        ({"personas": [Persona(id="p"), Persona(id="p")]}, "two personas are called p"),
        ({"personas": [Persona(id="p", tool_ids=("nope",))]}, "tools that do not exist: nope"),
        ({"personas": [Persona(id="p", guardrails=("nope",))]}, "guardrails the app does not have: nope"),
        ({"guardrails": [is_later, is_later]}, "two guardrails are called is_later"),
        ({"tools": [tool(name="x")(lambda: 1), tool(name="X")(lambda: 1)]}, "two tools are named X"),
    ],
)
def test_what_is_wrong_with_an_app_is_known_when_it_is_written_down(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        AgentApp(**fields)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"personas": [Persona(id="p", tool_ids=("stock.nope",))]}, "persona p names tools that do not exist"),
        ({"personas": [Persona(id="p", tool_ids=("broken",))]}, "persona p names tools that do not exist"),
    ],
)
async def test_what_is_wrong_with_its_functions_is_known_when_it_is_opened(fields: dict[str, Any], reason: str) -> None:
    written = app(**fields)
    async with AsyncExitStack() as stack:
        with pytest.raises(AppInvalid, match=reason):
            await written.open(stack)


@pytest.mark.parametrize(
    "controller", [HttpController("api", "/nowhere.yaml"), McpController("api", command=["no-such-program-anywhere"])]
)
async def test_a_controller_that_cannot_be_opened_stops_the_worker_with_its_name(
    controller: Any, harness: Harness
) -> None:
    with pytest.raises(AppInvalid, match="controller api: "):
        await harness.work(AgentApp(controllers=[controller]))


async def test_a_persona_may_have_a_whole_controller() -> None:
    written = app(personas=[Persona(id="p", tool_ids=("stock.*",)), Persona(id="q", tool_ids=("stock.count",))])
    async with AsyncExitStack() as stack:
        tools = (await written.open(stack)).tools
    offered = {
        persona_id: [each.name for each in tools.listed(persona, ())]
        for persona_id in ("p", "q")
        if (persona := written.personas.get(persona_id))
    }
    assert offered == {"p": ["count", "order"], "q": ["count"]}


async def test_a_worker_says_what_its_controllers_offer_and_leave_out(caplog: pytest.LogCaptureFixture) -> None:
    many = {f"f{at}": lambda self: None for at in range(130)}
    for name, function in many.items():
        function.__name__ = name
    crowd = AgentApp(
        controllers=[ClassController("stock", Stock()), ClassController("crowd", type("Crowd", (), many)())]
    )
    async with AsyncExitStack() as stack:
        opened = await crowd.open(stack)
    with caplog.at_level(logging.INFO):
        announce(opened, Personas([Persona(id="default")]))
    told = [record.getMessage() for record in caplog.records]
    assert told[0].startswith("controller stock: 2 functions, ")
    assert told[0].endswith("1 left out")
    assert told[1].startswith("controller stock leaves out broken: the annotations of Stock.broken cannot be resolved")
    assert told[2].startswith("controller crowd: 130 functions, ")
    assert "default would be offered 137 tools and a model takes 128" in told[3]
    assert caplog.records[3].levelno == logging.WARNING


async def test_a_worker_says_what_functions_are_called_where_they_come_from(caplog: pytest.LogCaptureFixture) -> None:
    long = "x" * 70
    ids = ["getUser", "getuser", long, "site.read", "list"]
    paths = {f"/{at}": {"get": {"operationId": own, "responses": {}}} for at, own in enumerate(ids)}
    api = {"openapi": "3.0.3", "info": {}, "servers": [{"url": "https://h"}], "paths": paths}
    listing = AgentApp(
        controllers=[
            HttpController("api", api, names="operationId"),
            ClassController("shop", type("Shop", (), {"list": lambda self: None, "naïve": lambda self: None})()),
        ]
    )
    async with AsyncExitStack() as stack:
        opened = await listing.open(stack)
    with caplog.at_level(logging.INFO):
        announce(opened, Personas([Persona(id="default")]))
    cased, cut = opened.reports[0].names[1:3]
    assert (len(cut), cased[:8]) == (64, "getuser_")
    assert [record.getMessage() for record in caplog.records if "is what it calls" in record.getMessage()] == [
        f"controller api: {cased} is what it calls 'getuser'",
        f"controller api: {cut} is what it calls '{long}'",
        "controller api: site_read is what it calls 'site.read'",
        "controller api: api_list is what it calls 'list'",
        "controller shop: shop_list is what it calls 'list'",
        "controller shop: na_ve is what it calls 'naïve'",
    ]
