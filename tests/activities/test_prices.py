import pytest

from activities.conversation import ModelUsage
from activities.prices import Price, Prices

CHEAP, DEAR = Price(prompt=1.0, completion=2.0), Price(prompt=10.0, completion=20.0)
USAGE = ModelUsage(prompt_tokens=1_000_000, completion_tokens=500_000, total_tokens=1_500_000)


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-4o", DEAR),
        ("gpt-4o-2024-08-06", DEAR),
        ("gpt-4o-mini", CHEAP),
        ("gpt-4o-mini-2024-07-18", CHEAP),
        ("gpt-4", None),
        ("gpt-4omega", None),
        ("other", None),
    ],
)
def test_a_model_has_the_price_of_the_longest_name_it_begins_with(model: str, price: Price | None) -> None:
    assert Prices({"gpt-4o": DEAR, "gpt-4o-mini": CHEAP}).find(model) == price


def test_an_empty_name_prices_every_other_model() -> None:
    assert Prices({"": CHEAP}).find("anything") == CHEAP


def test_the_cost_is_dollars_for_a_million_tokens() -> None:
    assert Prices({"m": CHEAP}).cost(USAGE, "m") == pytest.approx(2.0)


def test_the_name_that_was_asked_for_counts_when_the_answered_one_has_no_price() -> None:
    assert Prices({"router": DEAR}).cost(USAGE, "vendor/m-7", "router") == pytest.approx(20.0)


def test_an_unpriced_model_has_no_cost() -> None:
    assert Prices().cost(USAGE, "m") is None
