from typing import Any

import pytest

from activities.openapi.operation import FILE_SCHEMA, Body, Encoding, Operation
from tests.activities.openapi.documents import converted, document, only, ref, swagger

OBJECT = {"type": "object", "properties": {"x": {"type": "integer"}}}
TEXT = {"type": "string"}


def posting(content: dict[str, Any], **more: Any) -> Operation:
    return only(document({"/t": {"post": {"requestBody": {"content": content, **more}}}}))


def body(content: dict[str, Any], **more: Any) -> Body:
    found = posting(content, **more).body
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["application/xml", "application/json"], "application/json"),
        (["application/x-www-form-urlencoded", "application/json; charset=utf-8"], "application/json; charset=utf-8"),
        (["multipart/form-data", "application/merge-patch+json"], "application/merge-patch+json"),
        (["*/*", "text/plain"], "application/json"),
        (["text/plain", "application/x-www-form-urlencoded"], "application/x-www-form-urlencoded"),
        (["application/octet-stream", "text/csv"], "text/csv"),
        (["text/csv", "Text/Plain"], "Text/Plain"),
    ],
)
def test_the_media_type_that_is_easiest_to_get_right_is_chosen(offered: list[str], chosen: str) -> None:
    assert body({media: {"schema": OBJECT} for media in offered}).media_type == chosen


@pytest.mark.parametrize("schema", [{"type": "array", "items": {"type": "integer"}}, TEXT, {"type": "integer"}])
def test_a_body_that_is_no_object_stands_under_its_own_key(schema: dict[str, Any]) -> None:
    operation = posting({"application/json": {"schema": schema}}, required=True)
    assert operation.input_schema["properties"]["body"] == schema
    assert operation.input_schema["required"] == ["body"]


def test_a_body_is_optional_unless_said() -> None:
    operation = posting({"application/json": {"schema": OBJECT}}, description="What to add.")
    assert "required" not in operation.input_schema
    assert operation.body is not None
    assert operation.body.schema["description"] == "What to add."


def test_files_of_a_form_are_the_persons_part() -> None:
    properties = {
        "file": {"type": "string", "format": "binary", "description": "The picture."},
        "more": {"type": "array", "items": {"type": "string", "format": "byte"}},
        "note": TEXT,
    }
    schema = {"type": "object", "required": ["file", "note"], "properties": properties}
    operation = posting({"multipart/form-data": {"schema": schema}}, required=True)
    assert operation.body is not None
    assert operation.body.binary == {"file", "more"}
    assert operation.human_schema is not None
    human = operation.human_schema["properties"]["body"]
    assert human["properties"]["file"] == {**FILE_SCHEMA, "description": "The picture."}
    assert human["properties"]["more"] == {"type": "array", "items": FILE_SCHEMA}
    assert human["required"] == ["file"]
    assert operation.llm_schema["properties"]["body"] == {
        "type": "object",
        "properties": {"note": TEXT},
        "required": ["note"],
    }
    assert operation.input_schema["properties"]["body"]["properties"].keys() == {"file", "more", "note"}


def test_a_form_of_a_named_schema_finds_its_files() -> None:
    schemas = {
        "Form": {"type": "object", "properties": {"f": ref("File")}},
        "File": {"type": "string", "format": "binary"},
    }
    operation = only(
        document(
            {"/t": {"post": {"requestBody": {"content": {"multipart/form-data": {"schema": ref("Form")}}}}}},
            schemas=schemas,
        )
    )
    assert operation.body is not None
    assert operation.body.binary == {"f"}


@pytest.mark.parametrize(
    ("schema", "encoding"),
    [
        (TEXT, {"contentType": "image/png, image/jpeg"}),
        ({"type": "string", "contentMediaType": "application/pdf"}, {}),
        ({}, {"contentType": "application/octet-stream"}),
    ],
)
def test_a_media_type_makes_a_file_as_well(schema: dict[str, Any], encoding: dict[str, Any]) -> None:
    media = {"schema": {"type": "object", "properties": {"f": schema}}, "encoding": {"f": encoding}}
    assert body({"multipart/form-data": media}).binary == {"f"}


def test_encodings_say_how_a_property_is_written() -> None:
    encoding = {
        "a": {"contentType": "application/json"},
        "b": {"style": "pipeDelimited", "explode": False, "allowReserved": True},
        "c": {"headers": {"X-Part": {"schema": TEXT}}},
    }
    found = body({"application/x-www-form-urlencoded": {"schema": OBJECT, "encoding": encoding}})
    assert found.encodings == {
        "a": Encoding(content_type="application/json"),
        "b": Encoding(style="pipeDelimited", explode=False, allow_reserved=True),
        "c": Encoding(headers={"X-Part": TEXT}),
    }


def test_encodings_and_files_go_by_their_names_on_the_wire() -> None:
    schema = {"type": "object", "properties": {"a b": {"type": "string", "format": "binary"}}}
    found = body({"multipart/form-data": {"schema": schema, "encoding": {"a b": {"contentType": "image/png"}}}})
    assert found.binary == {"a b"}
    assert list(found.renamed.values()) == ["a b"]


def test_each_alternative_of_a_form_has_its_files() -> None:
    schemas = {"Upload": {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}}
    linked = {"type": "object", "properties": {"url": TEXT}}
    media = {"multipart/form-data": {"schema": {"oneOf": [ref("Upload"), linked]}}}
    operation = only(document({"/t": {"post": {"requestBody": {"content": media}}}}, schemas=schemas))
    assert operation.body is not None
    assert operation.body.binary == {"file"}
    upload = {"type": "object", "properties": {"file": FILE_SCHEMA}}
    assert operation.body.schema == {"type": "object", "anyOf": [upload, linked]}


@pytest.mark.parametrize(
    ("content_type", "schema", "is_left_out"),
    [
        ("application/xml", OBJECT, True),
        ("application/xml", {"type": "array", "items": OBJECT}, True),
        ("application/xml, application/json", OBJECT, False),
        ("application/*", OBJECT, False),
        ("application/xml", TEXT, False),
    ],
)
@pytest.mark.parametrize("media", ["multipart/form-data", "application/x-www-form-urlencoded"])
def test_a_form_that_wants_an_object_as_xml_excludes_its_operation(
    media: str, content_type: str, schema: Any, is_left_out: bool
) -> None:
    form = {"schema": {"type": "object", "properties": {"f": schema}}, "encoding": {"f": {"contentType": content_type}}}
    found = converted(document({"/t": {"post": {"requestBody": {"content": {media: form}}}}}))
    assert bool(found.excluded) is is_left_out
    said = "the f of its form is an object as application/xml, which cannot be written"
    assert [each.reason for each in found.excluded] == ([said] if is_left_out else [])


def test_a_form_with_files_of_any_name_excludes_its_operation() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "string", "format": "binary"}}
    made = document({"/t": {"post": {"requestBody": {"content": {"multipart/form-data": {"schema": schema}}}}}})
    assert converted(made).excluded[0].reason == "its form takes files under names that it does not tell"


@pytest.mark.parametrize("media", ["application/octet-stream", "image/png", "application/zip"])
@pytest.mark.parametrize("schema", [{"type": "string", "format": "binary"}, {}, None])
def test_a_body_of_bytes_is_one_file(media: str, schema: Any) -> None:
    operation = posting({media: {"schema": schema}})
    assert operation.body is not None
    assert (operation.body.media_type, operation.body.binary) == (media, frozenset({""}))
    assert operation.human_schema is not None
    assert operation.llm_schema["properties"] == {}


@pytest.mark.parametrize(
    ("media", "schema", "made"),
    [
        ("text/plain", OBJECT, TEXT),
        ("text/csv", {"type": "string", "maxLength": 9}, {"type": "string", "maxLength": 9}),
        ("application/graphql", TEXT, TEXT),
        ("application/xml", TEXT, TEXT),
    ],
)
def test_a_body_of_text_is_text(media: str, schema: Any, made: Any) -> None:
    found = body({media: {"schema": schema}})
    assert (found.schema, found.binary) == (made, frozenset())


@pytest.mark.parametrize(
    ("media", "schema", "written", "is_file"),
    [
        ("*/*", {"type": "string", "format": "binary"}, "application/octet-stream", True),
        ("*/*", OBJECT, "application/json", False),
        ("image/*", {"type": "string", "format": "binary"}, "image/*", True),
        ("text/*", TEXT, "text/plain", False),
    ],
)
def test_a_range_is_written_as_what_the_schema_says(media: str, schema: Any, written: str, is_file: bool) -> None:
    found = body({media: {"schema": schema}})
    assert (found.media_type, bool(found.binary)) == (written, is_file)


def test_what_is_no_media_type_never_reaches_a_header() -> None:
    bad = "application/json\r\nX-Evil: 1"
    assert body({bad: {}, "text/plain": {}}).media_type == "text/plain"
    made = document({"/t": {"post": {"requestBody": {"content": {bad: {}}}}}})
    assert "no media type" in converted(made).excluded[0].reason
    assert "\n" not in converted(made).excluded[0].reason


@pytest.mark.parametrize("media", ["application/xml", "application/soap+xml", "multipart/mixed", "multipart/related"])
def test_a_body_that_cannot_be_written_excludes_its_operation(media: str) -> None:
    made = document({"/t": {"post": {"requestBody": {"content": {media: {"schema": OBJECT}}}}}})
    assert "cannot be written" in converted(made).excluded[0].reason


def test_a_form_that_is_no_object_excludes_its_operation() -> None:
    made = document({"/t": {"post": {"requestBody": {"content": {"multipart/form-data": {"schema": TEXT}}}}}})
    assert "not an object" in converted(made).excluded[0].reason


def test_a_form_without_properties_is_an_object() -> None:
    assert body({"multipart/form-data": {}}).schema == {"type": "object"}


@pytest.mark.parametrize("request_body", [None, {}, {"content": {}}, {"required": True, "content": None}])
def test_no_content_is_no_body(request_body: Any) -> None:
    assert only(document({"/t": {"post": {"requestBody": request_body}}})).body is None


def field(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "formData", "type": kind, **more}


def test_form_fields_of_swagger_2_are_a_form() -> None:
    fields = [field("f", "file", required=True), field("n", "string", description="A note.")]
    paths = {"/t": {"post": {"consumes": ["multipart/form-data"], "parameters": fields}}}
    found = only(swagger(paths)).body
    assert found is not None
    assert (found.media_type, found.binary, found.required) == ("multipart/form-data", frozenset({"f"}), True)
    assert found.schema["properties"]["n"] == {"type": "string", "description": "A note."}
    assert found.schema["required"] == ["f"]


@pytest.mark.parametrize(
    ("consumes", "media"),
    [
        ([], "application/x-www-form-urlencoded"),
        (["application/json"], "application/x-www-form-urlencoded"),
        (["multipart/form-data"], "multipart/form-data"),
        (["multipart/form-data", "application/x-www-form-urlencoded"], "application/x-www-form-urlencoded"),
    ],
)
def test_a_form_of_swagger_2_has_the_media_type_it_consumes(consumes: list[str], media: str) -> None:
    fields = [field("tags", "array", items=TEXT, collectionFormat="multi")]
    found = only(swagger({"/t": {"post": {"parameters": fields}}}, consumes=consumes)).body
    assert found is not None
    assert found.media_type == media
    assert found.encodings == {"tags": Encoding(style="form", explode=True)}


def test_a_body_of_swagger_2_has_the_media_type_it_consumes() -> None:
    parameter = {"name": "whatever", "in": "body", "required": True, "schema": OBJECT, "description": "It."}
    made = swagger({"/t": {"post": {"parameters": [parameter]}}}, consumes=["application/vnd.x+json"])
    found = only(made).body
    assert found == Body("application/vnd.x+json", True, {"description": "It.", **OBJECT})


def test_a_body_beside_a_form_excludes_the_operation() -> None:
    parameters = [{"name": "b", "in": "body", "schema": OBJECT}, field("n", "string")]
    assert "more than one body" in converted(swagger({"/t": {"post": {"parameters": parameters}}})).excluded[0].reason
