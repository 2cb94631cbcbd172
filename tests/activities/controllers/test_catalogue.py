"""Finding the few functions that a request is likely about."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from activities.controllers.catalogue import Catalogue, ListedFunction, catalogue_of

PETS = ListedFunction("pet_findByStatus_get", "Finds pets by status", "http", "GET", "/pet/findByStatus", ("pet",))
ORDERS = ListedFunction("store_order_post", "Place an order for a pet", "http", "POST", "/store/order", ("store",))
REFUND = ListedFunction("refund", "Give money back to a customer", "class")
UPLOAD = ListedFunction("upload", "", "mcp")
CATALOGUE = Catalogue([PETS, ORDERS, REFUND, UPLOAD])


def names(query: str, limit: int = 2, catalogue: Catalogue = CATALOGUE) -> list[str]:
    return [each.function.name for each in catalogue.candidates(query, limit)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("which pets have the status sold?", PETS),
        ("The customer wants their money", REFUND),
        ("refunds, please", REFUND),
        ("I placed orders", ORDERS),
        ("please upload this", UPLOAD),
    ],
)
def test_words_of_the_request_find_the_function(query: str, first: ListedFunction) -> None:
    [best, *_] = CATALOGUE.candidates(query, 3)
    assert best.function == first
    assert 0.0 < best.score <= 1.0


def test_functions_without_a_sign_follow_in_the_order_of_the_list() -> None:
    assert names("refund", 4) == ["refund", "pet_findByStatus_get", "store_order_post", "upload"]
    assert names("", 4) == names("qwertz", 4) == [each.name for each in CATALOGUE.functions]
    assert [each.score for each in CATALOGUE.candidates("qwertz", 2)] == [0.0, 0.0]


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (-1, 0), (2, 2), (99, 4)])
def test_limit_bounds_the_candidates(limit: int, count: int) -> None:
    assert len(CATALOGUE.candidates("pet", limit)) == count


def test_an_empty_catalogue_has_no_candidates() -> None:
    assert Catalogue([]).candidates("pet", 5) == []


class Meaning:
    """Two directions: animals and money."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        animals = [[float("pet" in text or "dog" in text), float("money" in text or "cash" in text)] for text in texts]
        return np.array(animals, np.float32)


def test_an_embedder_finds_what_has_no_word_in_common() -> None:
    assert names("cash", 1) == ["pet_findByStatus_get"]
    assert names("cash", 1, Catalogue(CATALOGUE.functions, Meaning())) == ["refund"]


def test_a_text_without_a_direction_is_no_division_by_zero() -> None:
    made = Catalogue(CATALOGUE.functions, Meaning()).candidates("upload", 4)
    assert made[0].function == UPLOAD
    assert all(np.isfinite(each.score) for each in made)


def test_the_same_functions_are_read_once() -> None:
    assert catalogue_of((PETS, REFUND)) is catalogue_of((PETS, REFUND))


class Broken:
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.full((len(texts), 2), np.nan, np.float32)


def test_an_embedder_that_gives_no_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        Catalogue(CATALOGUE.functions, Broken())
