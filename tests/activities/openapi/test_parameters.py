from typing import Any

import pytest

from activities.openapi.operation import Parameter
from tests.activities.openapi.documents import converted, document, only, querying, swagger


def parameters(made: dict[str, Any], **options: Any) -> dict[tuple[str, str], Parameter]:
    return {(each.where, each.name): each for each in only(made, **options).parameters}


def path_parameter(name: str, kind: str = "string", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": kind}, **more}


ITEM = {
    "summary": "item",
    "parameters": [
        path_parameter("itemId", description="path level"),
        {"$ref": "#/components/parameters/Tenant"},
        {"name": "v", "in": "query", "schema": {"type": "string"}},
    ],
    "get": {
        "parameters": [
            path_parameter("itemId", "integer", description="op level"),
            {"name": "v", "in": "header", "schema": {"type": "string"}},
        ]
    },
    "delete": {},
}
TENANT = {"name": "x-tenant", "in": "header", "required": True, "schema": {"type": "string"}}


def test_an_operation_overrides_what_its_path_declares_by_name_and_place() -> None:
    found = converted(document({"/items/{itemId}": ITEM}, components={"parameters": {"Tenant": TENANT}}))
    get, delete = found.operations
    assert [(each.where, each.name) for each in get.parameters] == [
        ("path", "itemId"),
        ("query", "v"),
        ("header", "x-tenant"),
        ("header", "v"),
    ]
    assert get.parameters[0].schema == {"description": "op level", "type": "integer"}
    assert [(each.where, each.name) for each in delete.parameters] == [
        ("path", "itemId"),
        ("query", "v"),
        ("header", "x-tenant"),
    ]
    assert get.input_schema["required"] == ["itemId", "headers"]
    assert get.input_schema["properties"]["headers"]["required"] == ["x-tenant"]
    assert get.input_schema["properties"]["headers"]["additionalProperties"] is False


def test_only_what_is_required_is_required() -> None:
    schema = only(querying({"name": "q", "in": "query", "schema": {"type": "string", "default": "x"}})).input_schema
    assert schema == {
        "type": "object",
        "properties": {
            "query": {
                "type": "object",
                "properties": {"q": {"type": "string", "default": "x"}},
                "additionalProperties": False,
            }
        },
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("where", "given", "style", "explode"),
    [
        ("query", {}, "form", True),
        ("query", {"explode": False}, "form", False),
        ("query", {"style": "pipeDelimited"}, "pipeDelimited", False),
        ("query", {"style": "deepObject"}, "deepObject", True),
        ("query", {"style": "matrix"}, "form", True),
        ("path", {}, "simple", False),
        ("path", {"style": "matrix", "explode": True}, "matrix", True),
        ("header", {"explode": "yes"}, "simple", False),
        ("cookie", {}, "form", True),
    ],
)
def test_style_and_explode_have_the_defaults_of_their_place(where: str, given: Any, style: str, explode: bool) -> None:
    parameter = {"name": "p", "in": where, "schema": {"type": "array"}, **given}
    found = parameters(document({"/{p}" if where == "path" else "/t": {"get": {"parameters": [parameter]}}}))
    assert (found[where, "p"].style, found[where, "p"].explode) == (style, explode)


@pytest.mark.parametrize(
    ("given", "style", "explode"),
    [
        ({}, "form", False),
        ({"collectionFormat": "csv"}, "form", False),
        ({"collectionFormat": "multi"}, "form", True),
        ({"collectionFormat": "ssv"}, "spaceDelimited", False),
        ({"collectionFormat": "tsv"}, "tabDelimited", False),
        ({"collectionFormat": "pipes"}, "pipeDelimited", False),
        ({"in": "header"}, "simple", False),
    ],
)
def test_collection_formats_of_swagger_2_become_styles(given: Any, style: str, explode: bool) -> None:
    parameter = {"name": "p", "in": "query", "type": "array", "items": {"type": "string"}, "required": False, **given}
    [found] = parameters(swagger({"/t": {"get": {"parameters": [parameter]}}})).values()
    assert (found.style, found.explode, found.required) == (style, explode, False)
    assert found.schema == {"type": "array", "items": {"type": "string"}}


def test_a_parameter_may_be_written_as_a_media_type() -> None:
    content = {"application/json": {"schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}}
    [found] = parameters(querying({"name": "f", "in": "query", "content": content})).values()
    assert found.media_type == "application/json"
    assert found.schema["properties"] == {"a": {"type": "integer"}}


@pytest.mark.parametrize("name", ["Authorization", "accept", "Content-Type", "Host", "Cookie", "Idempotency-Key"])
def test_headers_that_belong_to_the_connection_are_no_parameters(name: str) -> None:
    assert parameters(querying({"name": name, "in": "header", "required": True, "schema": {"type": "string"}})) == {}


def test_a_header_that_cannot_be_sent_is_left_out_and_costs_its_operation_where_it_is_required() -> None:
    header = {"name": "X Tenant", "in": "header", "schema": {"type": "string"}}
    assert parameters(querying(header)) == {}
    [excluded] = converted(querying({**header, "required": True})).excluded
    assert excluded.reason == "it requires the header X Tenant, which cannot be sent"


def test_what_the_connection_supplies_the_model_does_not_see() -> None:
    given: list[Any] = [
        {"name": "X-Tenant", "in": "header", "required": True, "schema": {"type": "string"}},
        {"name": "session", "in": "cookie", "schema": {"type": "string"}},
        {"name": "If-Match", "in": "header", "schema": {"type": "string"}},
    ]
    supplied = frozenset({("header", "x-TENANT"), ("cookie", "session")})
    assert parameters(querying(*given), supplied=supplied).keys() == {("header", "If-Match")}


def test_names_the_model_cannot_use_have_keys() -> None:
    names = ["filter[name]", "filter.name", "$top", "tags", "q" * 70]
    operation = only(querying(*({"name": name, "in": "query", "schema": {"type": "array"}} for name in names)))
    properties = operation.input_schema["properties"]["query"]["properties"]
    assert [each.name for each in operation.parameters] == names
    assert [each.key for each in operation.parameters] == list(properties)
    assert len(properties) == 5
    assert all(each["items"] == {} for each in properties.values())


def test_an_object_in_the_query_leads_its_keys_back_to_names() -> None:
    schema = {"type": "object", "properties": {"a[b]": {"type": "string"}}}
    [found] = parameters(querying({"name": "f", "in": "query", "style": "deepObject", "schema": schema})).values()
    [key] = found.schema["properties"]
    assert found.renamed == {key: "a[b]"}


@pytest.mark.parametrize(
    ("path", "declared", "made"),
    [
        ("/{a}/{b}", ["b", "a"], [("a", "a", "string"), ("b", "b", "integer")]),
        ("/{a}/{b}", ["a_id", "b_id"], [("a", "a", "integer"), ("b", "b", "string")]),
        ("/{a}/{b}", ["b", "other"], [("a", "a", "string"), ("b", "b", "integer")]),
        ("/{a}", [], [("a", "a", "string")]),
        ("/{a}", ["a", "gone"], [("a", "a", "integer")]),
        ("/x", ["gone"], []),
        ("/{query}/{_query}", [], [("query", "_query", "string"), ("_query", "__query", "string")]),
        ("/{id}.json", ["id"], [("id", "id", "integer")]),
        ("/{id:[0-9]+}", ["id"], [("id:[0-9]+", "id", "integer")]),
        ("/{a}/{a}", ["a"], [("a", "a", "integer")]),
    ],
)
def test_placeholders_are_filled_by_name_and_by_place_only_where_names_differ(
    path: str, declared: list[str], made: list[tuple[str, str, str]]
) -> None:
    given = [path_parameter(name, "string" if place else "integer") for place, name in enumerate(declared)]
    operation = only(document({path: {"get": {"parameters": given}}}))
    assert [(each.name, each.key, each.schema["type"]) for each in operation.parameters] == made
    assert all(each.required for each in operation.parameters)


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        ({"in": "query"}, "no `name`"),
        ({"name": "q"}, "no `in`"),
        ({"name": "q", "in": "matrix"}, "not supported"),
        ({"$ref": "#/components/parameters/None"}, "not there"),
        ("q", "not an object"),
        ({"name": "q", "in": "query", "schema": []}, "not an object"),
        ({"name": "q", "in": "query", "content": {"x\r\ny": {}}}, "no media type"),
    ],
)
def test_a_parameter_that_cannot_be_read_excludes_its_operation(parameter: Any, said: str) -> None:
    made = querying(parameter)
    made["paths"]["/ok"] = {"get": {}}
    found = converted(made)
    assert [each.path for each in found.operations] == ["/ok"]
    assert said in found.excluded[0].reason
