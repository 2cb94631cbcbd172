"""Whatever a server answers is a value, read by the content type it really has."""

from typing import Any

import pytest

from activities.openapi.response import MAX_BINARY_BYTES, HttpResponse, RawResponse, read_response


def body(content: bytes, content_type: str | None, *headers: tuple[str, str], is_whole: bool = True) -> Any:
    named = (("Content-Type", content_type),) if content_type is not None else ()
    return read_response(RawResponse(200, (*named, *headers), content, is_whole)).body


@pytest.mark.parametrize(
    ("content", "content_type", "value"),
    [
        (b'{"a":1}', "application/json", {"a": 1}),
        (b'\xef\xbb\xbf{"a":1}', "application/json; charset=utf-8", {"a": 1}),
        (b'{"title":"no"}', "application/problem+json", {"title": "no"}),
        ('"é"'.encode("latin-1"), "application/json; charset=ISO-8859-1", "é"),
        (b"null", "application/json", None),
        (b"", "application/json", None),
        (b"", None, None),
        (b"<html>login</html>", "text/html; charset=utf-8", "<html>login</html>"),
        (b"<html>login</html>", "application/json", "<html>login</html>"),
        (b'{"a":', "application/json", '{"a":'),
        (b'{"a": NaN}', "application/json", '{"a": NaN}'),
        (b"[" * 5000, "application/json", "[" * 5000),
        (b'{"a":1}', "text/plain", '{"a":1}'),
        (b'{"a":1}', None, {"a": 1}),
        (b"plain", None, "plain"),
        (b"\xff\xfe", "text/plain", "\ufffd\ufffd"),
        (b"caf\xe9", "text/plain; charset=latin-1", "café"),
        (b"x", "text/plain; charset=no-such", "x"),
        (b"x", 'text/plain; charset="utf-8"', "x"),
        (b"78", "text/plain; charset=hex", "78"),
        (b"<a/>", "application/atom+xml", "<a/>"),
        (b"\x00\x01", "image/png", {"mediaType": "image/png", "bytes": 2, "base64": "AAE="}),
        (b"\xff\x00", None, {"mediaType": "application/octet-stream", "bytes": 2, "base64": "/wA="}),
    ],
)
def test_body_is_read_by_its_real_type(content: bytes, content_type: str | None, value: Any) -> None:
    assert body(content, content_type) == value


def test_large_binary_is_told_not_shown() -> None:
    told = body(bytes(MAX_BINARY_BYTES + 1), "application/pdf")
    assert told == {
        "mediaType": "application/pdf",
        "bytes": MAX_BINARY_BYTES + 1,
        "note": "not shown: binary and too large",
    }


def test_body_in_an_encoding_nobody_asked_for_is_not_taken_for_text() -> None:
    assert body(b"\x0b", "application/json", ("Content-Encoding", "br"))["mediaType"] == "application/json (br)"


def test_beginning_of_a_body_says_that_it_is_one() -> None:
    cut = body(b'{"a": "b', "application/json", ("Content-Length", "5000000"), is_whole=False)
    assert cut == '{"a": "b\n[cut: the first 8 characters of 5000000 bytes are shown]'
    assert body(b"abc", "text/plain", is_whole=False).endswith("of more than 3 bytes are shown]")
    assert body(b"abc", "video/mp4", is_whole=False)["note"] == "not shown: binary and too large"


def test_cookies_are_kept_whole_and_never_shown() -> None:
    headers = (
        ("Set-Cookie", "a=1; Path=/; HttpOnly"),
        ("set-cookie", "b=2; Expires=Wed, 21 Oct 2030 07:28:00 GMT"),
        ("Link", "<x>"),
        ("link", "<y>"),
        ("X-Odd", "\udcff"),
    )
    response = read_response(RawResponse(204, headers, b""))
    assert response.headers["set-cookie"] == ["a=1; Path=/; HttpOnly", "b=2; Expires=Wed, 21 Oct 2030 07:28:00 GMT"]
    assert response.shown() == {"status": 204, "headers": {"link": "<x>, <y>", "x-odd": "\ufffd"}, "body": None}
    assert HttpResponse(200, {"Set-Cookie": ["a=1"]}, None).shown()["headers"] == {}
