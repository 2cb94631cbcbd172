"""From arguments to a request: everything given is in it, in its place, and nothing else."""

from dataclasses import replace
from typing import Any

import pytest

from activities.openapi.operation import Operation
from activities.openapi.request import ValueUnwritable, build_request, without_nulls
from tests.activities.openapi.making import body, operation, parameter

BASE = "https://h/api"


def url(made: Operation, arguments: dict[str, Any], base: str = BASE) -> str:
    return build_request(made, arguments, base).url


@pytest.mark.parametrize(
    ("base", "path", "address"),
    [
        ("https://h/api", "/ping", "https://h/api/ping"),
        ("https://h/api/", "/ping", "https://h/api/ping"),
        ("https://h", "/ping", "https://h/ping"),
        ("https://h:8443/v1", "/", "https://h:8443/v1/"),
        ("https://h/api", "ping", "https://h/api/ping"),
        ("https://h", "/ping?v=1", "https://h/ping?v=1"),
    ],
)
def test_base_and_path_are_joined_without_loss(base: str, path: str, address: str) -> None:
    assert url(operation("GET", path), {}, base) == address


def test_each_argument_goes_to_its_place() -> None:
    made = operation(
        "PUT",
        "/items/{itemId}",
        parameter("path", "itemId", {"type": "integer"}),
        parameter("header", "v"),
        parameter("query", "v"),
        parameter("query", "filter[name]", key="filter_name"),
        parameter("query", "where", media_type="application/json"),
        parameter("header", "X-Json", media_type="application/json"),
        parameter("cookie", "session"),
        body=body("application/json"),
    )
    arguments = {
        "itemId": 7,
        "query": {"v": "q", "filter_name": "a=b", "where": {"a": [1, None]}},
        "headers": {"v": "h", "X-Json": ["é🙂"]},
        "cookies": {"session": "a;b"},
        "body": {"a": None},
    }
    request = build_request(made, arguments, BASE)
    assert request.method == "PUT"
    assert request.url == f"{BASE}/items/7?v=q&filter%5Bname%5D=a%3Db&where=%7B%22a%22%3A%5B1%2Cnull%5D%7D"
    assert request.wire_headers() == [
        ("Accept", "application/json"),
        ("v", "h"),
        ("X-Json", '["\\u00e9\\ud83d\\ude42"]'),
        ("Content-Type", "application/json"),
        ("Cookie", "session=a%3Bb"),
    ]
    assert request.body == b'{"a":null}'


def test_keys_of_the_model_become_names_of_the_wire_at_any_depth() -> None:
    made = operation(
        "POST", "/x", body=body("application/json", renamed={"at_type": "@type", "page_size": "page[size]"})
    )
    request = build_request(made, {"body": {"at_type": "a", "list": [{"page_size": 1, "other": 2}]}}, BASE)
    assert request.body == b'{"@type":"a","list":[{"page[size]":1,"other":2}]}'


def test_defaults_and_absent_arguments_are_not_sent() -> None:
    made = operation(
        "PATCH",
        "/x",
        parameter("query", "dry", {"type": "boolean", "default": False}),
        body=body("application/json", {"properties": {"n": {"default": 10}}}),
    )
    request = build_request(made, {"body": {}}, BASE)
    assert (request.url, request.body) == (f"{BASE}/x", b"{}")
    bare = build_request(made, {}, BASE)
    assert (bare.body, [name for name, _ in bare.headers]) == (None, ["Accept"])


def test_null_counts_as_left_out_where_nothing_can_carry_it() -> None:
    made = operation(
        "PATCH",
        "/x",
        parameter("query", "tag"),
        parameter("query", "must", required=True),
        parameter("query", "json", media_type="application/json"),
        parameter("header", "X-A"),
        body=body("application/json"),
    )
    given: dict[str, Any] = {
        "query": {"tag": None, "must": None, "json": None},
        "headers": {"X-A": None},
        "body": {"note": None},
    }
    assert without_nulls(made, given) == {"query": {"must": None, "json": None}, "headers": {}, "body": {"note": None}}
    assert given["query"]["tag"] is None
    assert without_nulls(made, {"query": "no object"}) == {"query": "no object"}
    with pytest.raises(ValueUnwritable, match=r"\$input\.query\.must: expected a value, not null"):
        build_request(made, without_nulls(made, given), BASE)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "\x00", " a", "a ", "é", ["a", "b\r\n"], {"a\n": 1}])
def test_header_value_cannot_inject_lines_or_change_on_its_way(value: Any) -> None:
    with pytest.raises(ValueUnwritable) as raised:
        build_request(operation("GET", "/x", parameter("header", "X-A")), {"headers": {"X-A": value}}, BASE)
    assert raised.value.place == ("headers", "X-A")


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "authorization",
        "Content-Length",
        "transfer-encoding",
        "Connection",
        "Cookie",
        "Accept",
        "Bad Name",
        "a:b",
        "",
    ],
)
def test_headers_of_the_connection_and_of_credentials_cannot_be_arguments(name: str) -> None:
    with pytest.raises(ValueUnwritable, match="not set by arguments"):
        build_request(operation("GET", "/x", parameter("header", name)), {"headers": {name: "evil"}}, BASE)


def test_path_value_that_cannot_be_sent_names_its_argument() -> None:
    made = operation("GET", "/{a}/x/{b}", parameter("path", "a"), parameter("path", "b"))
    with pytest.raises(ValueUnwritable) as raised:
        build_request(made, {"a": "ok", "b": ".."}, BASE)
    assert (raised.value.place, raised.value.value) == (("b",), "..")
    with pytest.raises(ValueUnwritable, match=r"\$input\.b: expected a value: it stands in the path"):
        build_request(made, {"a": "ok"}, BASE)
    with pytest.raises(ValueUnwritable, match="not null"):
        build_request(made, {"a": None, "b": 1}, BASE)
    with pytest.raises(ValueUnwritable, match="not empty"):
        build_request(made, {"a": [], "b": 1}, BASE)


def test_empty_list_is_left_out_unless_its_name_must_be_there() -> None:
    optional, required = parameter("query", "a"), parameter("query", "b", required=True)
    made = operation("GET", "/x", optional, required, parameter("header", "X-L"))
    request = build_request(made, {"query": {"a": [], "b": []}, "headers": {"X-L": []}}, BASE)
    assert request.url == f"{BASE}/x?b="
    assert [name for name, _ in request.headers] == ["Accept"]


def test_body_that_cannot_be_written_names_the_body() -> None:
    made = operation("POST", "/x", body=body("multipart/form-data", binary=frozenset({"f"})))
    with pytest.raises(ValueUnwritable, match=r"\$input\.body: expected base64 text"):
        build_request(made, {"body": {"f": {"base64": "?"}}}, BASE)


def test_it_accepts_what_the_document_says_it_may_get() -> None:
    made = operation("GET", "/x", success_types=("application/json", "text/csv"))
    assert build_request(made, {}, BASE).headers == (("Accept", "application/json, text/csv"),)
    assert build_request(replace(made, success_types=()), {}, BASE).headers == (("Accept", "*/*"),)
