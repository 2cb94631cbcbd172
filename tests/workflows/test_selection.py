"""A turn that chooses functions before it calls them: cancel, select, execute, describe."""

from typing import Any

from tests.support import Harness
from worker.app import AgentApp, ClassController


class Shop:
    """A shop with one article of each kind, and what was asked of it."""

    def __init__(self) -> None:
        self.log: list[tuple[str, Any]] = []

    def create_order(self, article: str) -> dict[str, str]:
        """Order an article."""
        self.log.append(("create_order", article))
        return {"id": f"zz{len(self.log)}"}

    def read_order(self, order_id: str) -> dict[str, str]:
        """Read an order."""
        self.log.append(("read_order", order_id))
        return {"id": order_id, "state": "new"}


SELECT = {"toolSelection": "select", "selection": {"threshold": 0, "locale": "de-DE"}}


def choose(*names: str, tool: str = "selectFunctions") -> list[tuple[str, dict[str, Any]]]:
    return [(tool, {"functions": [{"reason": f"{name} is wanted", "name": name} for name in names]})]


def offered(request: dict[str, Any]) -> list[str]:
    return [each["function"]["name"] for each in request.get("tools", [])]


async def shop(harness: Harness) -> Shop:
    made = Shop()
    await harness.work(AgentApp(controllers=[ClassController(name="shop", instance=made)]))
    return made


async def test_it_selects_executes_and_describes(harness: Harness) -> None:
    made = await shop(harness)
    harness.model.call(choose("create_order"))
    harness.model.call([("create_order", {"article": "lamp"})])
    harness.model.say("Ordered as zz1.")
    output = await (await harness.turns.start("Order a lamp", options=SELECT)).result()
    select, execute, describe = harness.model.requests

    assert made.log == [("create_order", "lamp")]
    assert output.response_text == "Ordered as zz1."
    assert offered(select) == ["selectFunctions"]
    assert {each["name"] for each in __import__("json").loads(select["messages"][2]["content"])} == {
        "create_order",
        "read_order",
    }
    assert "create_order" in offered(execute)
    assert "read_order" not in offered(execute)
    assert describe["messages"][-1]["role"] == "tool"
    assert "de-DE" in describe["messages"][0]["content"]
