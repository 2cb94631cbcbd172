"""No value of a path leads to another endpoint."""

import pytest

from activities.openapi.faults import Unwritable
from activities.openapi.paths import fill_path, placeholders
from activities.openapi.styles import escape


def filled(template: str, **values: str) -> str:
    return fill_path(template, lambda name: escape(values[name]))


@pytest.mark.parametrize(
    ("template", "value", "path"),
    [
        ("/a/{x}", "b/c", "/a/b%2Fc"),
        ("/a/{x}", "b?c=d", "/a/b%3Fc%3Dd"),
        ("/a/{x}", "b#c", "/a/b%23c"),
        ("/a/{x}", "b;c", "/a/b%3Bc"),
        ("/a/{x}", "100%", "/a/100%25"),
        ("/a/{x}", "a b", "/a/a%20b"),
        ("/a/{x}", "é", "/a/%C3%A9"),
        ("/a/{x}", "back\\slash", "/a/back%5Cslash"),
        ("/a/{x}", "...", "/a/..."),
        ("/a/{x}", ".git", "/a/.git"),
        ("/a/{x}", "{x}", "/a/%7Bx%7D"),
        ("/a/{x}.json", "b", "/a/b.json"),
        ("/a/{x}:act", "b", "/a/b:act"),
        ("/a/v{x}", "..", "/a/v.."),
        ("/ä b/{x}", "c", "/%C3%A4%20b/c"),
        ("/a%20b/{x}", "c", "/a%20b/c"),
    ],
)
def test_value_stays_in_its_segment(template: str, value: str, path: str) -> None:
    assert filled(template, x=value) == path


@pytest.mark.parametrize(
    "value",
    [
        *("", ".", "..", "%2e", "%2E%2e", "%252e%252e", "..;", "..;a=b", " .. "),
        *("../admin", "a/../b", "a/..", "/..", "..\\admin", "a\\..\\b", "a%2f..%2fb", "a%2F%2E%2E", "a%5c..", "./a"),
        *("a\nb", "a\r\nHost: x", "\x00", "a\x7f", "%0d%0a"),
    ],
)
def test_value_that_could_lead_elsewhere_is_refused(value: str) -> None:
    with pytest.raises(Unwritable, match="stands in a path"):
        filled("/a/{x}/b", x=value)


def test_two_values_cannot_make_dots_together() -> None:
    with pytest.raises(Unwritable):
        filled("/a/{x}{y}", x=".", y=".")


def test_placeholders_are_named_in_order() -> None:
    assert placeholders("/a/{x}/{y}.json/{x}") == ["x", "y", "x"]
