from __future__ import annotations

import pytest
from pydantic import ValidationError

from memory_engine import MemoryItem, memory_of_item, new_item
from memory_engine.records import item_of, record_of
from memory_engine.service_types import DomainOutcomeRequest
from memory_engine.wire import plain


def test_an_item_becomes_a_row_and_an_item_again() -> None:
    item = new_item("A fact", id="m", now=5, domains=["x"], gist="short")
    item.embedding = []
    assert item_of(record_of(item)) == item


def test_both_spellings_of_a_name_are_read_and_camel_case_is_written() -> None:
    camel = {"id": "m", "content": "c", "bookmark": "b", "tier": "L1", "supersededBy": "n", "odd": 1}
    metadata = {"domains": [], "createdAt": 1, "last_accessed_at": 1, "accessCount": 0}
    written = plain(MemoryItem.model_validate({**camel, "metadata": metadata}))
    assert written["supersededBy"] == "n"
    assert written["odd"] == 1
    assert written["metadata"] == {"domains": [], "createdAt": 1, "lastAccessedAt": 1, "accessCount": 0}


@pytest.mark.parametrize("created_at", ["5", 5.5, True])
def test_a_time_must_be_a_whole_number(created_at: object) -> None:
    metadata = {"domains": [], "createdAt": created_at, "lastAccessedAt": 1, "accessCount": 0}
    with pytest.raises(ValidationError):
        MemoryItem.model_validate({"id": "m", "content": "c", "bookmark": "b", "tier": "L1", "metadata": metadata})


def test_the_service_shows_a_memory_flat() -> None:
    shown = plain(memory_of_item(new_item("A fact", id="m", now=5, domains=["x"])))
    expected = {"id": "m", "content": "A fact", "tier": "L2", "domains": ["x"], "accessCount": 0}
    assert shown == {**expected, "createdAt": 5, "lastAccessedAt": 5}


def test_a_request_is_read_from_camel_case() -> None:
    request = DomainOutcomeRequest.model_validate({"domain": "auth", "success": False, "failurePattern": "race"})
    assert request.failure_pattern == "race"
