import json
from typing import Any

import pytest

from activities.json_schema import schema_fault
from tests.activities.openapi.documents import (
    body_schema,
    converted,
    document,
    json_body,
    output_schema,
    posting,
    ref,
    swagger,
)

ADDRESS = {
    "type": "object",
    "description": "An address.",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_a_schema_that_contains_itself_is_shown_once_and_then_referred_to(version: str) -> None:
    thing = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "child": ref("Thing"),
            "tags": {"type": "array", "items": ref("Tag")},
            "main": ref("Tag"),
            "alt": ref("Tag"),
        },
    }
    tag = {"type": "object", "properties": {"t": {"type": "string"}, "of": ref("Thing")}}
    made = converted(posting(ref("Thing"), version, schemas={"Thing": thing, "Tag": tag, "Self": ref("Self")}))
    schema = made.operations[0].input_schema
    body = schema["properties"]["body"]
    assert body["type"] == "object"
    assert body["required"] == ["name"]
    assert body["properties"]["name"] == {"type": "string"}
    assert body["properties"]["child"] == {"$ref": "#/$defs/Thing"}
    assert body["properties"]["main"] == body["properties"]["alt"] == {"$ref": "#/$defs/Tag"}
    assert schema["$defs"]["Tag"]["properties"]["t"] == {"type": "string"}
    json.dumps(schema)


def test_a_circle_costs_no_other_operation() -> None:
    schemas = {
        "A": {"type": "object", "properties": {"b": ref("B")}},
        "B": {"type": "object", "properties": {"a": ref("A")}},
        "Self": ref("Self"),
    }
    paths = {f"/{name}": {"post": json_body(ref(name))} for name in schemas}
    found = converted(document({**paths, "/ok": {"get": {}}}, schemas=schemas))
    assert found.excluded == ()
    bodies = [each.body.schema if each.body else None for each in found.operations]
    assert [set(body or ()) for body in bodies] == [{"type", "properties"}, {"type", "properties"}, set(), set()]


@pytest.mark.parametrize(
    "schemas",
    [
        {"A": ref("A")},
        {"A": ref("B"), "B": ref("A")},
        {"A": {**ref("A"), "description": "x"}},
        {"A": {"allOf": [ref("A")]}},
        {"A": {"anyOf": [ref("A"), ref("B")]}, "B": {"oneOf": [ref("A")]}},
        {"A": {"nullable": True, "allOf": [ref("B")]}, "B": {"allOf": [ref("A"), {"description": "x"}]}},
    ],
)
def test_a_schema_that_is_only_a_form_of_itself_takes_anything(schemas: dict[str, Any]) -> None:
    operation = converted(posting(ref("A"), schemas=schemas)).operations[0]
    assert operation.body is not None
    assert not operation.body.schema.keys() & {"type", "properties"}


def test_a_part_of_itself_is_dropped_and_the_rest_stays() -> None:
    both = {"allOf": [ref("A"), {"type": "object", "properties": {"next": ref("A"), "x": {"type": "integer"}}}]}
    made = body_schema(ref("A"), schemas={"A": both})
    assert made["properties"]["x"] == {"type": "integer"}
    assert made["properties"]["next"] == {"$ref": "#/$defs/A"}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_words_beside_a_reference_never_replace_what_it_points_to(version: str) -> None:
    properties = {
        "a": {**ref("Addr"), "nullable": True} if version == "3.0.3" else {**ref("Addr"), "type": ["object", "null"]},
        "b": {**ref("Addr"), "description": "billing address"},
        "c": {"nullable": True, "allOf": [ref("Addr")]},
        "d": ref("Addr"),
    }
    made = body_schema({"type": "object", "properties": properties}, version, schemas={"Addr": ADDRESS})["properties"]
    assert made == {
        "a": {"anyOf": [ADDRESS, {"type": "null"}]},
        "b": {**ADDRESS, "description": "billing address"},
        "c": {"anyOf": [ADDRESS, {"type": "null"}]},
        "d": ADDRESS,
    }


def test_a_schema_used_once_is_written_out_with_the_description_beside_it() -> None:
    made = body_schema(
        {"type": "object", "properties": {"to": {**ref("Addr"), "description": "billing"}}}, schemas={"Addr": ADDRESS}
    )
    assert made["properties"]["to"] == {**ADDRESS, "description": "billing"}


def test_other_words_beside_a_reference_count_from_3_1_on() -> None:
    node = {"type": "object", "properties": {"n": {**ref("N"), "maximum": 5}}}
    schemas = {"N": {"type": "integer"}}
    assert body_schema(node, "3.0.3", schemas=schemas)["properties"]["n"] == {"type": "integer"}
    assert body_schema(node, "3.1.0", schemas=schemas)["properties"]["n"] == {"type": "integer", "maximum": 5}


@pytest.mark.parametrize(
    ("node", "made"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"enum": ["a", None]}, {"enum": ["a", None]}),
        ({"type": "null"}, {"type": "null"}),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, {"type": ["string", "null"]}),
        ({"nullable": True}, {}),
        (True, {}),
        ({}, {}),
    ],
)
def test_null_is_said_in_one_way(node: Any, made: dict[str, Any]) -> None:
    assert body_schema(node, "3.1.0") == made


@pytest.mark.parametrize(
    ("node", "made"),
    [
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"items": {"type": "integer"}}, {"type": "array", "items": {"type": "integer"}}),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
            {
                "type": "array",
                "prefixItems": [{"type": "string"}, {"type": "integer"}],
                "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "maxItems": 2,
            },
        ),
        (
            {"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "integer"}},
            {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
        ),
    ],
)
def test_every_array_says_what_is_in_it(node: dict[str, Any], made: dict[str, Any]) -> None:
    assert body_schema(node, "3.1.0") == made


@pytest.mark.parametrize(
    ("node", "made"),
    [
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"type": "string"}),
        ({"additionalProperties": {}}, True),
        ({"type": "object", "additionalProperties": True}, True),
        ({"type": "object", "additionalProperties": False}, False),
        (
            {"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False},
            {"type": "integer"},
        ),
    ],
)
def test_maps_stay_maps(node: dict[str, Any], made: Any) -> None:
    schema = body_schema(node, "3.1.0")
    assert schema["type"] == "object"
    assert schema["additionalProperties"] == made


def test_an_open_object_stays_open() -> None:
    assert body_schema({"type": "object"}) == {"type": "object"}


USER = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "name": {"type": "string"},
        "password": {"type": "string", "writeOnly": True},
        "meta": {
            "type": "object",
            "properties": {"created": {"type": "string", "readOnly": True}, "color": {"type": "string"}},
        },
        "stamp": ref("Stamp"),
        "old": {"type": "string", "deprecated": True},
    },
}
STAMP = {"type": "string", "readOnly": True}


def test_what_is_read_only_is_not_sent_and_what_is_write_only_does_not_come_back() -> None:
    sent = body_schema(ref("User"), schemas={"User": USER, "Stamp": STAMP})
    assert sent["required"] == ["name"]
    assert sent["properties"] == {
        "name": {"type": "string"},
        "password": {"type": "string"},
        "meta": {"type": "object", "properties": {"color": {"type": "string"}}},
        "old": {"type": "string", "deprecated": True},
    }
    back = output_schema(ref("User"), schemas={"User": USER, "Stamp": STAMP})
    assert back is not None
    assert back["required"] == ["id", "name"]
    assert back["properties"].keys() == {"id", "name", "meta", "stamp", "old"}


def test_what_one_part_hides_no_other_part_requires() -> None:
    parts = {"allOf": [ref("Base"), {"required": ["id", "x"], "properties": {"x": {}, "seen": {"readOnly": True}}}]}
    base = {"type": "object", "properties": {"id": {"readOnly": True}, "seen": {"type": "string"}}}
    made = body_schema(parts, schemas={"Base": base})
    assert made["properties"] == {"x": {}}
    assert made["required"] == ["x"]


def test_all_of_becomes_one_object() -> None:
    part = {"properties": {"spec": {"type": "string"}}, "required": ["spec"], "additionalProperties": False}
    made = body_schema(
        {"allOf": [ref("Base"), part]}, schemas={"Base": {"type": "object", "properties": {"kind": {"type": "string"}}}}
    )
    assert made == {
        "type": "object",
        "properties": {"kind": {"type": "string"}, "spec": {"type": "string"}},
        "required": ["spec"],
        "additionalProperties": False,
    }


PAIR = {"type": "object", "properties": {"s": {"type": "string"}, "t": {"type": "string"}}}


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ({"allOf": [ref("Pair"), {"required": ["s"]}]}, {"required": ["s"]}),
        ({"allOf": [ref("Pair")], "required": ["s"]}, {"required": ["s"]}),
        ({"allOf": [ref("Pair"), {"required": ["s"]}, {"required": ["t"]}]}, {"required": ["s", "t"]}),
        ({"allOf": [ref("Pair"), {"required": ["nobody"]}]}, {}),
        ({**ref("Pair"), "required": ["t"]}, {"required": ["t"]}),
        (
            {**PAIR, "oneOf": [{"required": ["s"]}, {"required": ["t"]}]},
            {"anyOf": [{"type": "object", "required": ["s"]}, {"type": "object", "required": ["t"]}]},
        ),
    ],
)
def test_a_part_may_say_nothing_but_what_is_required(node: dict[str, Any], said: dict[str, Any]) -> None:
    assert body_schema(node, "3.1.0", schemas={"Pair": PAIR}) == {**PAIR, **said}


@pytest.mark.parametrize("is_part", [True, False])
def test_a_closed_schema_does_not_shut_out_its_alternatives(is_part: bool) -> None:
    def closed(**properties: Any) -> dict[str, Any]:
        return {"type": "object", "properties": properties, "additionalProperties": False}

    text = {"type": "string"}
    forms = {"oneOf": [closed(b=text), closed(c=text, d=text)]}
    made = body_schema({"allOf": [closed(a=text), forms]} if is_part else {**closed(a=text), **forms})
    assert schema_fault(made, {"a": "x", "b": "y"}, "$") is None
    assert schema_fault(made, {"a": "x", "c": "y"}, "$") is None
    assert schema_fault(made, {"a": 1, "b": "y"}, "$") is not None
    assert body_schema(forms)["anyOf"] == [closed(b=text), closed(c=text, d=text)]


def test_no_alternative_requires_what_is_not_sent() -> None:
    properties = {"id": {"type": "integer", "readOnly": True}, "name": {"type": "string"}}
    found = {"type": "object", "properties": properties, "anyOf": [{"required": ["id"]}, {"required": ["name"]}]}
    made = body_schema(found)
    assert made["properties"] == {"name": {"type": "string"}}
    assert made["anyOf"] == [{"type": "object", "required": []}, {"type": "object", "required": ["name"]}]


def test_names_the_model_cannot_use_have_keys_that_lead_back() -> None:
    node = {
        "type": "object",
        "required": ["a b"],
        "properties": {"a b": {"type": "object", "properties": {"$x": {}}}, "ok": {}},
    }
    operation = converted(posting({"type": "array", "items": ref("N")}, schemas={"N": node})).operations[0]
    assert operation.body is not None
    items = operation.body.schema["items"]
    [key] = items["required"]
    [inner] = items["properties"][key]["properties"]
    assert operation.body.renamed == {key: "a b", inner: "$x"}
    assert "ok" in items["properties"]


def test_names_in_what_comes_back_stay() -> None:
    assert output_schema({"type": "object", "properties": {"a b": {}}}) == {"type": "object", "properties": {"a b": {}}}


def test_what_is_hidden_in_one_form_is_not_hidden_in_the_next() -> None:
    def field(name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "in": "formData", "type": "string", **more}

    paths = {}
    for place in range(50):
        paths[f"/a{place}"] = {"post": {"parameters": [field("x", readOnly=True)]}}
        paths[f"/b{place}"] = {"post": {"parameters": [field("x")]}}
    for each in converted(swagger(paths)).operations:
        assert each.body is not None
        assert ("x" in each.body.schema["properties"]) is each.path.startswith("/b")


def test_the_document_is_not_changed() -> None:
    made = posting({**ref("User"), "description": "x"}, schemas={"User": USER, "Stamp": STAMP})
    before = json.dumps(made)
    converted(made)
    assert json.dumps(made) == before


@pytest.mark.parametrize(
    "node",
    ["text", [], {"allOf": [{}] * 201}, {"properties": []}, {"allOf": {}}, {"type": "object", "properties": {"a": 7}}],
)
def test_what_is_no_schema_excludes_its_operation(node: Any) -> None:
    assert len(converted(posting(node)).excluded) == 1
