"""A TypedDict of `typing` as a type of an argument."""

import enum
from typing import Annotated, Any, Required, TypedDict

import pytest
from pydantic import Field

from activities.function_schema import ArgumentsInvalidError, function_schema
from activities.typed_dicts import readable


class Size(enum.Enum):
    SMALL = "small"


class Named(TypedDict):
    """What has a name."""

    name: str


class Item(Named, total=False):
    sku: Required[int]
    size: Size
    parts: "list[Item]"


def order(items: list[Item], gift: Annotated[Named | None, Field(description="for whom")] = None) -> Any:
    return items, gift


class Context:
    """Stands for the context a tool may ask for."""


def test_it_has_the_schema_of_its_fields() -> None:
    schema = function_schema(order, Context).input_schema
    item = schema["$defs"]["Item"]
    assert schema["properties"]["items"] == {"type": "array", "items": {"$ref": "#/$defs/Item"}}
    assert item["required"] == ["name", "sku"]
    assert item["properties"]["parts"] == {"type": "array", "items": {"$ref": "#/$defs/Item"}}
    assert schema["properties"]["gift"]["description"] == "for whom"
    assert schema["$defs"]["Named"]["description"] == "What has a name."


def test_its_values_are_coerced_and_checked_at_every_depth() -> None:
    read = function_schema(order, Context)
    given = {"items": [{"name": "lamp", "sku": "7", "parts": [{"name": "bulb", "sku": 8, "size": "small"}]}]}
    bound = read.bind({**given, "gift": {"name": "Ren"}}).arguments
    inner = {"name": "bulb", "sku": 8, "size": Size.SMALL}
    assert bound == {"items": [{"name": "lamp", "sku": 7, "parts": [inner]}], "gift": {"name": "Ren"}}
    with pytest.raises(ArgumentsInvalidError, match=r"items\[0\]\.parts\[0\]\.sku: is required and missing"):
        read.bind({"items": [{"name": "lamp", "sku": 7, "parts": [{"name": "bulb"}]}]})


def test_what_has_none_in_it_is_left_as_it_is() -> None:
    for hint in (int, list[int], dict[str, int | None], Annotated[int, Field(ge=1)], tuple[int, ...], Any, None):
        assert readable(hint) is hint
