import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.openapi.property_keys import LEGAL, key_for, short_hash


@pytest.mark.parametrize("name", ["id", "X-Trace", "filter.name", "a_b", "x" * 64])
def test_legal_names_stay_what_they_are(name: str) -> None:
    assert key_for(name) == name


def test_other_names_keep_what_is_readable_and_stay_apart() -> None:
    keys = [
        key_for(name) for name in ("filter[name]", "filter(name)", "$top", "имя", "фамилия", "", "q" * 70, "q" * 71)
    ]
    assert keys[0] == "filter_name_" + short_hash("filter[name]")
    assert len(set(keys)) == len(keys)


@given(st.text(max_size=100))
def test_every_name_gets_a_legal_key(name: str) -> None:
    assert LEGAL.fullmatch(key_for(name))
