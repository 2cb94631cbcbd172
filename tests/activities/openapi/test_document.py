import json
from datetime import date
from typing import Any

import pytest

from activities.openapi.document import MAX_BYTES, load_document
from activities.openapi.operation import DocumentInvalid
from activities.openapi.yaml_text import MAX_DEPTH


@pytest.mark.parametrize(
    "data",
    [
        '{"a": [1, "é"]}',
        b'\xef\xbb\xbf{"a": [1, "\xc3\xa9"]}',
        '{"a": [1, "é"]}'.encode("utf-16"),
        "a:\n  - 1\n  - é\n",
        "{a: [1, é]}",
        {"a": (1, "é")},
    ],
)
def test_json_yaml_and_objects_are_read_alike(data: Any) -> None:
    assert load_document(data) == {"a": [1, "é"]}


def test_what_json_cannot_say_is_made_harmless() -> None:
    text = '{"a": NaN, "b": 1e999, "c": "\\ud800", "\\udc00": 1, "d": %s}' % ("9" * 3_000)
    assert load_document(text) == {"a": None, "b": None, "c": "\ufffd", "\ufffd": 1, "d": None}


def test_an_object_of_another_loader_gets_text_keys_and_texts() -> None:
    made: Any = {200: {True: date(2024, 1, 2)}}
    assert load_document(made) == {"200": {"True": "2024-01-02"}}


def test_shared_parts_are_written_out() -> None:
    read = load_document("a: &x {b: 1}\nc: *x")
    assert read["a"] == read["c"]
    assert read["a"] is not read["c"]


def test_aliases_that_multiply_are_refused_before_they_do() -> None:
    levels = "".join(f"  - &a{level} [{','.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 12))
    with pytest.raises(DocumentInvalid, match="more than 2,000,000 values"):
        load_document(f"x:\n  - &a0 [x, x, x, x, x, x, x, x, x, x]\n{levels}")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("<!doctype html><html></html>", "a web page"),
        ("", "empty"),
        ("just words", "not an object"),
        ("[1]", "not an object"),
        ('{"a": 1, "a": 2}', "'a' stands twice"),
        ('{"a": }}', "neither JSON .* nor YAML"),
        ('{"a":' + "[" * 100_000, "nested too deeply"),
        ('{"a":' + "[" * (MAX_DEPTH + 5) + "]" * (MAX_DEPTH + 5) + "}", "nested more than"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"\x80\x81", "UTF-8"),
        (b" " * (MAX_BYTES + 1), "bytes"),
    ],
)
def test_what_is_no_document_is_refused_with_one_reason(data: Any, said: str) -> None:
    with pytest.raises(DocumentInvalid, match=said):
        load_document(data)


def test_an_object_that_contains_itself_is_refused() -> None:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    with pytest.raises(DocumentInvalid, match="nested"):
        load_document(circle)


def test_a_document_survives_being_read_as_json_and_as_yaml() -> None:
    made: dict[str, Any] = {"openapi": "3.1.0", "x": [None, True, 1, 1.5, "no", "2024-01-01", {"y": {}}]}
    assert load_document(json.dumps(made)) == made
