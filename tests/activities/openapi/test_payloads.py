"""A body is sent as its media type says, or not at all."""

from typing import Any

import pytest

from activities.openapi.faults import Unwritable
from activities.openapi.operation import Encoding
from activities.openapi.payloads import unwritable_body, write_body
from tests.activities.openapi.making import body

FILE = {"filename": 'a"b.png', "mediaType": "image/png", "base64": "AAEC"}


@pytest.mark.parametrize(
    ("media_type", "value", "content_type", "content"),
    [
        ("application/json", {"note": None, "ü": 1}, "application/json", '{"note":null,"ü":1}'.encode()),
        ("application/json", [1, 2], "application/json", b"[1,2]"),
        ("application/json", "hi", "application/json", b'"hi"'),
        ("application/json", None, "application/json", b"null"),
        ("application/vnd.api+json; ext=x", {}, "application/vnd.api+json; ext=x", b"{}"),
        ("*/*", {"a": 1}, "application/json", b'{"a":1}'),
        ("text/plain", "grüße", "text/plain; charset=utf-8", "grüße".encode()),
        ("text/csv; charset=latin-1", 7, "text/csv; charset=utf-8", b"7"),
        ("application/xml", "<a/>", "application/xml", b"<a/>"),
        ("application/x-www-form-urlencoded", {"q": "a b&c", "n": None}, None, b"q=a+b%26c"),
        ("application/x-www-form-urlencoded", {"t": [1, 2], "o": {"a": 1}}, None, b"t=1&t=2&o=%7B%22a%22%3A1%7D"),
        ("application/x-www-form-urlencoded", {}, None, b""),
        ("application/x-www-form-urlencoded", {"a": 0, "b": False, "c": "", "d": []}, None, b"a=0&b=false&c="),
    ],
)
def test_value_is_written(media_type: str, value: Any, content_type: str | None, content: bytes) -> None:
    assert write_body(body(media_type, {"type": "string"}), value) == (content_type or media_type, content)


def test_whole_body_may_be_a_file() -> None:
    assert write_body(body("application/octet-stream", binary=frozenset({""})), FILE) == (
        "application/octet-stream",
        b"\x00\x01\x02",
    )
    assert write_body(body("image/*", binary=frozenset({""})), FILE)[0] == "image/png"


def test_form_property_follows_its_encoding() -> None:
    encodings = {
        "a": Encoding(style="form", explode=False),
        "b": Encoding(style="deepObject", explode=True),
        "c": Encoding(content_type="application/json"),
        "d": Encoding(allow_reserved=True),
    }
    form = body("application/x-www-form-urlencoded", encodings=encodings)
    _, content = write_body(form, {"a": [1, 2], "b": {"x": 1}, "c": [1], "d": "/a?b"})
    assert content == b"a=1,2&b%5Bx%5D=1&c=%5B1%5D&d=/a?b"


def test_multipart_has_a_part_for_each_value() -> None:
    encodings = {
        "meta": Encoding(content_type="application/vnd.meta+json"),
        "logo": Encoding(content_type="image/*, image/gif"),
        "both": Encoding(content_type="application/xml, application/json"),
    }
    form = body("multipart/form-data", encodings=encodings, binary=frozenset({"file", "logo"}))
    value = {"file": [FILE], "logo": "GIF", "meta": {"a": 1}, "both": {"b": 2}, "n": [1, True], "none": None}
    content_type, content = write_body(form, value)
    boundary = content_type.removeprefix("multipart/form-data; boundary=").encode()
    parts = [part.strip(b"\r\n") for part in content.split(b"--" + boundary)[1:-1]]
    assert parts == [
        b'Content-Disposition: form-data; name="file"; filename="a%22b.png"\r\nContent-Type: image/png\r\n\r\n\x00\x01\x02',
        b'Content-Disposition: form-data; name="logo"; filename="file"\r\nContent-Type: image/gif\r\n\r\nGIF',
        b'Content-Disposition: form-data; name="meta"\r\nContent-Type: application/vnd.meta+json\r\n\r\n{"a":1}',
        b'Content-Disposition: form-data; name="both"\r\nContent-Type: application/json\r\n\r\n{"b":2}',
        b'Content-Disposition: form-data; name="n"\r\n\r\n1',
        b'Content-Disposition: form-data; name="n"\r\n\r\ntrue',
    ]
    assert content.endswith(b"--" + boundary + b"--\r\n")


def test_multipart_is_the_same_on_every_attempt_and_never_without_a_boundary() -> None:
    form = body("multipart/form-data")
    assert write_body(form, {"a": "x"}) == write_body(form, {"a": "x"}) != write_body(form, {"a": "y"})
    content_type, content = write_body(form, {})
    assert content == f"--{content_type.partition('=')[2]}--\r\n".encode()


def test_field_name_cannot_add_a_header() -> None:
    _, content = write_body(body("multipart/form-data"), {'a"\r\nX-Evil: 1': "x"})
    assert b"\r\nX-Evil" not in content


@pytest.mark.parametrize("media_type", ["application/x-www-form-urlencoded", "multipart/form-data"])
def test_form_that_is_no_object_is_refused(media_type: str) -> None:
    with pytest.raises(Unwritable, match="an object"):
        write_body(body(media_type), ["a"])


def test_body_that_nothing_writes_is_told_before_a_call() -> None:
    assert unwritable_body(body("application/xml", {"type": "object"})) == "values cannot be written as application/xml"
    assert unwritable_body(body("multipart/mixed", {"type": "object"})) is not None
    assert unwritable_body(body("application/xml", {"type": "string"})) is None
    assert unwritable_body(body("image/png", binary=frozenset({""}))) is None
