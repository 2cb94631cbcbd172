"""Whatever arguments an operation takes, a server that knows OpenAPI reads the same ones from the request."""

import asyncio
import base64
import string
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.credentials import Security
from activities.http_client import HttpClient
from activities.http_connection import HttpConnection
from activities.http_function import HttpOptions, http_function
from activities.openapi.operation import FILE_SCHEMA, Operation, Parameter
from activities.tool import ToolContext
from tests.activities.openapi.decoding import decoded
from tests.activities.openapi.making import body, operation, parameter
from tests.activities.recording import Recorded, RecordingServer

CONTEXT = ToolContext("t", "c", "u", None, "p", "abc123xyz", "t:abc123xyz", 1)
CASES = settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

ARRAY: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
NUMBERS: dict[str, Any] = {"type": "array", "items": {"type": "integer"}}
OBJECT: dict[str, Any] = {
    "type": "object",
    "properties": {"R": {"type": "integer"}, "über": {"type": "string"}, "a b": {"type": "boolean"}},
    "additionalProperties": False,
}
SCALARS: list[dict[str, Any]] = [{"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}]
# Every character that means something to a URL, a form, a header or a server, and some that mean nothing.
HOSTILE = st.sampled_from([*list("/?#&=+%.;,:@!$'()*[]{}|\\\"<>^` ~-_"), "..", "%2e", "%2F", "é", "日本", "🙂", "\t"])
TEXT = st.lists(st.one_of(HOSTILE, st.sampled_from(string.ascii_letters + string.digits)), max_size=12).map("".join)
ANY_TEXT = st.one_of(TEXT, st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
IN_PATH = TEXT.filter(lambda text: text != "" and "\t" not in text and not reads_as_dots(text))
IN_HEADER = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**12), 10**12), st.floats(-1e9, 1e9), ANY_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(ANY_TEXT, inner, max_size=3)),
    max_leaves=8,
)


def reads_as_dots(text: str) -> bool:
    """Deliberately wider than what is refused: such values have tests of their own."""
    return "." in text or "%" in text


class World:
    """A server, a client, and one loop for both."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner
        self.server = RecordingServer()
        self.client = HttpClient()
        runner.run(self.server.__aenter__())

    def received(self, made: Operation, arguments: dict[str, Any]) -> Recorded:
        tool = http_function(
            made,
            client=self.client,
            security=Security({}),
            connection=HttpConnection(f"{self.server.url}/base/"),
            options=HttpOptions(allow_private_addresses=True),
        )

        async def call() -> None:
            value = await tool.bind(arguments)(CONTEXT)
            assert value["status"] == 200

        self._runner.run(call())
        request = self.server.requests.pop()
        assert request.target.startswith("/base/")
        return Recorded(request.method, request.target.removeprefix("/base"), request.headers, request.body)

    def close(self) -> None:
        self._runner.run(self.client.aclose())
        self._runner.run(self.server.__aexit__())


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with asyncio.Runner() as runner:
        made = World(runner)
        yield made
        made.close()


def values(schema: dict[str, Any], text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Values of the small schemas above. What an empty list or object means on the wire, no rule says."""
    match schema["type"]:
        case "string":
            return text
        case "integer":
            return st.integers(-(10**15), 10**15)
        case "number":
            return st.floats(-1e12, 1e12).map(lambda value: value + 0.0)
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(values(schema["items"], text), min_size=1, max_size=4)
    members = {key: values(inner, text) for key, inner in schema["properties"].items()}
    return st.fixed_dictionaries({}, optional=members).filter(bool)


def drawn(draw: st.DrawFn, parameters: list[Parameter], text: st.SearchStrategy[str]) -> dict[str, Any]:
    return {each.key: draw(values(each.schema, text)) for each in parameters if each.required or draw(st.booleans())}


@st.composite
def path_calls(draw: st.DrawFn) -> tuple[Operation, dict[str, Any]]:
    kinds = [draw(st.sampled_from([*SCALARS, ARRAY, NUMBERS, OBJECT])) for _ in range(2)]
    parameters = [
        parameter(
            "path", name, kind, style=draw(st.sampled_from(["simple", "label", "matrix"])), explode=draw(st.booleans())
        )
        for name, kind in zip("ab", kinds, strict=True)
    ]
    template = draw(st.sampled_from(["/x/{a}/{b}", "/x/{a}/y/{b}:act", "/{a}/v{b}", "/{b}/of/{a}/"]))
    # A label's own dot before a slash reads as a dot segment, and is refused.
    text = IN_PATH.filter(lambda value: not set(";=") & set(value) and value[0] not in "/\\")
    return operation("DELETE", template, *parameters), drawn(draw, parameters, text)


@given(path_calls())
@CASES
def test_path_values_arrive_in_their_own_segment(world: World, call: tuple[Operation, dict[str, Any]]) -> None:
    made, arguments = call
    assert decoded(made, world.received(made, arguments)) == arguments


@st.composite
def query_calls(draw: st.DrawFn) -> tuple[Operation, dict[str, Any]]:
    style, schema = draw(
        st.sampled_from(
            [("form", schema) for schema in (*SCALARS, ARRAY, NUMBERS, OBJECT)]
            + [
                (style, schema)
                for style in ("spaceDelimited", "pipeDelimited", "tabDelimited")
                for schema in (ARRAY, NUMBERS)
            ]
            + [("deepObject", OBJECT)]
        )
    )
    explode = True if style == "deepObject" else draw(st.booleans())
    reserved = draw(st.booleans()) if style == "form" and schema.get("type") == "string" else False
    parameters = [
        parameter(
            "query", "filter[name]", schema, key="filter_name", style=style, explode=explode, allow_reserved=reserved
        ),
        parameter("query", "$top", {"type": "integer"}, key="top", required=draw(st.booleans())),
        parameter("query", "q&q=", {"type": "string"}, key="q"),
    ]
    text = ANY_TEXT.filter(lambda value: not set(" |\t") & set(value))
    return operation("GET", "/s", *parameters), {"query": drawn(draw, parameters, text)}


@given(query_calls())
@CASES
def test_query_values_arrive_whole(world: World, call: tuple[Operation, dict[str, Any]]) -> None:
    made, arguments = call
    expected = {key: value for key, value in arguments.items() if value}
    assert decoded(made, world.received(made, arguments)) == expected


@st.composite
def header_calls(draw: st.DrawFn) -> tuple[Operation, dict[str, Any]]:
    array, record = {"type": "array", "items": {"type": "string"}}, {**OBJECT, "properties": {"R": {"type": "integer"}}}
    headers = [
        parameter("header", "X-One", draw(st.sampled_from([*SCALARS, array, record])), explode=draw(st.booleans())),
        parameter("header", "If-Match", {"type": "string"}),
        parameter(
            "header",
            "X-Json",
            {"type": "object", "properties": {"R": {"type": "integer"}}},
            media_type="application/json",
        ),
    ]
    cookies = [
        parameter("cookie", "session", {"type": "string"}),
        parameter("cookie", "n", draw(st.sampled_from([*SCALARS, ARRAY])), explode=draw(st.booleans())),
    ]
    arguments = {
        "headers": drawn(draw, headers, IN_HEADER.filter(lambda value: "," not in value)),
        "cookies": drawn(draw, cookies, ANY_TEXT),
    }
    return operation("GET", "/h", *headers, *cookies), {key: value for key, value in arguments.items() if value}


@given(header_calls())
@CASES
def test_headers_and_cookies_arrive_as_given(world: World, call: tuple[Operation, dict[str, Any]]) -> None:
    made, arguments = call
    assert decoded(made, world.received(made, arguments)) == arguments


@given(st.sampled_from(["application/json", "application/merge-patch+json", "text/plain"]), st.data())
@CASES
def test_json_and_text_bodies_arrive_unchanged(world: World, media_type: str, data: st.DataObject) -> None:
    value = data.draw(ANY_TEXT if media_type == "text/plain" else JSON)
    made = operation("PATCH", "/b", parameter("query", "q", media_type="application/json"), body=body(media_type))
    inside = data.draw(JSON.filter(lambda inner: inner is not None))
    received = world.received(made, {"query": {"q": inside}, "body": value})
    assert received.header("Content-Type") == (
        "text/plain; charset=utf-8" if media_type == "text/plain" else media_type
    )
    assert decoded(made, received) == {"query": {"q": inside}, "body": value}


FORM = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "rows": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "meta": {"type": "object"},
        "lines": {"type": "array", "items": {"type": "object"}},
    },
}


@st.composite
def form_values(draw: st.DrawFn, text: st.SearchStrategy[str]) -> dict[str, Any]:
    objects = st.dictionaries(text, JSON, max_size=3)
    members = {
        "text": text,
        "rows": st.integers(),
        "tags": st.lists(text, min_size=1, max_size=3),
        "meta": objects,
        "lines": st.lists(objects, min_size=1, max_size=2),
    }
    return draw(st.fixed_dictionaries({}, optional=members))


@given(form_values(ANY_TEXT))
@CASES
def test_urlencoded_forms_arrive_field_by_field(world: World, value: dict[str, Any]) -> None:
    made = operation("POST", "/f", body=body("application/x-www-form-urlencoded", FORM))
    assert decoded(made, world.received(made, {"body": value})) == {"body": value}


@given(form_values(TEXT), st.lists(st.binary(max_size=64), max_size=2), st.sampled_from(["a.png", "ü b.txt", 'q".txt']))
@CASES
def test_multipart_forms_arrive_with_their_files(
    world: World, value: dict[str, Any], contents: list[bytes], name: str
) -> None:
    schema = {**FORM, "properties": {**FORM["properties"], "files": {"type": "array", "items": FILE_SCHEMA}}}  # type: ignore[dict-item]
    made = operation("POST", "/f", body=body("multipart/form-data", schema, binary=frozenset({"files"})))
    files = [
        {"filename": name, "mediaType": "image/png", "base64": base64.b64encode(content).decode()}
        for content in contents
    ]
    received = decoded(made, world.received(made, {"body": {**value, **({"files": files} if files else {})}}))
    arrived = received["body"].pop("files", [])
    assert [file["content"] for file in arrived] == contents
    assert all(file["mediaType"] == "image/png" for file in arrived)
    assert received["body"] == value
