"""Which commands the model may send to the host's user interface, and in which words it is told why one is not sent."""

from typing import Any

import pytest

from activities import ui_commands
from activities.conversation import AssistantMessage, ToolCall
from activities.errors import TOOL_ARGUMENTS_INVALID
from activities.personas import Persona, Personas, UICommandKind
from activities.registry import ToolRegistry
from activities.tool import tool
from activities.turn_input import ExternalTool
from activities.ui_commands import CommandCheck

ORDER = {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}
KINDS = (
    UICommandKind(name="open_order", description="Shows an order.", payload_schema=ORDER),
    UICommandKind(name="close"),
)
SHOWING = Persona(id="p", ui_commands=KINDS)
PLAIN = Persona(id="q")


def fault(arguments: dict[str, Any], used: int = 0) -> str | None:
    error = CommandCheck(KINDS, used).fault(arguments)
    assert error is None or error.code == TOOL_ARGUMENTS_INVALID
    return error.message if error else None


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "close"},
        {"command": "close", "payload": None, "targetElementId": None},
        {"command": "open_order", "payload": {"order": 7}, "targetElementId": "#main"},
        {"command": "close", "payload": {"text": "x" * 7_000}},
    ],
)
def test_a_command_that_fits_is_sent(arguments: dict[str, Any]) -> None:
    assert fault(arguments) is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "command: is one of open_order, close"),
        ({"command": "explode"}, "command: is one of open_order, close"),
        ({"command": ["close"]}, "command: is one of"),
        ({"command": "open_order"}, "payload: "),
        ({"command": "open_order", "payload": {"order": "seven"}}, "payload.order: "),
        ({"command": "close", "payload": [1]}, "payload: is an object"),
        ({"command": "close", "payload": "{}"}, "payload: is an object"),
        ({"command": "close", "targetElementId": 7}, "targetElementId: is a text"),
        ({"command": "close", "targetElementId": "x" * 501}, "targetElementId: is a text"),
        ({"command": "close", "payload": {"text": "x" * 8_000}}, "at most 8,000 characters"),
    ],
)
def test_a_command_off_its_schema_is_refused_in_words_that_say_what_to_send(
    arguments: dict[str, Any], words: str
) -> None:
    assert words in (fault(arguments) or "")


def test_the_commands_of_a_turn_have_a_bound_over_its_replies() -> None:
    large = {"command": "close", "payload": {"text": "x" * 7_000}}
    said = [AssistantMessage(tool_calls=(ToolCall(id="a", name=ui_commands.TOOL_NAME, arguments=large),))]
    check = CommandCheck.after(KINDS, said)

    sent = [check.fault(large) is None for _ in range(5)]

    assert sent == [True, True, True, False, False]
    assert check.fault({"command": "close"}) is None


def test_the_tool_says_what_each_command_takes_and_is_there_only_for_a_persona_with_commands() -> None:
    registry = ToolRegistry([])

    names = [each["function"]["name"] for each in registry.definitions(PLAIN, ())]
    offered = {each["function"]["name"]: each["function"] for each in registry.definitions(SHOWING, (), only=())}

    assert ui_commands.TOOL_NAME not in names
    assert registry.facts(PLAIN, (), ui_commands.TOOL_NAME) is None
    assert registry.facts(SHOWING, (), ui_commands.TOOL_NAME) == ui_commands.FACTS
    mine = offered[ui_commands.TOOL_NAME]
    assert "- open_order: Shows an order.\n- close" in mine["description"]
    assert mine["parameters"]["type"] == "object"
    assert mine["parameters"]["properties"]["command"]["enum"] == ["open_order", "close"]
    assert mine["parameters"]["properties"]["payload"]["anyOf"][0]["required"] == ["order"]


def test_no_other_tool_may_have_its_name() -> None:
    with pytest.raises(ValueError, match="two tools are named ui_command"):
        ToolRegistry([tool(name="ui_command")(lambda: None)])
    host = (ExternalTool(name="UI_Command"),)
    assert ToolRegistry([]).clashes(SHOWING, host) == ["UI_Command"]
    assert ToolRegistry([]).clashes(PLAIN, host) == []


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ((UICommandKind(name="a", payload_schema={"type": "nonsense"}),), "persona p: UI command a: the schema is not"),
        ((UICommandKind(name="a"), UICommandKind(name="a")), "persona p: two UI commands are called a"),
    ],
)
def test_commands_that_cannot_be_used_stop_the_app_at_its_start(kinds: tuple[UICommandKind, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ToolRegistry([]).validate(Personas([Persona(id="p", ui_commands=kinds)]))


def test_a_schema_that_came_from_outside_and_is_broken_is_told_to_the_model() -> None:
    broken = (UICommandKind(name="a", payload_schema={"$ref": "https://example.org/x.json"}),)
    error = CommandCheck(broken).fault({"command": "a"})
    assert error is not None
    assert "cannot be used" in error.message
