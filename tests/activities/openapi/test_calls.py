"""From a document to what its server receives: conversion and call agree on every name, style and place."""

import json
import re
from typing import Any

import pytest

from activities.credentials import Security
from activities.function_schema import ArgumentsInvalidError
from activities.http_client import HttpClient
from activities.http_connection import HttpConnection
from activities.http_function import HttpOptions, http_function
from activities.openapi.conversion import Options, read_document
from activities.openapi.operation import ApiDocument
from activities.tool import Tool, ToolContext
from tests.activities.recording import Recorded, RecordingServer

CONTEXT = ToolContext("t", "c", "u", None, "p", "abc123xyz", "t:abc123xyz", 1)
OK_RESPONSE = {"responses": {"200": {"description": "ok"}}}
PNG = {"filename": "a.png", "mediaType": "image/png", "base64": "AAEC"}


def converted(paths: dict[str, Any], **members: Any) -> ApiDocument:
    version = {} if "swagger" in members else {"openapi": "3.0.3"}
    document = read_document({**version, "info": {"title": "t", "version": "1"}, "paths": paths, **members})
    assert document.excluded == ()
    return document


def posted(content: dict[str, Any], *parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "post": {**OK_RESPONSE, "parameters": list(parameters), "requestBody": {"required": True, "content": content}}
    }


async def sent(document: ApiDocument, method: str, path: str, arguments: dict[str, Any]) -> Recorded:
    """What the server receives of one call."""
    async with RecordingServer() as server:
        client = HttpClient()
        await tool_of(document, method, path, server.url, client).bind(arguments)(CONTEXT)
        await client.aclose()
        return server.requests[0]


def tool_of(document: ApiDocument, method: str, path: str, url: str, client: HttpClient | None = None) -> Tool:
    operation = next(each for each in document.operations if (each.method, each.path) == (method, path))
    return http_function(
        operation,
        client=client or HttpClient(),
        security=Security(document.security_schemes),
        connection=HttpConnection(url),
        options=HttpOptions(allow_private_addresses=True),
    )


MAPS: dict[str, Any] = {
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "any": {"type": "object"},
    "more": {"additionalProperties": {}},
    "closed": {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
}
ITEMS = converted(
    {
        "/items/{itemId}": {
            "parameters": [
                {"name": "itemId", "in": "path", "required": True, "schema": {"type": "string"}},
                {"name": "x-tenant", "in": "header", "required": True, "schema": {"type": "string"}},
                {"name": "v", "in": "query", "schema": {"type": "string"}},
            ],
            "get": {
                **OK_RESPONSE,
                "parameters": [
                    {"name": "itemId", "in": "path", "required": True, "schema": {"type": "integer"}},
                    {"name": "v", "in": "header", "schema": {"type": "string"}},
                ],
            },
            "delete": OK_RESPONSE,
        }
    }
)


async def test_parameters_of_path_and_operation_arrive_together() -> None:
    got = await sent(ITEMS, "DELETE", "/items/{itemId}", {"itemId": "7", "headers": {"x-tenant": "t1"}})
    assert (got.method, got.target, got.header("x-tenant")) == ("DELETE", "/items/7", "t1")
    both = {"itemId": 7, "query": {"v": "q"}, "headers": {"x-tenant": "t1", "v": "h"}}
    got = await sent(ITEMS, "GET", "/items/{itemId}", both)
    assert (got.target, got.header("v")) == ("/items/7?v=q", "h")


def test_missing_path_value_is_told_to_the_model_and_not_sent() -> None:
    tool = tool_of(ITEMS, "DELETE", "/items/{itemId}", "http://127.0.0.1:1")
    with pytest.raises(ArgumentsInvalidError, match=r"\$input\.itemId"):
        tool.bind({"headers": {"x-tenant": "t1"}})


async def test_names_that_no_model_may_see_arrive_as_they_are() -> None:
    long = "q" * 70
    names = ["filter[name]", "filter.name", "$top", long]
    parameters: list[dict[str, Any]] = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]
    parameters.append({"name": "tags", "in": "query", "schema": {"type": "array"}})
    schema = {"type": "object", "properties": {"@type": {"type": "string"}, "a b": {"$ref": "#/components/schemas/In"}}}
    inner = {
        "In": {"type": "object", "properties": {"$id": {"type": "integer"}, "in": {"$ref": "#/components/schemas/In"}}}
    }
    document = converted(
        {"/x": posted({"application/json": {"schema": schema}}, *parameters)}, components={"schemas": inner}
    )
    operation = document.operations[0]
    keys = {each.name: each.key for each in operation.parameters}
    deep = {name: key for key, name in operation.body.renamed.items()} if operation.body else {}
    body = {deep["@type"]: "t", deep["a b"]: {deep["$id"]: 1, "in": {deep["$id"]: 2}}}
    query = {**{keys[name]: "v" for name in names}, "tags": ["a", 1]}
    got = await sent(document, "POST", "/x", {"query": query, "body": body})
    assert got.target == f"/x?filter%5Bname%5D=v&filter.name=v&$top=v&{long}=v&tags=a&tags=1"
    assert got.body == b'{"@type":"t","a b":{"$id":1,"in":{"$id":2}}}'


@pytest.mark.parametrize(
    ("content", "body", "content_type", "said"),
    [
        (
            {"application/x-www-form-urlencoded": {"schema": {"properties": {"text": {"type": "string"}}}}},
            {"text": "a b"},
            "application/x-www-form-urlencoded",
            b"text=a+b",
        ),
        (
            {"multipart/form-data": {"schema": {"type": "object"}}, "application/json": {"schema": {"type": "object"}}},
            {"x": 1},
            "application/json",
            b'{"x":1}',
        ),
        ({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}, PNG, None, b"\x00\x01\x02"),
        (
            {"application/json": {"schema": {"type": "array", "items": {"type": "integer"}}}},
            [1, 2],
            "application/json",
            b"[1,2]",
        ),
        ({"application/json": {"schema": {"type": "string"}}}, "hi", "application/json", b'"hi"'),
        ({"application/merge-patch+json": {"schema": {}}}, {"a": None}, "application/merge-patch+json", b'{"a":null}'),
        ({"text/plain": {"schema": {"type": "string"}}}, "hi", "text/plain; charset=utf-8", b"hi"),
        (
            {"application/json": {"schema": {"type": "object", "properties": MAPS}}},
            {
                "labels": {"env": "prod", "имя": "x"},
                "any": {"k": [1, {"z": None}]},
                "more": {"p": 1},
                "closed": {"a": 1},
            },
            "application/json",
            '{"labels":{"env":"prod","имя":"x"},"any":{"k":[1,{"z":null}]},"more":{"p":1},"closed":{"a":1}}'.encode(),
        ),
    ],
)
async def test_body_arrives_in_the_media_type_of_the_document(
    content: dict[str, Any], body: Any, content_type: str | None, said: bytes
) -> None:
    got = await sent(converted({"/x": posted(content)}), "POST", "/x", {"body": body})
    assert (got.header("Content-Type"), got.body) == (content_type or "application/octet-stream", said)


async def test_one_of_several_forms_arrives_as_it_is() -> None:
    def pet(**more: Any) -> dict[str, Any]:
        return {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}, **more}}

    place = "#/components/schemas/"
    discriminator = {"propertyName": "kind", "mapping": {"c": f"{place}Cat", "d": f"{place}Dog"}}
    poly = {"oneOf": [{"$ref": f"{place}Cat"}, {"$ref": f"{place}Dog"}], "discriminator": discriminator}
    schemas = {"Cat": pet(lives={"type": "integer"}), "Dog": pet(bark={"type": "string"})}
    document = converted({"/pet": posted({"application/json": {"schema": poly}})}, components={"schemas": schemas})
    for said in ({"kind": "c", "lives": 9}, {"kind": "d", "bark": "wuff"}, {"kind": "c", "lives": 9, "bark": "?"}):
        assert json.loads((await sent(document, "POST", "/pet", {"body": said})).body) == said
    with pytest.raises(ArgumentsInvalidError, match=r'kind: one of \\"c\\" or kind: one of \\"d\\"'):
        tool_of(document, "POST", "/pet", "http://127.0.0.1:1").bind({"body": {"kind": "x"}})


async def test_each_of_ids_that_cannot_be_names_calls_its_own_operation() -> None:
    long = "x" * 60
    ids = [f"{long}ListUsersByTeam", f"{long}ListUsersByRole", long, "site_readNode.jsLogs", "List everything"]
    ids += ["7qd3_run", "получитьСписок", "getUser", "getuser", "getUser"]
    given: dict[str, Any] = {"openapi": "3.0.3", "info": {}, "paths": {}}
    methods = [("put", "delete")[place % 2] for place in range(10)]
    for place, (method, own) in enumerate(zip(methods, ids, strict=True)):
        given["paths"][f"/{place}"] = {method: {**OK_RESPONSE, "operationId": own}}
    first, second = (read_document(given, options=Options(naming="operationId")) for _ in range(2))
    assert [each.name for each in first.operations] == [each.name for each in second.operations]
    assert len({each.name.lower() for each in first.operations}) == 10
    assert {each.operation_id for each in first.operations} == set(ids)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", each.name) for each in first.operations)
    reached = [await sent(first, each.method, each.path, {}) for each in first.operations]
    assert [(each.method.lower(), each.target) for each in reached] == [
        (method, f"/{place}") for place, method in enumerate(methods)
    ]


async def test_files_arrive_as_parts_of_a_form() -> None:
    properties = {
        "file": {"type": "string", "format": "binary"},
        "note": {"type": "string"},
        "public": {"type": "boolean"},
    }
    schema = {"type": "object", "required": ["file"], "properties": properties}
    document = converted({"/up": posted({"multipart/form-data": {"schema": schema}})})
    got = await sent(document, "POST", "/up", {"body": {"file": PNG, "public": True}})
    assert (got.header("Content-Type") or "").startswith("multipart/form-data; boundary=")
    assert b'name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n\x00\x01\x02\r\n' in got.body
    assert b'name="public"\r\n\r\ntrue\r\n' in got.body
    assert b'name="note"' not in got.body


async def test_swagger_2_arrives_by_its_own_rules() -> None:
    listed = {"in": "query", "type": "array", "items": {"type": "string"}}
    formats = ("csv", "ssv", "tsv", "pipes", "multi")
    parameters = [{"name": name, **listed, "collectionFormat": name} for name in formats]
    form = [{"name": "f", "in": "formData", "type": "file"}, {"name": "n", "in": "formData", "type": "string"}]
    paths = {
        "/list": {"get": {**OK_RESPONSE, "parameters": parameters}},
        "/form": {"post": {**OK_RESPONSE, "consumes": ["multipart/form-data"], "parameters": form}},
    }
    document = converted(paths, swagger="2.0", host="h", basePath="/v1", schemes=["https"])
    assert {each.base_url for each in document.operations} == {"https://h/v1"}
    got = await sent(document, "GET", "/list", {"query": {name: ["a", "b"] for name in formats}})
    assert got.target == "/list?csv=a,b&ssv=a%20b&tsv=a%09b&pipes=a%7Cb&multi=a&multi=b"
    got = await sent(document, "POST", "/form", {"body": {"f": PNG, "n": "x"}})
    assert b'filename="a.png"' in got.body
    assert b'name="n"\r\n\r\nx\r\n' in got.body
