"""Functions of every kind of source in whole turns: an MCP server, an object, and more of them than a model takes at once."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import Harness
from tests.workflows.shop import ask, document, offered, operation, results
from worker.app import AgentApp, ClassController, HttpController, McpController, Persona, Rule, ToolContext, tool
from worker.client import TurnFailed

MCP_SERVER = Path(__file__).resolve().parents[1] / "activities" / "controllers" / "mcp" / "stdio_server.py"


def mcp(calls: Path) -> McpController:
    """The MCP server of the tests, started as a program."""
    return McpController(name="shop", command=[sys.executable, str(MCP_SERVER), str(calls)])


async def test_it_calls_a_tool_of_an_mcp_server_that_reads_and_asks_before_another(
    harness: Harness, tmp_path: Path
) -> None:
    await harness.work(AgentApp(controllers=[mcp(tmp_path / "calls")]))
    turn = await ask(harness, ("add", {"a": 2, "b": "x"}), ("add", {"a": 2, "b": 3}), ("draw", {}), ("pay", {}))
    [call] = (await harness.pause(turn)).tool_calls or ()
    assert call.name == "pay"
    await turn.answer([{"toolCallId": call.id, "decision": "approve"}])
    output = await turn.result()

    invalid, added, drawn, paid = results(harness)
    assert "b" in invalid
    assert "5" in added
    assert "The user gets the image (png, 8 bytes)." in drawn
    assert output.image_output is not None
    assert (output.image_output.provider, output.image_output.base64_data) == ("draw", "iVBORw0KGgo=")
    assert "may or may not have happened" in paid
    assert (tmp_path / "calls").read_text().split() == ["pay"]


class Counter:
    """Counts."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, count: int, context: ToolContext) -> int:
        """Add to the count.

        Args:
            count: How many.
        """
        assert context.user_id == "ada"
        self.total += count
        return self.total

    @tool(needs_approval=True)
    async def reset(self) -> str:
        """Begin anew."""
        self.total = 0
        return "reset"


async def test_it_calls_methods_of_an_object_by_their_own_rules(harness: Harness) -> None:
    counter = Counter()
    await harness.work(AgentApp(controllers=[ClassController(name="counter", instance=counter)]))
    turn = await ask(harness, ("add", {"count": 2}), ("add", {"count": 3}), ("reset", {}), userId="ada")
    [call] = (await harness.pause(turn)).tool_calls or ()
    assert (call.name, counter.total) == ("reset", 5)
    await turn.answer([{"toolCallId": call.id, "decision": "approve"}])
    await turn.result()

    assert results(harness) == ["2", "5", "reset"]
    assert counter.total == 0


async def test_it_tells_functions_of_one_name_apart_and_finds_them_by_old_names(harness: Harness) -> None:
    left, right = Counter(), Counter()
    controllers = [ClassController(name="left", instance=left), ClassController(name="right", instance=right)]
    await harness.work(AgentApp(controllers=controllers))
    calls: list[tuple[str, Any]] = [("left_add", {"count": 1}), ("right_add", {"count": 2}), ("_1_add", {"count": 3})]
    await (await ask(harness, *calls, userId="ada")).result()

    assert (left.total, right.total) == (1, 5)
    assert offered(harness.model.requests[0]) == ["left_add", "left_reset", "right_add", "right_reset"]


async def test_a_persona_has_the_functions_it_names(harness: Harness) -> None:
    persona = Persona(id="teller", name="Teller", tool_ids=("right.*", "left.reset"))
    app = AgentApp(
        personas=[persona],
        controllers=[
            ClassController(name="left", instance=Counter()),
            ClassController(name="right", instance=Counter(), policy=[Rule("hidden", name="reset")]),
        ],
    )
    await harness.work(app)
    await (await ask(harness, personaId="teller")).result()

    # `left` alone offers a reset now, so that name needs no prefix.
    assert sorted(offered(harness.model.requests[0])) == ["reset", "right_add"]


def large(count: int) -> dict[str, Any]:
    """A document of so many operations."""
    return document({f"/things{number}": {"get": operation(f"readThing{number}")} for number in range(count)})


async def test_more_functions_than_a_model_takes_are_refused_at_the_start_with_what_to_do(harness: Harness) -> None:
    controller = HttpController(name="api", document=large(140), connection={"host": "http://127.0.0.1:9"})
    await harness.work(AgentApp(controllers=[controller]))
    turn = await ask(harness)
    with pytest.raises(TurnFailed) as failed:
        await turn.result()

    assert failed.value.code == "SYS_VALIDATION_ERROR"
    assert all(word in str(failed.value) for word in ("14", "128", "toolSelection: select", "tool_ids", "rules"))
    assert harness.model.requests == []
