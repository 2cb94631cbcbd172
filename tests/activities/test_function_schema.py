"""The schema a function gets, and what becomes of a model's arguments."""

import enum
import functools
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

from activities.function_schema import ArgumentsInvalidError, FunctionSchema, function_schema


class Injected:
    """Stands for the context a tool may ask for."""


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


class Line(BaseModel):
    sku: str
    count: int = 1


class Shop:
    """Orders."""

    def find(
        self, q: str, limit: int = 10, tags: list[str] | None = None, *rest: int, mode: "Mode" = Mode.FAST, **kw: Any
    ) -> list[dict[str, Any]]:
        """Find orders.

        Args:
            q: text to find
        """
        return []

    async def pay(self, order_id: int, amount: Decimal, due: date) -> None: ...

    @staticmethod
    def ping() -> str:
        return "pong"

    def bad(self, x): ...  # type: ignore[no-untyped-def]


def schema_of(function: Callable[..., Any]) -> FunctionSchema:
    return function_schema(function, Injected)


def bound(function: Callable[..., Any], **arguments: Any) -> dict[str, Any]:
    return dict(schema_of(function).bind(arguments).arguments)


def fault(function: Callable[..., Any], arguments: dict[str, Any]) -> str:
    with pytest.raises(ArgumentsInvalidError) as refused:
        schema_of(function).bind(arguments)
    return str(refused.value)


def test_method_schema_has_defaults_optionals_and_enums_and_leaves_variable_arguments_out() -> None:
    schema = schema_of(Shop().find).input_schema
    properties = schema["properties"]
    assert list(properties) == ["q", "limit", "tags", "mode"]
    assert schema["required"] == ["q"]
    assert schema["additionalProperties"] is False
    assert properties["q"] == {"type": "string", "description": "text to find"}
    assert properties["limit"] == {"type": "integer", "default": 10}
    assert properties["tags"]["anyOf"] == [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]
    assert properties["mode"]["default"] == "fast"
    assert schema["$defs"]["Mode"]["enum"] == ["fast", "slow"]


def test_decimal_and_date_have_json_types_and_arrive_as_python_values() -> None:
    properties = schema_of(Shop().pay).input_schema["properties"]
    assert properties["due"] == {"type": "string", "format": "date"}
    assert properties["amount"] == {"anyOf": [{"type": "number"}, {"type": "string"}]}
    given_values = bound(Shop().pay, order_id=7, amount="12.30", due="2026-01-02")
    assert given_values == {"order_id": 7, "amount": Decimal("12.30"), "due": date(2026, 1, 2)}
    assert bound(Shop().pay, order_id=7, amount=0.1, due="2026-01-02")["amount"] == Decimal("0.1")


def test_function_without_parameters_takes_an_empty_object_only() -> None:
    schema = schema_of(Shop.ping)
    assert schema.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert bound(Shop.ping) == {}
    assert fault(Shop.ping, {"x": 1}) == "x: is not an argument of this tool; it takes none"


def test_parameter_without_annotation_takes_any_value() -> None:
    assert schema_of(Shop().bad).input_schema["properties"] == {"x": {}}
    assert bound(Shop().bad, x={"deep": [1, None]}) == {"x": {"deep": [1, None]}}


def test_values_are_coerced_where_the_type_allows_it() -> None:
    assert bound(Shop().find, q="a", limit="5", mode="slow") == {
        "q": "a",
        "limit": 5,
        "tags": None,
        "rest": (),
        "mode": Mode.SLOW,
        "kw": {},
    }


def test_every_fault_is_named_with_its_field() -> None:
    said = fault(Shop().find, {"limit": "many", "tags": ["a", 1], "rest": 1})
    assert "q: is required and missing" in said
    assert "limit: Input should be a valid integer" in said
    assert "(got 'many')" in said
    assert "tags[1]: Input should be a valid string" in said
    assert "rest: is not an argument of this tool; it takes q, limit, tags, mode" in said
    assert "Traceback" not in said
    assert "pydantic" not in said


def test_faults_are_bounded_whatever_the_model_sends() -> None:
    said = fault(Shop().ping, {"x" * 9_000: "y" * 9_000, **{f"a{n}": n for n in range(50)}})
    assert len(said) < 4_000
    assert said.endswith("and 41 more")


def test_nested_models_are_checked_by_path() -> None:
    def order(lines: list[Line]) -> None: ...

    assert bound(order, lines=[{"sku": "a", "count": "2"}]) == {"lines": [Line(sku="a", count=2)]}
    assert fault(order, {"lines": [{"sku": "a"}, {"count": 1}]}) == "lines[1].sku: is required and missing"


def test_names_that_pydantic_keeps_for_itself_are_ordinary_parameters() -> None:
    def odd(schema: str, /, json: int = 3, *, _x: int = 1, model_config: str = "m") -> None: ...

    assert list(schema_of(odd).input_schema["properties"]) == ["schema", "json", "_x", "model_config"]
    call = schema_of(odd).bind({"schema": "s", "_x": 2})
    assert (call.args, call.kwargs) == (("s", 3), {"_x": 2, "model_config": "m"})


def test_constraints_and_texts_of_annotated_parameters_count() -> None:
    def pick(n: Annotated[int, Field(ge=1, description="how many")], page: int = Field(default=4, le=9)) -> None:
        """Pick.

        Args:
            n: not this text
        """

    properties = schema_of(pick).input_schema["properties"]
    assert properties["n"] == {"type": "integer", "minimum": 1, "description": "how many"}
    assert properties["page"] == {"type": "integer", "maximum": 9, "default": 4}
    assert bound(pick, n=1) == {"n": 1, "page": 4}
    assert "greater than or equal to 1" in fault(pick, {"n": 0})


def test_default_that_json_cannot_show_reaches_the_function_as_it_is() -> None:
    unset = object()

    def update(value: Any = unset) -> None: ...

    assert "default" not in schema_of(update).input_schema["properties"]["value"]
    assert bound(update)["value"] is unset


@pytest.mark.parametrize("hint", [Injected, Injected | None, Annotated[Injected, "here"]])
def test_injected_parameter_is_hidden_from_the_model(hint: Any) -> None:
    def act(a: int, context: Any = None) -> None: ...

    act.__annotations__["context"] = hint
    schema = schema_of(act)
    assert schema.injected == ("context",)
    assert list(schema.input_schema["properties"]) == ["a"]
    assert "context: is not an argument" in fault(act, {"a": 1, "context": {}})


@pytest.mark.parametrize(
    "docstring",
    [
        "Find orders.\n\nArgs:\n    q: text to find\n\nReturns:\n    list",
        "Find orders.\n\nParameters\n----------\nq : str\n    text to find\n",
        "Find orders.\n\n:param q: text to find\n:returns: list",
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_docstring_styles_give_the_same_texts(docstring: str) -> None:
    def find(q: str) -> None: ...

    find.__doc__ = docstring
    schema = schema_of(find)
    assert schema.description == "Find orders."
    assert schema.input_schema["properties"]["q"]["description"] == "text to find"


def test_partial_and_callable_object_show_what_they_wrap() -> None:
    def base(a: int, b: int) -> None:
        """Base."""

    class Adder:
        def __call__(self, x: int) -> None:
            """Add."""

    partial = schema_of(functools.partial(base, b=2))
    assert partial.description == "Base."
    assert partial.input_schema["required"] == ["a"]
    assert schema_of(Adder()).description == "Add."
    assert schema_of(Adder()).input_schema["properties"] == {"x": {"type": "integer"}}


def test_function_that_has_no_schema_is_refused_when_it_is_read() -> None:
    def callback(x: Callable[[], int]) -> None: ...
    def thing(x: Injected, y: Shop) -> None: ...
    def unknown(x: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    for function in (callback, thing, unknown, Shop.find):
        with pytest.raises(TypeError, match=function.__name__):
            schema_of(function)


def test_validator_that_breaks_costs_the_call_only() -> None:
    class Touchy(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def look_up(cls, value: int) -> int:
            raise KeyError("table")

    def act(touchy: Touchy) -> None: ...

    assert fault(act, {"touchy": {"n": 1}}) == "the arguments could not be checked: KeyError: 'table'"


TEXTS = st.text(st.sampled_from("a5é\ud83d\0"), max_size=4)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["q", "limit", "tags", "mode", "\ud83d", "x"]), json_values))
def test_hostile_arguments_are_bound_or_refused_in_words(arguments: dict[str, Any]) -> None:
    said = "bound"
    try:
        FIND.bind(arguments)
    except ArgumentsInvalidError as refused:
        said = str(refused)
    assert said.encode("utf-8")


FIND = schema_of(Shop().find)
