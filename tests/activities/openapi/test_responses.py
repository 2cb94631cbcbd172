import pytest

from tests.activities.openapi.documents import Json, converted, document, only, output_schema, ref


@pytest.mark.parametrize(
    ("responses", "types"),
    [
        ({"404": {"content": {"a/b": {}}}, "200": {"content": {"c/d": {}, "e/f": {}}}}, ("c/d", "e/f")),
        (
            {"201": {"content": {"a/b": {}}}, "200": {"content": {"c/d": {}}}, "2XX": {"content": {"e/f": {}}}},
            ("c/d", "a/b", "e/f"),
        ),
        ({"default": {"content": {"a/b": {}}}}, ("a/b",)),
        ({"204": {"description": ""}, "default": {"content": {"a/b": {}}}}, ()),
        ({}, ()),
    ],
)
def test_success_types_are_those_of_good_responses(responses: Json, types: tuple[str, ...]) -> None:
    assert only(document({"/t": {"get": {"responses": responses}}})).success_types == types


def test_the_output_schema_stands_alone() -> None:
    node = {"type": "object", "properties": {"next": ref("Node")}}
    assert output_schema(ref("Node"), schemas={"Node": node}) == {
        "$ref": "#/$defs/Node",
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
    }


def test_a_response_that_cannot_be_read_costs_nothing_else() -> None:
    bad: Json = {"200": {"$ref": "#/components/responses/None"}, "201": {"content": {"text/csv": {}}}, "202": 7}
    found = converted(document({"/t": {"get": {"responses": bad}}, "/u": {"get": {"responses": "none"}}}))
    assert [each.success_types for each in found.operations] == [("text/csv",), ()]
    assert len(found.warnings) == 2
    assert found.warnings[0].startswith("GET /t: the response 200 is left out: it refers to")


def test_a_schema_of_a_response_that_leads_nowhere_is_left_out() -> None:
    content = {"application/problem+json": {"schema": ref("None")}}
    found = converted(document({"/t": {"get": {"responses": {"2XX": {"content": content}}}}}))
    assert found.operations[0].output_schema is None
    assert "the schema of its response is left out" in found.warnings[0]


def test_what_is_no_media_type_is_not_accepted() -> None:
    content: Json = {"a/b\r\nX-Evil: 1": {}, "text/csv": {}}
    assert only(document({"/t": {"get": {"responses": {"200": {"content": content}}}}})).success_types == ("text/csv",)


def test_only_json_has_a_schema() -> None:
    content = {"text/csv": {"schema": {"type": "string"}}}
    assert only(document({"/t": {"get": {"responses": {"200": {"content": content}}}}})).output_schema is None
