"""Whole documents: which operations become functions, and what each of them is."""

import json
import random
from typing import Any

import pytest

from activities.json_schema import broken_schema, schema_fault
from activities.openapi.conversion import Options, read_document
from activities.openapi.dialect import dialect_faults
from activities.openapi.operation import ApiDocument, DocumentInvalid
from activities.openapi.parameters import MAX_PARAMETERS
from activities.openapi.separation import is_secret
from benchmarks.functions_document import make_document
from tests.activities.openapi.documents import (
    SHARED,
    Json,
    converted,
    document,
    only,
    posting,
    querying,
    ref,
)

REAL = {
    "alertmanager.2.0": (9, ""),
    "rekor.2.0": (8, "http://rekor.sigstore.dev"),
    "petstore.3.0": (19, "https://petstore3.swagger.io/api/v3"),
    "uspto.3.0": (3, "https://developer.uspto.gov/ds-api"),
    "xero-files.3.0": (18, "https://api.xero.com/files.xro/1.0"),
    "tictactoe.3.1": (3, ""),
}


def real(name: str) -> ApiDocument:
    file = SHARED / f"{name}.yaml"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    return read_document(file.read_bytes())


@pytest.mark.parametrize(("name", "count", "base"), [(name, *expected) for name, expected in REAL.items()])
def test_every_operation_of_a_real_document_becomes_a_function(name: str, count: int, base: str) -> None:
    found = real(name)
    assert len(found.operations) == count
    assert found.excluded == ()
    assert {each.base_url for each in found.operations} == {base}
    assert all(each.operation_id for each in found.operations)
    for each in found.operations:
        assert dialect_faults(each.llm_schema, strict=False) == []
        assert broken_schema(each.input_schema) is None


def test_swagger_2_with_references_maps_and_repeated_parameters() -> None:
    made = {each.operation_id: each for each in real("alertmanager.2.0").operations}
    silences = {each.name: each for each in made["getSilences"].parameters}
    assert (silences["filter"].style, silences["filter"].explode) == ("form", True)
    assert silences["active"].schema["default"] is True
    assert not silences["active"].required
    assert [each.name for each in made["getReceivers"].parameters] == ["receiver_matchers"]
    assert [each.name for each in made["deleteSilence"].parameters] == ["silenceID"]
    alert = made["postAlerts"].input_schema["properties"]["body"]["items"]
    assert {"labels", "generatorURL", "startsAt", "annotations"} <= alert["properties"].keys()
    assert '"additionalProperties": {"type": "string"}' in json.dumps(made["postAlerts"].input_schema)


def test_references_to_files_that_are_not_there_are_told_and_followed_when_they_are() -> None:
    found = real("rekor.2.0")
    assert len([each for each in found.warnings if "ProposedEntry" in each]) == 11
    text = (SHARED / "rekor.2.0.yaml").read_bytes()
    spec = {"type": "object", "properties": {"content": {"type": "string"}}, "additionalProperties": False}
    whole = read_document(
        text, url="https://h/openapi.yaml", options=Options(external=lambda _: json.dumps(spec).encode())
    )
    assert whole.warnings == ()
    made = {each.operation_id: each for each in whole.operations}
    entry = {"kind": "rekord", "apiVersion": "0.0.1", "spec": {"content": "x"}}
    assert schema_fault(made["createLogEntry"].input_schema, {"body": entry}, "$") is None
    assert schema_fault(made["createLogEntry"].input_schema, {"body": {**entry, "kind": "other"}}, "$") is not None


def test_three_media_types_a_binary_body_and_a_header_that_is_a_credential() -> None:
    made = {each.operation_id: each for each in real("petstore.3.0").operations}
    assert made["addPet"].body is not None
    assert made["addPet"].body.media_type == "application/json"
    assert made["addPet"].success_types == ("application/json", "application/xml")
    assert made["uploadFile"].body is not None
    assert made["uploadFile"].body.binary == {""}
    assert [each.name for each in made["deletePet"].parameters] == ["petId"]
    assert made["getPetById"].security == (("api_key",), ("petstore_auth",))


def test_a_form_with_defaults_that_are_told_and_hyphens_in_ids() -> None:
    made = {each.operation_id: each for each in real("uspto.3.0").operations}
    search = made["perform-search"]
    assert search.body is not None
    assert search.body.media_type == "application/x-www-form-urlencoded"
    assert search.body.schema["properties"]["rows"]["default"] == 100
    assert search.body.schema["required"] == ["criteria"]
    assert made["list-data-sets"].name == "get"
    assert read_document((SHARED / "uspto.3.0.yaml").read_text(), options=Options(naming="operationId")).operations[
        0
    ].name == ("list-data-sets")


def test_a_header_required_by_every_path_an_upload_and_two_templates_of_one_shape() -> None:
    found = real("xero-files.3.0")
    for each in found.operations:
        assert "xero-tenant-id" in each.input_schema["properties"]["headers"]["required"]
        assert "Idempotency-Key" not in each.input_schema["properties"]["headers"]["properties"]
    made = {each.operation_id: each for each in found.operations}
    assert made["uploadFile"].body is not None
    assert made["uploadFile"].body.binary == {"body"}
    assert made["uploadFile"].human_schema is not None
    assert made["getFile"].name != made["uploadFileToFolder"].name
    supplied = frozenset({("header", "Xero-Tenant-Id")})
    text = (SHARED / "xero-files.3.0.yaml").read_bytes()
    for each in read_document(text, options=Options(supplied=supplied)).operations:
        assert "headers" not in each.input_schema["properties"]


def test_webhooks_and_callbacks_are_no_functions_and_a_body_may_be_one_word() -> None:
    found = real("tictactoe.3.1")
    assert [each.name for each in found.operations] == [
        "board_get",
        "board_getByRowAndColumn",
        "board_putByRowAndColumn",
    ]
    put = found.operations[2]
    assert put.input_schema["properties"]["body"]["enum"] == [".", "X", "O"]
    assert put.input_schema["properties"]["row"]["maximum"] == 3
    assert put.security == (("bearerHttpAuthentication",), ("user2AppOauth",))
    assert found.security_schemes["bearerHttpAuthentication"].scheme == "bearer"


def test_a_document_of_700_operations_becomes_700_functions() -> None:
    found = read_document(json.dumps(make_document()))
    assert len(found.operations) == 700
    assert (found.excluded, found.warnings) == ((), ())
    assert len({each.name.lower() for each in found.operations}) == 700
    assert all(len(json.dumps(each.input_schema)) < 8_000 for each in found.operations)


def test_a_wide_schema_used_everywhere_does_not_multiply() -> None:
    wide = {"type": "object", "properties": {f"p{place}": {"type": "string"} for place in range(200)}}
    body = {"type": "object", "properties": {word: ref("Wide") for word in ("before", "after", "draft")}}
    paths = {f"/x{place}": posting(body)["paths"]["/t"] for place in range(300)}
    found = converted(document(paths, schemas={"Wide": wide}))
    assert len(found.operations) == 300
    assert all(len(json.dumps(each.input_schema)) < 10_000 for each in found.operations)


BAD: dict[str, tuple[Json, str]] = {
    "an unknown reference": ({"requestBody": {"$ref": "#/components/requestBodies/None"}}, "not there"),
    "another document": ({"parameters": [{"$ref": "other.yaml#/x"}]}, "references to other documents are not followed"),
    "no object": ({"parameters": "x"}, "`parameters` is not a list"),
    "only for people": ({"x-samchon-human": True}, "keeps it for people"),
}


@pytest.mark.parametrize(("operation", "said"), BAD.values(), ids=BAD.keys())
def test_a_bad_operation_loses_itself_and_nothing_else(operation: Json, said: str) -> None:
    found = converted(document({"/bad": {"get": operation, "put": {}}, "/good": {"get": {}}}))
    assert [(each.method, each.path) for each in found.operations] == [("PUT", "/bad"), ("GET", "/good")]
    [excluded] = found.excluded
    assert (excluded.method, excluded.path) == ("GET", "/bad")
    assert said in excluded.reason


@pytest.mark.parametrize(
    ("node", "text"),
    [
        ({"summary": "List.", "description": "All of them."}, "List.\n\nAll of them."),
        ({"summary": "List.", "description": "List all of them."}, "List all of them."),
        ({"summary": "List."}, "List."),
        ({"description": " d "}, "d"),
        ({}, ""),
        ({"description": "d" * 2_000}, "d" * 1_023 + "…"),
    ],
)
def test_the_description_is_summary_and_text_and_is_shortened_not_dropped(node: Json, text: str) -> None:
    assert only(document({"/t": {"get": node}})).description == text


def test_tags_and_deprecation_are_kept() -> None:
    operation = only(document({"/t": {"get": {"tags": ["a", 7, "b"], "deprecated": True}}}))
    assert operation.tags == ("a", "b")
    assert operation.deprecated


def test_parts_can_be_checked_alone() -> None:
    node = {"type": "object", "properties": {"next": ref("Node")}, "additionalProperties": False}
    operation = only(posting(ref("Node"), schemas={"Node": node}))
    assert operation.body is not None
    alone = operation.closed(operation.body.schema)
    assert schema_fault(alone, {"next": {"next": {}}}, "$") is None
    assert schema_fault(alone, {"next": {"next": {"x": 1}}}, "$") is not None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("<html></html>", "web page"),
        ('{"a": 1}', "neither `openapi` nor `swagger`"),
        ('{"openapi": "3.0.0", "paths": []}', "`paths` are not an object"),
        ('{"swaggerVersion": "1.2"}', "1.2 is not read"),
    ],
)
def test_what_is_not_openapi_at_all_is_one_error(data: str, said: str) -> None:
    with pytest.raises(DocumentInvalid, match=said):
        read_document(data)


def test_parts_that_many_operations_share_do_not_make_endless_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("activities.openapi.definitions.MAX_SCHEMAS_TOTAL", 1_000)
    wide = {"type": "object", "properties": {f"p{place}": {"type": "string"} for place in range(100)}}
    shared = {"post": {"requestBody": {"content": {"application/json": {"schema": ref("Wide")}}}}}
    made = document({f"/{place}": {"$ref": "#/components/pathItems/P"} for place in range(50)}, schemas={"Wide": wide})
    made["components"]["pathItems"] = {"P": shared}
    found = converted(made)
    assert 1 < len(found.operations) < 20
    assert len(found.operations) + len(found.excluded) == 50
    assert "too large together" in found.excluded[0].reason


def test_what_is_read_for_many_operations_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("activities.openapi.schemas.MAX_READ_TOTAL", 200)
    many = querying(*({"name": f"q{place}", "in": "query", "schema": {}} for place in range(90)))["paths"]["/t"]
    made = document(
        {f"/{place}": {"$ref": "#/components/pathItems/P"} for place in range(5)}, components={"pathItems": {"P": many}}
    )
    found = converted(made)
    assert (len(found.operations), len(found.excluded)) == (1, 4)


def test_an_operation_of_countless_parameters_is_excluded() -> None:
    many = ({"name": f"q{place}", "in": "query", "schema": {}} for place in range(MAX_PARAMETERS + 1))
    assert "201 parameters" in converted(querying(*many)).excluded[0].reason


def test_a_document_without_paths_has_no_operations() -> None:
    found = read_document({"openapi": "3.1.0", "webhooks": {}})
    assert (found.title, found.version, found.operations, found.excluded) == ("", "", (), ())


JUNK: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        "",
        "x",
        "#/",
        [],
        {},
        [[]],
        10**30,
        {"$ref": "#"},
        {"$ref": 3},
        {"$ref": "#/paths"},
        {"$ref": "x.yaml"},
    ),
    *(
        {"type": ["string", 7]},
        {"allOf": [{}]},
        {"oneOf": [False]},
        {"discriminator": "kind"},
        {"properties": {"": {}}},
    ),
    *(
        {"items": [{}]},
        {"type": "file"},
        {"required": True},
        {"enum": [None]},
        {"format": "password"},
        {"in": "cookie", "name": "q"},
    ),
)


@pytest.mark.parametrize("seed", range(60))
def test_no_damage_to_a_document_does_more_than_cost_operations(seed: int) -> None:
    """Whatever stands in the wrong place, each operation is a usable function or is excluded with a reason."""
    chance = random.Random(seed)
    made = json.loads(json.dumps(make_document(14)))
    places = list(_places(made))
    for _ in range(chance.choice([1, 3, 20])):
        holder, key = chance.choice(places)
        elsewhere, other = chance.choice(places)
        holder[key] = chance.choice([*JUNK, json.loads(json.dumps(elsewhere[other]))])
    try:
        found = read_document(made, url="https://h/openapi.json", options=Options(separate=is_secret))
    except DocumentInvalid:
        return
    for each in found.operations:
        assert dialect_faults(each.llm_schema, strict=False) == []
        for schema in (each.input_schema, each.llm_schema, each.human_schema, each.output_schema):
            assert schema is None or broken_schema(schema) is None


def _places(node: Any) -> Any:
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield node, key
        yield from _places(value)
