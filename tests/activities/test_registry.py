"""Who may use which tool, and what is checked before a call counts."""

from dataclasses import replace
from typing import Any

import pytest

from activities.controllers.policy import FunctionFacts, Rule, policy_for
from activities.conversation import Arguments
from activities.personas import Persona, Personas
from activities.registry import MAX_OFFERED, MAX_OFFERED_BYTES, ToolRegistry
from activities.tool import Separated, Tool, tool
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


def is_small(facts: FunctionFacts, arguments: Arguments) -> bool:
    return bool(arguments["amount"] < 10)


def is_absurd(facts: FunctionFacts, arguments: Arguments) -> bool:
    return bool(arguments["amount"] < 0)


RULES = (
    Rule("hidden", name="pay", predicate="is_absurd"),
    Rule("run", name="pay", predicate="is_small"),
    Rule("approve", name="pay"),
    Rule("external", name="scan"),
)
PAY_SCHEMA = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}


def function(controller: str, name: str, **fields: Any) -> Tool:
    facts = FunctionFacts(controller, name, "http", method="POST", path=f"/{name}", tags=("money",))
    policy = policy_for(facts, RULES, {"is_small": is_small, "is_absurd": is_absurd}, "run")
    return Tool(
        name=name,
        description=f"The {name}.",
        input_schema=PAY_SCHEMA,
        bind=lambda arguments: lambda context: arguments,
        is_async=False,
        policy=policy,
        **fields,
    )


PARTS = Separated(
    model_schema={"type": "object", "properties": {"amount": {"type": "number"}}, "additionalProperties": False},
    human_schema={"type": "object", "properties": {"card": {"type": "string"}}},
)
SHOP = ToolRegistry(
    [
        get_user,
        function("shop", "pay", corrections=3),
        function("shop", "scan", separated=PARTS),
        function("bank", "sign"),
    ],
    aliases={"_0_pay": "pay", "get_user": "pay"},
    controllers=["shop", "bank", "empty"],
)


def test_the_arguments_of_a_call_decide_what_becomes_of_it() -> None:
    small, large = SHOP.facts(EVERYONE, [], "pay", {"amount": 5}), SHOP.facts(EVERYONE, [], "pay", {"amount": 50})
    assert small is not None
    assert (small.needs_approval, small.external, small.input_schema) == (False, False, None)
    assert large is not None
    assert (large.needs_approval, large.external, large.input_schema) == (True, False, PAY_SCHEMA)
    assert (large.correctable, large.corrections) == (True, 3)
    assert SHOP.facts(EVERYONE, [], "pay") == large


def test_a_call_that_a_rule_refuses_is_an_error_the_model_reads() -> None:
    assert SHOP.check("pay", {"amount": 50}, []) is None
    refused = SHOP.check("pay", {"amount": -1}, [])
    assert refused is not None
    assert (refused.code, refused.message) == ("TOOL_CALL_REJECTED", "pay must not be called with these arguments.")


def test_a_call_that_slipped_through_its_check_still_waits_for_a_person() -> None:
    facts = SHOP.facts(EVERYONE, [], "pay", {"amount": -1})
    assert facts is not None
    assert facts.needs_approval


def test_a_function_that_the_host_runs_waits_with_its_schema_and_asks_nobody_for_a_part() -> None:
    scan = SHOP.facts(EVERYONE, [], "scan", {"amount": 5})
    assert scan is not None
    assert (scan.kind, scan.external, scan.needs_approval) == ("worker", True, False)
    assert (scan.input_schema, scan.human_schema) == (PAY_SCHEMA, None)


def test_the_model_sees_and_fills_its_own_part_only() -> None:
    registry = ToolRegistry([function("bank", "sign", separated=PARTS)])
    [sign, *_] = registry.definitions(EVERYONE, [])
    assert sign["function"]["parameters"] == PARTS.model_schema
    facts = registry.facts(EVERYONE, [], "sign", {})
    assert facts is not None
    assert facts.human_schema == PARTS.human_schema
    assert registry.check("sign", {}, []) is None
    wrong = registry.check("sign", {"card": "4111"}, [])
    assert wrong is not None
    assert wrong.code == "TOOL_ARGUMENTS_INVALID"


@pytest.mark.parametrize(
    ("tool_ids", "offered"),
    [
        (("shop",), ["pay", "scan"]),
        (("shop.*",), ["pay", "scan"]),
        (("shop.pay", "bank.*"), ["pay", "sign"]),
        (("_0_pay",), ["pay"]),
        (("empty", "get_user"), ["get_user"]),
        ((), []),
    ],
)
def test_a_persona_may_name_whole_controllers(tool_ids: tuple[str, ...], offered: list[str]) -> None:
    persona = Persona(id="p", tool_ids=tool_ids)
    SHOP.validate(Personas([persona]))
    assert names(SHOP.definitions(persona, [])) == [*offered, "search_memory"]


@pytest.mark.parametrize("entry", ["shop.nope", "nope.*", "Shop", "shop.", "*"])
def test_a_persona_that_names_no_controller_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="tools that do not exist"):
        SHOP.validate(Personas([Persona(id="p", tool_ids=(entry,))]))


def test_an_alias_finds_a_function_and_is_never_offered() -> None:
    assert SHOP.get("_0_pay") is SHOP.get("pay")
    assert SHOP.check("_0_pay", {"amount": 5}, []) is None
    assert "_0_pay" not in names(SHOP.definitions(EVERYONE, []))
    assert SHOP.get("get_user") is get_user
    assert SHOP.facts(READER, [], "_0_pay") is None


def test_a_tool_of_the_host_comes_before_an_alias() -> None:
    outside = [ExternalTool(name="_0_pay")]
    assert SHOP.clashes(EVERYONE, outside) == []
    facts = SHOP.facts(EVERYONE, outside, "_0_pay", {})
    assert facts is not None
    assert facts.kind == "external"


def test_the_list_to_choose_from_has_everything_but_schemas_and_memory() -> None:
    listed = SHOP.listed(EVERYONE, [BROWSE])
    assert [each.name for each in listed] == ["get_user", "pay", "scan", "sign", "browse"]
    pay = listed[1]
    assert (pay.protocol, pay.method, pay.path, pay.tags) == ("http", "POST", "/pay", ("money",))
    assert (listed[0].protocol, listed[0].description) == (None, "Look a user up.")


def test_chosen_tools_are_defined_beside_those_of_memory() -> None:
    assert names(SHOP.definitions(EVERYONE, [BROWSE], only=["pay", "browse"])) == ["pay", *MEMORY, "browse"]
    assert names(SHOP.definitions(EVERYONE, [BROWSE], only=[])) == MEMORY


def test_more_tools_than_a_model_takes_are_counted_and_told_what_to_do() -> None:
    many = ToolRegistry([function("shop", f"f{at}") for at in range(MAX_OFFERED - len(MEMORY))])
    assert many.excess(EVERYONE, []) is None
    told = many.excess(EVERYONE, [BROWSE])
    assert told is not None
    assert f"{MAX_OFFERED + 1} tools" in told
    assert "toolSelection" in told
    assert many.excess(Persona(id="p", tool_ids=("f1",)), [BROWSE]) is None


def test_tools_too_large_for_a_request_are_measured_and_told_what_to_do() -> None:
    wide = {
        "type": "object",
        "properties": {f"p{at}": {"type": "string", "description": "x" * 200} for at in range(400)},
    }
    few = [replace(function("shop", f"f{at}"), input_schema=wide) for at in range(4)]
    host = ExternalTool(name="wide", input_schema=wide)
    assert ToolRegistry(few).excess(EVERYONE, []) is None
    told = ToolRegistry(few).excess(EVERYONE, [host.model_copy(update={"name": f"e{at}"}) for at in range(2)])
    assert told is not None
    assert f"{6 + len(MEMORY)} tools of " in told
    assert f"room for {MAX_OFFERED_BYTES:,}: let the model choose first (toolSelection: select)" in told
    assert ToolRegistry(few).excess(Persona(id="p", tool_ids=("f1",)), [host]) is None


def test_a_strict_tool_is_offered_so_and_gets_no_null_for_what_was_left_out() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": False}
    strict = {**schema, "properties": {"id": {"type": ["integer", "null"]}}, "required": ["id"]}
    pay = replace(function("shop", "pay"), input_schema=schema, strict_schema=strict)
    registry = ToolRegistry([pay, function("shop", "look")], memory=False)
    first, second = (each["function"] for each in registry.definitions(EVERYONE, []))
    assert (first["strict"], first["parameters"]) == (True, strict)
    assert "strict" not in second
    assert registry.given("pay", {"id": None}, []) == {}
    assert registry.given("look", {"id": None}, []) == {"id": None}
    assert registry.given("pay", {"id": None}, [BROWSE.model_copy(update={"name": "pay"})]) == {"id": None}


def test_a_method_that_belongs_to_no_object_is_refused() -> None:
    class Shop:
        @tool
        def find(self) -> None: ...

    ToolRegistry([Shop().find])
    with pytest.raises(ValueError, match="made of a method"):
        ToolRegistry([Shop.find])
