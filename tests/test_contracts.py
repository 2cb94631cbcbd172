"""The wire form of every type, kept as JSON: a change of it shows in review.

Run with UPDATE_GOLDEN=1 to write the files anew. Running turns were started with the old form, so a change needs a reason:
a new field has a default, and nothing is renamed.
"""

import inspect
import json
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from activities import (
    contracts,
    conversation,
    guard_contracts,
    history_messages,
    instance_contracts,
    output_parts,
    persona_character,
    persona_memory,
    persona_prompt,
    personas,
    selection,
    sentiment,
    sources,
    streaming_chunks,
    structured_contracts,
    turn_input,
)
from activities.conversation import CostAggregator, CostEntry, GMIOutput, ModelUsage
from activities.turn_input import TurnLimits
from activities.wire import StrictWire, Wire
from tests.examples import EXAMPLES
from worker.converter import data_converter
from workflows import contracts as shown
from workflows import gmi_contracts, gmi_lifecycle, transcript

GOLDEN = Path(__file__).parent / "golden"
MODULES = (
    contracts,
    conversation,
    guard_contracts,
    history_messages,
    instance_contracts,
    output_parts,
    persona_character,
    persona_memory,
    persona_prompt,
    personas,
    selection,
    sentiment,
    sources,
    streaming_chunks,
    structured_contracts,
    turn_input,
    shown,
    gmi_contracts,
    gmi_lifecycle,
    transcript,
)
# Spelled as the Chat Completions API or the source of a type spells them.
SNAKE_CASE = {"image_url", "input_audio", "tool_calls", "tool_call_id"}
WIRE_TYPES = [
    type_
    for module in MODULES
    for type_ in vars(module).values()
    if inspect.isclass(type_)
    and issubclass(type_, Wire)
    and type_.__module__ == module.__name__
    and type_ is not StrictWire
]

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda value: type(value).__name__)


def on_the_wire(value: Wire) -> Any:
    """What Temporal carries."""
    return json.loads(data_converter.payload_converter.to_payloads([value])[0].data)


def golden(value: Wire) -> Any:
    return json.loads((GOLDEN / f"{type(value).__name__}.json").read_text())


def test_every_type_has_one_example_with_a_value_in_every_field() -> None:
    names = sorted(type_.__name__ for type_ in WIRE_TYPES)
    assert sorted(type(example).__name__ for example in EXAMPLES) == names
    for example in EXAMPLES:
        unset = type(example).model_fields.keys() - example.model_fields_set - {"role", "type"}
        assert not unset, (type(example).__name__, unset)


def test_no_golden_file_is_left_of_a_type_that_is_gone() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} <= {type_.__name__ for type_ in WIRE_TYPES}


@each_example
def test_the_wire_form_is_the_golden_one(example: Wire) -> None:
    wire = on_the_wire(example)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path = GOLDEN / f"{type(example).__name__}.json"
        path.write_text(json.dumps(wire, indent=2, ensure_ascii=False) + "\n")
    assert list(wire.items()) == list(golden(example).items())


@each_example
def test_the_golden_form_is_read_back(example: Wire) -> None:
    assert type(example).model_validate(golden(example)) == example


@each_example
def test_python_names_are_accepted_too(example: Wire) -> None:
    assert type(example).model_validate(example.model_dump(mode="json", by_alias=False)) == example


@each_example
def test_a_field_with_a_default_may_be_missing_as_in_an_older_payload(example: Wire) -> None:
    wire, fields = golden(example), type(example).model_fields
    required = {field.alias for field in fields.values() if field.is_required()}
    older = {name: value for name, value in wire.items() if name in required}
    assert type(example).model_validate(older).model_fields_set == {n for n, f in fields.items() if f.is_required()}


@each_example
def test_a_field_of_a_newer_writer_is_ignored_except_where_people_write_by_hand(example: Wire) -> None:
    newer = {**golden(example), "aNewField": 1}
    if isinstance(example, StrictWire):
        with pytest.raises(ValidationError, match="aNewField"):
            type(example).model_validate(newer)
    else:
        assert type(example).model_validate(newer) == example


@each_example
def test_a_value_on_the_wire_is_frozen(example: Wire) -> None:
    name = next(iter(type(example).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(example, name, None)


def names_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {name for item in value.values() for name in names_in(item)}
    return {name for item in value for name in names_in(item)} if isinstance(value, list) else set()


@each_example
def test_names_on_the_wire_are_camel_case_except_where_their_source_says_otherwise(example: Wire) -> None:
    assert {name for name in names_in(golden(example)) if "_" in name} <= SNAKE_CASE


ENTRY = {"provider_id": "p", "model_id": "m", "tokens": 1, "prompt_tokens": 1, "completion_tokens": 0}


@pytest.mark.parametrize(
    ("type_", "wire_name", "name", "rest"),
    [
        (ModelUsage, "costUSD", "cost_usd", {}),
        (CostEntry, "costUSD", "cost_usd", ENTRY),
        (CostAggregator, "totalCostUSD", "total_cost_usd", {}),
        (TurnLimits, "maxCostUSD", "max_cost_usd", {}),
    ],
)
def test_money_is_spelled_as_in_the_seed(type_: type[Wire], wire_name: str, name: str, rest: dict[str, Any]) -> None:
    """The rule for all other names would make it `costUsd`."""
    for given in (wire_name, name):
        value = type_.model_validate({given: 0.25, **rest})
        assert getattr(value, name) == 0.25
        assert on_the_wire(value)[wire_name] == 0.25


def test_an_output_leaves_out_what_the_turn_does_not_have() -> None:
    assert on_the_wire(GMIOutput(is_final=True)) == {"isFinal": True}


def test_an_output_or_a_result_of_null_stays_null() -> None:
    result = conversation.ToolCallResult(tool_call_id="a", tool_name="b", output=None)
    assert on_the_wire(result)["output"] is None


def test_a_pending_call_leaves_out_what_it_does_not_have() -> None:
    wire = on_the_wire(shown.PendingCall(id="a", name="b"))
    assert wire == {"id": "a", "name": "b", "arguments": {}, "kind": "external", "state": "open", "argumentsCut": False}


def test_parts_and_messages_are_told_apart_by_their_kind() -> None:
    message = conversation.UserMessage.model_validate(
        {"content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]}
    )
    assert [type(part) for part in message.content] == [conversation.TextPart, conversation.ImagePart]
    with pytest.raises(ValidationError, match="video"):
        conversation.UserMessage.model_validate({"content": [{"type": "video", "text": "a"}]})
