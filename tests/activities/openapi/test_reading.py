import pytest

from activities.openapi.reading import Unfit, as_object, list_at, object_at, shortened, text_at, texts_at


def test_what_was_asked_for_is_returned() -> None:
    node = {"o": {"a": 1}, "l": [1], "t": "x", "n": 1.5, "ts": ["a", 1, "b"]}
    assert object_at(node, "o") == {"a": 1}
    assert list_at(node, "l") == [1]
    assert (text_at(node, "t"), text_at(node, "n")) == ("x", "1.5")
    assert texts_at(node, "ts") == ("a", "b")


def test_what_is_absent_or_null_is_empty() -> None:
    node = {"o": None, "l": None, "t": None, "ts": "abc"}
    assert (object_at(node, "o"), list_at(node, "l"), text_at(node, "t"), texts_at(node, "ts")) == ({}, [], "", ())
    assert as_object(None, "it") == {}


@pytest.mark.parametrize("value", ["x", 1, True])
def test_what_has_the_wrong_form_is_unfit_and_named(value: object) -> None:
    with pytest.raises(Unfit, match="`o` is not an object"):
        object_at({"o": value}, "o")
    with pytest.raises(Unfit, match="`l` is not a list"):
        list_at({"l": value}, "l")


@pytest.mark.parametrize("value", [True, {}, []])
def test_only_texts_and_numbers_are_text(value: object) -> None:
    assert text_at({"t": value}, "t") == ""


def test_a_text_is_shortened_to_its_limit() -> None:
    assert shortened("  abc ", 3) == "abc"
    assert shortened("abc def", 5) == "abc…"
    assert len(shortened("x" * 5_000)) == 1_024
