"""Arguments as models write them: read when the meaning is certain, refused with a reason when it is not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.arguments import BadArguments, Fault, read_arguments
from activities.json_values import json_fault


@pytest.mark.parametrize("raw", ["", "  \n", None, "null", " null ", "{}", {}])
def test_absent_arguments_are_an_empty_object(raw: object) -> None:
    assert read_arguments(raw) == {}


def test_a_decoded_object_is_taken_for_its_text() -> None:
    assert read_arguments({"city": "Rome"}) == {"city": "Rome"}


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('{"q":"a}{b"}', {"q": "a}{b"}),
        ('{"text":"invoice","max":5}\n\nNext, I look for the file.', {"text": "invoice", "max": 5}),
        ('{"a":1}}', {"a": 1}),
        ('\n {"city": "Žofie 日本"} ', {"city": "Žofie 日本"}),
        (r'{"a":"\ud83d\udc69"}', {"a": "👩"}),
        (r'{"a":"\u0000"}', {"a": "\x00"}),
        (r'"{\"city\": \"Rome\"}"', {"city": "Rome"}),
        ('```json\n{"city": "Rome"}\n```', {"city": "Rome"}),
        ('```\n{"text": "``` a"}```', {"text": "``` a"}),
    ],
)
def test_an_object_is_read_with_its_braces_in_strings_and_without_the_prose_after_it(raw: str, value: object) -> None:
    assert read_arguments(raw) == value


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ('{"from":"P","to":"Q"}{"from":"P","to":"R"}', Fault.SEVERAL),
        ('{"from":"P"}\n{"from":', Fault.SEVERAL),
        ('{"a":1},"b":2}', Fault.MALFORMED),
        ('{"path":"a.md","body":"line one', Fault.CUT),
        ('{"path":"a.md"', Fault.CUT),
        ('{"a": tru', Fault.CUT),
        ("{", Fault.CUT),
        ("{'a': 1}", Fault.MALFORMED),
        ("call it with a=1", Fault.MALFORMED),
        ('```json\n{"a": 1', Fault.MALFORMED),
        ('```json\n{"a": 1}{"a": 2}\n```', Fault.SEVERAL),
        ('{"a": NaN}', Fault.MALFORMED),
        ('{"a": 1e999}', Fault.MALFORMED),
        ('{"a": ' + "9" * 5_000 + "}", Fault.MALFORMED),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, Fault.MALFORMED),
        ('{"a":' * 200 + "1" + "}" * 200, Fault.MALFORMED),
        ("[1, 2]", Fault.NOT_AN_OBJECT),
        ('"text"', Fault.NOT_AN_OBJECT),
        (r'"\"{}\""', Fault.NOT_AN_OBJECT),
        (r'"{\"a\": 1"', Fault.CUT),
        (r'"{\"a\": 1}{\"a\": 2}"', Fault.SEVERAL),
        ("7", Fault.NOT_AN_OBJECT),
        (["a"], Fault.NOT_AN_OBJECT),
        (True, Fault.NOT_AN_OBJECT),
    ],
)
def test_what_is_not_certain_is_refused_with_its_kind(raw: object, fault: Fault) -> None:
    read = read_arguments(raw)
    assert isinstance(read, BadArguments)
    assert read.fault is fault
    assert len(read.message) < 400


def test_two_objects_are_named_as_such() -> None:
    read = read_arguments('{"a":1}{"a":2}')
    assert isinstance(read, BadArguments)
    assert "two objects" in read.message


def test_half_of_a_surrogate_pair_is_replaced_in_values_and_keys() -> None:
    assert read_arguments(r'{"a\udc00": ["bad \ud83d end"]}') == {"a\ufffd": ["bad \ufffd end"]}


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_every_object_survives_its_own_text(value: object) -> None:
    assert read_arguments(json.dumps({"value": value})) == {"value": value}


@given(st.text(max_size=60) | st.from_regex(r'\{("[a-z]":("[a-z\\]*"|\d+),?){0,3}\}?.*', fullmatch=True))
def test_any_text_gives_an_object_or_a_reason(text: str) -> None:
    read = read_arguments(text)
    assert isinstance(read, BadArguments) or json_fault(read) is None
