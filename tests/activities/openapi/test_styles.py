"""Values are written as the tables of OpenAPI show them."""

from typing import Any

import pytest

from activities.openapi.faults import Unwritable
from activities.openapi.styles import QUERY_RESERVED, escape, form_pairs, header_text, path_text, scalar

TEXT, LIST, RECORD = "blue", ["blue", "black", "brown"], {"R": 100, "G": 200, "B": 150}


def query(value: Any, style: str = "form", explode: bool = True, safe: str = "") -> str:
    pairs = form_pairs("color", value, style, explode, lambda text: escape(text, safe), escape)
    return "&".join(f"{name}={text}" for name, text in pairs)


@pytest.mark.parametrize(
    ("style", "explode", "value", "written"),
    [
        ("simple", False, TEXT, "blue"),
        ("simple", False, LIST, "blue,black,brown"),
        ("simple", True, LIST, "blue,black,brown"),
        ("simple", False, RECORD, "R,100,G,200,B,150"),
        ("simple", True, RECORD, "R=100,G=200,B=150"),
        ("label", False, TEXT, ".blue"),
        ("label", False, LIST, ".blue,black,brown"),
        ("label", True, LIST, ".blue.black.brown"),
        ("label", False, RECORD, ".R,100,G,200,B,150"),
        ("label", True, RECORD, ".R=100.G=200.B=150"),
        ("matrix", False, TEXT, ";color=blue"),
        ("matrix", False, "", ";color"),
        ("matrix", False, LIST, ";color=blue,black,brown"),
        ("matrix", True, LIST, ";color=blue;color=black;color=brown"),
        ("matrix", False, RECORD, ";color=R,100,G,200,B,150"),
        ("matrix", True, RECORD, ";R=100;G=200;B=150"),
        ("simple", False, ["a,b", "c"], "a%2Cb,c"),
    ],
)
def test_path_style(style: str, explode: bool, value: Any, written: str) -> None:
    assert path_text("color", value, style, explode, escape) == written


@pytest.mark.parametrize(
    ("style", "explode", "value", "written"),
    [
        ("form", True, TEXT, "color=blue"),
        ("form", True, "", "color="),
        ("form", True, LIST, "color=blue&color=black&color=brown"),
        ("form", False, LIST, "color=blue,black,brown"),
        ("form", True, RECORD, "R=100&G=200&B=150"),
        ("form", False, RECORD, "color=R,100,G,200,B,150"),
        ("spaceDelimited", False, LIST, "color=blue%20black%20brown"),
        ("spaceDelimited", True, LIST, "color=blue&color=black&color=brown"),
        ("pipeDelimited", False, LIST, "color=blue%7Cblack%7Cbrown"),
        ("pipeDelimited", False, RECORD, "color=R%7C100%7CG%7C200%7CB%7C150"),
        ("tabDelimited", False, LIST, "color=blue%09black%09brown"),
        ("deepObject", True, RECORD, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
        ("deepObject", True, {"a": {"b": 1}, "c": [1, 2]}, "color%5Ba%5D%5Bb%5D=1&color%5Bc%5D=1&color%5Bc%5D=2"),
        ("deepObject", True, {"a": [{"b": 1}]}, "color%5Ba%5D%5B0%5D%5Bb%5D=1"),
        ("form", True, [], ""),
        ("form", False, {}, ""),
        ("form", True, [{"a": 1}], "color=%7B%22a%22%3A1%7D"),
        ("form", True, ["a", None, "b"], "color=a&color=b"),
    ],
)
def test_query_style(style: str, explode: bool, value: Any, written: str) -> None:
    assert query(value, style, explode) == written


def test_reserved_characters_stay_only_where_they_end_nothing() -> None:
    assert query("a/b?c=d&e=f#g+h [i]%", safe=QUERY_RESERVED) == "color=a/b?c=d%26e=f%23g%2Bh%20%5Bi%5D%25"


@pytest.mark.parametrize(
    ("style", "value", "safe"),
    [("spaceDelimited", ["a b", "c"], ""), ("pipeDelimited", {"a|": 1}, ""), ("form", ["a,b", "c"], QUERY_RESERVED)],
)
def test_item_that_its_receiver_would_split_is_refused(style: str, value: Any, safe: str) -> None:
    with pytest.raises(Unwritable, match="separates them"):
        query(value, style, explode=False, safe=safe)


@pytest.mark.parametrize(
    ("value", "explode", "written"),
    [("a,b", False, "a,b"), ([1, 2], False, "1,2"), ({"a": 1}, True, "a=1"), ({"a": 1, "b": 2}, False, "a,1,b,2")],
)
def test_headers_are_written_without_percent_encoding(value: Any, explode: bool, written: str) -> None:
    assert header_text(value, explode) == written


@pytest.mark.parametrize(("value", "explode"), [(["a,b"], False), ({"a": "b,c"}, True), ({"a=": 1}, True)])
def test_header_item_that_would_become_two_is_refused(value: Any, explode: bool) -> None:
    with pytest.raises(Unwritable):
        header_text(value, explode)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (7.0, "7"),
        (-0.5, "-0.5"),
        (1e300, "1e+300"),
        (10**30, str(10**30)),
        ("None", "None"),
        ([1], "[1]"),
    ],
)
def test_one_value_reads_as_every_language_writes_it(value: Any, text: str) -> None:
    assert scalar(value) == text
