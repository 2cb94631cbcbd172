"""How requests are made of what a caller gives, and ids of paths."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_engine import Memory, RecallRequest, plain
from worker.cogmem.call import reader, request_of, segment


def test_a_request_is_taken_whole_or_made_of_fields() -> None:
    whole = RecallRequest(query="deploys", limit=3)

    assert request_of(RecallRequest, "query", whole) is whole
    assert request_of(RecallRequest, "query", {"query": "deploys", "limit": 3}) == whole
    assert request_of(RecallRequest, "query", "deploys", limit=3) == whole


def test_what_is_left_out_is_not_sent() -> None:
    assert plain(request_of(RecallRequest, "query", "deploys", limit=None)) == {"query": "deploys"}


def test_a_misspelt_member_is_sent_for_the_service_to_refuse() -> None:
    assert plain(request_of(RecallRequest, "query", {"query": "deploys", "limt": 3})) == {"query": "deploys", "limt": 3}


def test_a_whole_request_and_single_fields_do_not_mix() -> None:
    with pytest.raises(TypeError, match="limit must stand inside the whole RecallRequest"):
        request_of(RecallRequest, "query", {"query": "deploys"}, limit=3)


@pytest.mark.parametrize("given", [None, 7, b"deploys", ["deploys"]])
def test_a_field_of_another_type_is_a_value_error(given: Any) -> None:
    with pytest.raises(ValueError, match="query"):
        request_of(RecallRequest, "query", given)


@pytest.mark.parametrize(
    ("identifier", "path"), [("a/b", "a%2Fb"), ("a b?c#d%e", "a%20b%3Fc%23d%25e"), ("ü", "%C3%BC")]
)
def test_an_id_is_one_segment_of_a_path(identifier: str, path: str) -> None:
    assert segment(identifier) == path


@pytest.mark.parametrize("identifier", ["", " ", ".", "..", "\ud83d"])
def test_an_id_that_would_lead_elsewhere_is_refused(identifier: str) -> None:
    with pytest.raises(ValueError):
        segment(identifier)


@given(st.text(min_size=1))
def test_no_id_leaves_its_segment(identifier: str) -> None:
    try:
        path = segment(identifier)
    except ValueError:
        return
    assert not set(path) & set("/?#\\ \r\n")
    assert path not in ("", ".", "..")


@pytest.mark.parametrize("decoded", [None, [], "x", {}, {"memory": None}, {"memory": {"id": 1}}, {"memories": []}])
def test_an_answer_without_what_was_asked_for_is_a_value_error(decoded: Any) -> None:
    with pytest.raises(ValueError):
        reader(Memory, "memory")(decoded)
