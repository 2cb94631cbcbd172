"""Untyped bytes from outside never raise, typed ones do, and whatever we send is JSON."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.common import RawValue

from activities.conversation import GMIOutput, ToolCallResult
from activities.json_values import Undecodable
from activities.turn_input import TurnInput
from tests.examples import EXAMPLES
from tests.workflows.strategies import json_values
from worker.converter import UntypedBytesConverter, data_converter
from workflows.answers import Refusal, read_answer

converter = data_converter.payload_converter


def payload(data: bytes, encoding: bytes | None = b"json/plain", **metadata: bytes) -> Payload:
    return Payload(metadata={**({} if encoding is None else {"encoding": encoding}), **metadata}, data=data)


def untyped(*payloads: Payload) -> list[Any]:
    return converter.from_payloads(payloads)


UNREADABLE = {
    "no JSON": payload(b"{nope"),
    "nothing": payload(b""),
    "two values": payload(b"{} {}"),
    "half a pair": payload(rb'{"a": "\ud83d"}'),
    "half a pair as a key": payload(rb'{"\udc00": 1}'),
    "bytes that are no UTF-8": payload(b'{"a": "\xff\xfe"}'),
    "UTF-16": payload('{"a": 1}'.encode("utf-16")),
    "a byte order mark": payload(b"\xef\xbb\xbf{}"),
    "300 levels": payload(b"[" * 300 + b"]" * 300),
    "a million levels": payload(b"[" * 1_000_000),
    "300 levels of objects": payload(b'{"a":' * 300 + b"1" + b"}" * 300),
    "an integer of 5,000 digits": payload(b"9" * 5_000),
    "an integer of 5,000 digits inside": payload(b'{"a": [' + b"9" * 5_000 + b"]}"),
    "an encoding nobody knows": payload(b"{}", b"foo/bar"),
    "no encoding": payload(b"{}", None),
    "an encoding that is no text": payload(b"{}", b"\xff\xfe"),
    "encrypted": payload(b"\x00\x01", b"binary/encrypted"),
    "protobuf without its type": payload(b"{}", b"json/protobuf"),
    "protobuf of an unknown type": payload(b"\xff", b"binary/protobuf", messageType=b"foo.Bar"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_untyped_bytes_that_cannot_be_read_arrive_as_a_value_that_says_why(name: str) -> None:
    [value] = untyped(UNREADABLE[name])
    assert isinstance(value, Undecodable)
    assert 10 < len(value.reason) < 300


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_answer_that_cannot_be_read_is_refused_with_the_reason(name: str) -> None:
    arguments = untyped(UNREADABLE[name])
    refusal = read_answer(arguments, "many")
    assert isinstance(refusal, Refusal)
    assert arguments[0].reason in refusal.text


@pytest.mark.parametrize("hint", [Any, None])
@pytest.mark.parametrize("name", UNREADABLE)
def test_any_is_no_type(name: str, hint: Any) -> None:
    [value] = converter.from_payloads([UNREADABLE[name]], [hint])
    assert isinstance(value, Undecodable)


@pytest.mark.parametrize("text", [b"NaN", b"Infinity", b"-Infinity", b"1e999"])
def test_numbers_json_does_not_have_never_get_past_a_validator(text: bytes) -> None:
    arguments = untyped(payload(b'{"toolCallId": "a", "output": ' + text + b"}"))
    refusal = read_answer(arguments, "one")
    assert isinstance(refusal, Refusal)


@pytest.mark.parametrize("name", UNREADABLE)
def test_the_same_bytes_for_a_typed_argument_raise(name: str) -> None:
    """A reply of our own activity that cannot be read is a bug, and must not be taken for a value."""
    with pytest.raises(Exception) as raised:
        converter.from_payloads([UNREADABLE[name]], [ToolCallResult])
    assert not isinstance(raised.value, AssertionError)


def test_a_typed_argument_of_another_shape_raises() -> None:
    with pytest.raises(ValueError, match="toolCallId"):
        converter.from_payloads([payload(b'{"nope": 1}')], [ToolCallResult])


def test_one_bad_payload_hides_none_of_the_others() -> None:
    values = untyped(payload(b"1"), UNREADABLE["encrypted"], payload(b'"three"'), UNREADABLE["nothing"])
    assert [values[0], values[2]] == [1, "three"]
    assert all(isinstance(values[place], Undecodable) for place in (1, 3))


def test_there_may_be_fewer_types_than_payloads_or_more() -> None:
    one, two = payload(b'{"content": "hi"}'), payload(b"{nope")
    ours = UntypedBytesConverter()
    first, second = ours.from_payloads([one, two], [TurnInput])
    assert (first, type(second)) == (TurnInput(content="hi"), Undecodable)
    assert ours.from_payloads([], [TurnInput]) == []
    assert ours.from_payloads([one], [TurnInput, TurnInput]) == [TurnInput(content="hi")]


def test_a_raw_value_is_handed_on_unread() -> None:
    """Signals nobody knows are recorded without being decoded."""
    bad = UNREADABLE["no JSON"]
    [value] = converter.from_payloads([bad], [RawValue])
    assert value.payload == bad


@given(
    data=st.binary(max_size=60), encoding=st.sampled_from([b"json/plain", b"json/protobuf", b"x", b"binary/null", None])
)
def test_no_bytes_raise(data: bytes, encoding: bytes | None) -> None:
    assert len(untyped(payload(data, encoding))) == 1


@given(json_values)
def test_json_comes_back_as_it_was_sent(value: Any) -> None:
    assert untyped(*converter.to_payloads([value])) == [value]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda value: type(value).__name__)
def test_every_wire_type_comes_back_typed_and_untyped(example: Any) -> None:
    payloads = converter.to_payloads([example])
    assert payloads[0].metadata["encoding"] == b"json/plain"
    assert converter.from_payloads(payloads, [type(example)]) == [example]
    assert untyped(*payloads) == [example.model_dump(mode="json", by_alias=True)]


def test_values_that_are_not_json_keep_their_standard_encodings() -> None:
    assert untyped(*converter.to_payloads([None, b"\xff"])) == [None, b"\xff"]


class Thing:
    def __str__(self) -> str:
        return "a thing"


def loop() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def three() -> Iterator[int]:
    yield from range(3)


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("bad \ud83d end", "bad \ufffd end"),
        ({"\udc00": 1}, {"\ufffd": 1}),
        ({"a": Thing()}, {"a": "a thing"}),
        ({"a": {1}}, {"a": [1]}),
        ({"a": b"\xff"}, {"a": {"bytes": 1, "base64": "/w=="}}),
        (three(), [0, 1, 2]),
        (GMIOutput(is_final=True, response_text="\ud83d"), {"isFinal": True, "responseText": "\ufffd"}),
        (ValueError("it broke"), "it broke"),
    ],
)
def test_a_value_that_cannot_be_encoded_is_sent_as_the_nearest_that_can(value: Any, sent: Any) -> None:
    """An error here would fail the workflow task again and again."""
    [encoded] = converter.to_payloads([value])
    assert from_json(encoded.data, allow_inf_nan=False) == sent


def test_a_value_that_holds_itself_can_be_sent() -> None:
    [encoded] = converter.to_payloads([loop()])
    assert b"cut: nested too deeply" in encoded.data


@pytest.mark.parametrize("value", [math.nan, {"a": [math.inf]}, 10**5_000], ids=["nan", "inf", "endless"])
def test_numbers_json_does_not_have_are_not_sent(value: Any) -> None:
    [encoded] = converter.to_payloads([value])
    read = from_json(encoded.data, allow_inf_nan=False)
    assert read in (None, {"a": [None]}) or str(read).startswith("[cut: an integer of ")


def test_workers_and_clients_share_one_converter() -> None:
    """A payload must mean the same on both sides."""
    assert Payloads(payloads=converter.to_payloads([{"a": 1}])).payloads[0].data == b'{"a":1}'
    assert data_converter.payload_codec is None
