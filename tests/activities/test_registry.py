"""Who may use which tool, and what is checked before a call counts."""

from typing import Any

import pytest

from activities.personas import Persona, Personas
from activities.registry import ToolRegistry
from activities.tool import Tool, tool
from activities.turn_input import ExternalTool


@tool(side_effects=False, retries=2, timeout="PT10S")
def get_user(id: int) -> dict[str, int]:  # noqa: A002
    """Look a user up."""
    return {"id": id}


@tool
def list_zones() -> list[str]:
    return []


@tool(needs_approval=True)
def refund(order_id: str) -> None: ...


EVERYONE = Persona(id="default")
MEMORY = ["search_memory", "remember", "forget", "resolve_tension", "record_outcome"]
READER = Persona(id="reader", tool_ids=("get_user",))
REGISTRY = ToolRegistry([get_user, list_zones, refund])
BROWSE = ExternalTool(
    name="browse", input_schema={"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
)


def names(definitions: list[dict[str, Any]]) -> list[str]:
    return [each["function"]["name"] for each in definitions]


def test_definitions_are_worker_then_memory_then_external_tools() -> None:
    made = REGISTRY.definitions(EVERYONE, [BROWSE])
    assert names(made) == ["get_user", "list_zones", "refund", *MEMORY, "browse"]
    assert made[0] == {
        "type": "function",
        "function": {
            "name": "get_user",
            "description": "Look a user up.",
            "parameters": {
                "type": "object",
                "properties": {"id": {"type": "integer"}},
                "required": ["id"],
                "additionalProperties": False,
            },
        },
    }


def test_persona_is_offered_its_own_tools_only() -> None:
    assert names(REGISTRY.definitions(READER, [])) == ["get_user", "search_memory"]
    assert REGISTRY.facts(READER, [], "refund") is None
    assert names(REGISTRY.definitions(Persona(id="mute", tool_ids=()), [])) == ["search_memory"]


def test_a_persona_that_lists_its_tools_changes_memory_only_with_those_it_lists() -> None:
    keeper = Persona(id="keeper", tool_ids=("get_user", "record_outcome", "remember"))
    assert names(REGISTRY.definitions(keeper, [])) == ["get_user", "search_memory", "remember", "record_outcome"]
    assert REGISTRY.facts(keeper, [], "forget") is None
    REGISTRY.validate(Personas([keeper]))


def test_tools_of_memory_are_run_again_only_where_that_changes_nothing_more() -> None:
    facts = {name: REGISTRY.facts(EVERYONE, [], name) for name in MEMORY}
    assert {each.kind for each in facts.values() if each is not None} == {"memory"}
    assert [name for name, each in facts.items() if each is not None and not each.repeatable] == ["record_outcome"]


def test_external_schema_that_does_not_say_object_is_completed() -> None:
    made = REGISTRY.definitions(READER, [ExternalTool(name="go", input_schema={})])
    assert made[-1]["function"]["parameters"] == {"type": "object", "properties": {}}


def test_facts_say_what_the_gate_and_the_retry_policy_need() -> None:
    looked_up = REGISTRY.facts(EVERYONE, [BROWSE], "get_user")
    assert looked_up is not None
    assert (looked_up.kind, looked_up.repeatable, looked_up.timeout, looked_up.retries) == ("worker", True, 10.0, 2)
    assert looked_up.input_schema is None
    approved = REGISTRY.facts(EVERYONE, [BROWSE], "refund")
    assert approved is not None
    assert (approved.needs_approval, approved.repeatable) == (True, False)
    assert approved.input_schema == refund.input_schema
    memory = REGISTRY.facts(EVERYONE, [], "search_memory")
    assert memory is not None
    assert (memory.kind, memory.repeatable) == ("memory", True)
    external = REGISTRY.facts(EVERYONE, [BROWSE], "browse")
    assert external is not None
    assert (external.kind, external.repeatable) == ("external", False)
    assert REGISTRY.facts(EVERYONE, [BROWSE], "Get_User") is None


def test_external_tool_may_not_take_a_name_the_turn_has() -> None:
    outside = [ExternalTool(name=name) for name in ("GET_USER", "search_memory", "ok", "Ok", "refund", "Forget")]
    assert REGISTRY.clashes(EVERYONE, outside) == ["GET_USER", "search_memory", "Ok", "refund", "Forget"]
    assert REGISTRY.clashes(READER, outside) == ["GET_USER", "search_memory", "Ok"]
    assert REGISTRY.clashes(EVERYONE, [BROWSE]) == []


@pytest.mark.parametrize("arguments", [{}, {"x": None}])
def test_check_names_the_missing_field(arguments: dict[str, Any]) -> None:
    wrong = REGISTRY.check("get_user", arguments, [])
    assert wrong is not None
    assert wrong.code == "TOOL_ARGUMENTS_INVALID"
    assert "id: is required and missing" in wrong.message


def test_check_lets_good_calls_pass() -> None:
    assert REGISTRY.check("list_zones", {}, []) is None
    assert REGISTRY.check("get_user", {"id": "5"}, []) is None
    assert REGISTRY.check("search_memory", {"query": "tea"}, []) is None
    assert REGISTRY.check("forget", {"id": "mem_1"}, []) is None
    assert REGISTRY.check("record_outcome", {"domain": "sql", "success": "true"}, []) is None
    assert REGISTRY.check("browse", {"url": "https://example.org"}, [BROWSE]) is None


def test_check_of_an_external_call_names_the_field() -> None:
    missing = REGISTRY.check("browse", {}, [BROWSE])
    assert missing is not None
    assert missing.code == "TOOL_ARGUMENTS_INVALID"
    assert '"url" is a required property' in missing.message
    wrong = REGISTRY.check("browse", {"url": 5}, [BROWSE])
    assert wrong is not None
    assert "arguments.url" in wrong.message


def test_memory_tool_bounds_its_limit() -> None:
    wrong = REGISTRY.check("search_memory", {"query": "", "limit": 500}, [])
    assert wrong is not None
    assert "query:" in wrong.message
    assert "limit:" in wrong.message


def test_unknown_tool_is_not_found() -> None:
    wrong = REGISTRY.check("nope" * 100, {}, [BROWSE])
    assert wrong is not None
    assert wrong.code == "TOOL_NOT_FOUND"
    assert len(wrong.message) < 200


@pytest.mark.parametrize(
    "schema",
    [{"type": "flurb"}, {"$ref": "http://127.0.0.1:9/x"}, {"properties": {"a": {"pattern": "("}}}, {"$ref": "#"}],
)
def test_broken_external_schema_does_not_break_the_turn(schema: dict[str, Any]) -> None:
    odd = ExternalTool(name="odd", input_schema=schema)
    assert REGISTRY.check("odd", {"a": "b"}, [odd]) is None
    assert REGISTRY.facts(EVERYONE, [odd], "odd") is not None


def test_names_are_unique_whatever_their_case() -> None:
    def named(name: str) -> Tool:
        return tool(name=name)(lambda: None)

    with pytest.raises(ValueError, match="GET_USER"):
        ToolRegistry([get_user, named("GET_USER")])
    for reserved in MEMORY:
        with pytest.raises(ValueError, match=reserved):
            ToolRegistry([named(reserved)])


def test_persona_with_an_unknown_tool_is_refused() -> None:
    REGISTRY.validate(Personas([EVERYONE, READER, Persona(id="m", tool_ids=("search_memory",))]))
    with pytest.raises(ValueError, match=r"persona bad names tools that do not exist: lookup, Refund"):
        REGISTRY.validate(Personas([EVERYONE, Persona(id="bad", tool_ids=("lookup", "get_user", "Refund"))]))


def test_memory_can_be_left_out() -> None:
    bare = ToolRegistry([list_zones], memory=False)
    assert names(bare.definitions(EVERYONE, [])) == ["list_zones"]
    assert bare.names == ("list_zones",)
    wrong = bare.check("search_memory", {"query": "x"}, [])
    assert wrong is not None
    assert wrong.code == "TOOL_NOT_FOUND"
