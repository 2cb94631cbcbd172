"""Who may see a passage, and how sources are put together and bounded."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.json_values import encoded_size
from activities.sources import (
    SOURCES_BYTES,
    RagRetrievedChunk,
    excerpts,
    interleaved,
    may_be_shown,
    numbered,
    within_tokens,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def chunk(name: str, content: str = "text", **fields: Any) -> RagRetrievedChunk:
    return RagRetrievedChunk(id=name, content=content, **fields)


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, True),
        ({"tenant_id": "acme"}, True),
        ({"tenant_id": "other"}, False),
        ({"acl_groups": ("staff", "board")}, True),
        ({"acl_groups": ("board",)}, False),
        ({"acl_groups": ()}, True),
        ({"status": "active"}, True),
        ({"status": "draft"}, False),
        ({"status": "archived"}, False),
        ({"status": "deprecated"}, False),
        ({"effective_date": NOW}, True),
        ({"effective_date": NOW + DAY}, False),
        ({"expires_at": NOW + DAY}, True),
        ({"expires_at": NOW}, False),
        ({"expires_at": (NOW - DAY).replace(tzinfo=None)}, False),
    ],
)
def test_only_what_is_the_tenants_own_and_in_force_may_be_shown(fields: dict[str, Any], shown: bool) -> None:
    names = ("tenant_id", "acl_groups", "status", "effective_date", "expires_at")
    given_ = {**dict.fromkeys(names), **fields}
    assert may_be_shown(**given_, tenant="acme", groups=("staff",), now=NOW) is shown


def test_rankings_take_turns_and_name_each_passage_once() -> None:
    one, other = [chunk("a"), chunk("b"), chunk("a")], [chunk("x"), chunk("a"), chunk("y")]
    assert [each.id for each in interleaved([one, other], 10)] == ["a", "x", "b", "y"]
    assert [each.id for each in interleaved([one, other], 2)] == ["a", "x"]
    assert interleaved([], 5) == []


def test_a_prompt_takes_whole_passages_while_there_is_room_then_the_beginning_of_one() -> None:
    found = within_tokens([chunk("a", "x" * 400), chunk("e", " \n"), chunk("b", "y" * 4_000), chunk("c")], 200)
    assert [(each.id, len(each.content)) for each in found] == [("a", 400), ("b", 400)]
    assert found[0].metadata is None
    assert found[1].metadata == {"cut": True}


def test_what_only_machines_read_and_what_no_reader_could_is_left_out() -> None:
    wild = chunk("\ud83d" + "i" * 999, "half \ud83d", metadata={"title": "T", "huge": "x" * 5_000}, embedding=(1.0,))
    [tidy] = within_tokens([wild], 1_000)
    assert (tidy.content, tidy.metadata, tidy.embedding) == ("half \ufffd", {"title": "T"}, None)
    assert len(tidy.id) == 300
    tidy.model_dump_json()


@given(st.lists(st.builds(chunk, st.text(max_size=400), st.text(max_size=5_000)), max_size=40))
def test_excerpts_always_fit(found: list[RagRetrievedChunk]) -> None:
    kept = excerpts(within_tokens(found, 16_000))
    assert encoded_size(kept) <= SOURCES_BYTES
    assert [each.id for each in excerpts(kept)] == [each.id for each in kept]


def test_excerpts_are_shortened_alike_before_any_is_left_out() -> None:
    found = [chunk(str(at), "z" * 9_000) for at in range(20)]
    kept = excerpts(found, 16_000)
    assert len(kept) == 20
    assert {len(each.content) for each in kept} == {500}
    assert all(each.metadata == {"cut": True} for each in kept)


def test_passages_are_numbered_under_what_a_reader_calls_them() -> None:
    found = [
        chunk("a", "One.", metadata={"title": "Rules"}),
        chunk("b", "Two.", original_document_id="doc"),
        chunk("c"),
    ]
    assert numbered(found) == "[1] Rules\nOne.\n\n[2] doc\nTwo.\n\n[3] c\ntext"
