"""A turn tells everything, in pages that the server will carry."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.conversation import ErrorDetails, GMIOutput, ImagePart, ImageUrl, TextPart, ToolCallResult
from activities.json_values import Undecodable, encoded_size
from tests.workflows.strategies import NOW, pause_round, reply, requested, turn_state
from workflows.transcript import KEPT_BYTES, PAGE_BYTES, Chunk, Journal, Page, Transcript, read_cursor
from workflows.turn_report import final_output


def walk(journal: Journal) -> list[Page]:
    """All pages, the newest first; a cursor that does not move would never end."""
    pages = [journal.page()]
    while pages[-1].cursor is not None:
        assert len(pages) <= journal.total
        pages.append(journal.page(pages[-1].cursor))
    return pages


def filled(*sizes: int) -> Journal:
    journal = Journal()
    for number, size in enumerate(sizes):
        journal.add({"n": number, "text": "x" * size})
    return journal


def numbers(pages: list[Page]) -> list[int]:
    return [entry["n"] for page in reversed(pages) for entry in page.entries]


@given(st.lists(st.sampled_from([1, 100, 60_000, 127_980, 255_960, 300_000, 900_000]), max_size=12))
def test_walking_back_meets_every_entry_once_and_no_page_is_too_large(sizes: list[int]) -> None:
    journal = filled(*sizes)
    pages = walk(journal)
    assert numbers(pages) == list(range(len(sizes)))
    assert all(encoded_size(page.entries) <= PAGE_BYTES + len(page.entries) + 2 for page in pages)
    assert all(page.total == len(sizes) for page in pages)


def test_the_newest_page_is_as_full_as_it_can_be() -> None:
    journal = filled(*[50_000] * 12)
    page = journal.page()
    assert [entry["n"] for entry in page.entries] == [7, 8, 9, 10, 11]
    assert (page.total, page.cursor) == (12, 7)
    assert [entry["n"] for entry in journal.page(7).entries] == [2, 3, 4, 5, 6]


def test_entries_added_while_someone_walks_do_not_move_the_older_pages() -> None:
    journal = filled(*[100_000] * 6)
    cursor = journal.page().cursor
    before = journal.page(cursor)
    journal.add({"n": 6, "text": "new"})
    assert journal.page(cursor).entries == before.entries


def test_an_entry_larger_than_a_page_is_cut_and_shown() -> None:
    journal = filled(5, 900_000, 5)
    cut = journal.page().entries[1]
    assert (cut["n"], cut["text"]["cut"], len(cut["text"]["preview"])) == (1, True, 1_000)


def test_a_large_chunk_is_still_a_chunk() -> None:
    journal = Journal()
    journal.add(Chunk(sequence=3, type="tool_result", content="x" * 400_000, interaction_id="t", timestamp=NOW))
    [chunk] = journal.page().entries
    assert isinstance(chunk, Chunk)
    assert (chunk.sequence, chunk.type, chunk.content["cut"]) == (3, "tool_result", True)


def test_the_oldest_entries_are_dropped_and_the_total_still_counts_them() -> None:
    journal = filled(*[100_000] * 100)
    pages = walk(journal)
    kept = numbers(pages)
    assert kept == list(range(kept[0], 100))
    assert kept[0] > 0
    assert sum(encoded_size(page.entries) for page in pages) <= KEPT_BYTES + 200
    assert pages[0].total == 100
    assert journal.page(kept[0]).entries == journal.page(3).entries == journal.page(0).entries == ()
    assert journal.page(3).cursor is None


def test_an_empty_journal_is_an_empty_page() -> None:
    assert Journal().page() == Page(entries=(), total=0, cursor=None)
    assert Journal().page(5) == Page(entries=(), total=0, cursor=None)


def test_a_cursor_past_the_end_is_the_newest_page() -> None:
    assert filled(1, 1).page(99).entries == filled(1, 1).page().entries


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ([], None),
        ([7], 7),
        ([0], 0),
        ([{"before": 7}], 7),
        ([{"before": None}], None),
        ([{}], None),
        ([-1], None),
        ([True], None),
        (["7"], None),
        ([7.5], None),
        ([None], None),
        ([[7]], None),
        ([Undecodable("x")], None),
        ([10**900], 10**900),
        ([7, "extra"], 7),
    ],
)
def test_a_query_asks_for_a_page_by_number_and_anything_else_means_the_newest(
    arguments: list[Any], meant: int | None
) -> None:
    assert read_cursor(arguments) == meant
    assert filled(1, 1).page(read_cursor(arguments)).total == 2


def told() -> Transcript:
    """A turn with one pause, told to its end."""
    state = turn_state()
    state.transcript.user_said("hi", NOW)
    pause = pause_round(state, requested("a"))
    state.close_pause(pause, "deadline", NOW)
    state.take_reply(reply(row=3, text="Nothing was booked.", finish_reason="stop"), NOW)
    state.output = final_output(state, None)
    state.end("completed", NOW)
    return state.transcript


def test_the_chunks_of_a_turn_are_numbered_and_end_with_one_marker() -> None:
    chunks = told().chunks.page().entries
    assert [chunk.sequence for chunk in chunks] == list(range(len(chunks)))
    assert [chunk.type for chunk in chunks] == [
        "usage_update",
        "step_finished",
        "tool_call_request",
        "tool_result",
        "text_delta",
        "usage_update",
        "step_finished",
        "final_response_marker",
    ]
    assert [chunk.is_final for chunk in chunks] == [False] * 7 + [True]
    assert {chunk.interaction_id for chunk in chunks} == {"turn-c1-t1"}


def test_the_messages_of_a_turn_stand_in_the_order_a_model_reads_them() -> None:
    messages = told().messages.page().entries
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[1]["toolCalls"] == [{"id": "a", "name": "book", "arguments": {}}]
    assert messages[2]["output"]["code"] == "EXTERNAL_TOOL_NOT_RUN"


def test_the_trace_tells_what_happened() -> None:
    kinds = [entry["type"] for entry in told().trace.page().entries]
    assert kinds[0] == "INTERACTION_START"
    assert {"LLM_CALL_COMPLETE", "TOOL_CALL_REQUESTED", "TOOL_EXECUTION_RESULT", "WARNING"} <= set(kinds)
    assert kinds[-1] == "INTERACTION_END"


def test_an_error_is_told_before_the_end() -> None:
    transcript = Transcript("t")
    transcript.ended(GMIOutput(is_final=True, error=ErrorDetails(code="LIMIT_COST", message="m" * 5_000)), NOW)
    assert [chunk.type for chunk in transcript.chunks.page().entries] == ["error", "final_response_marker"]
    assert transcript.chunks.page().entries[0].metadata == {"code": "LIMIT_COST"}
    assert len(transcript.trace.page().entries[0]["message"]) == 1_000


def test_a_large_message_of_parts_does_not_stop_the_walk() -> None:
    transcript = Transcript("t")
    image = ImagePart(image_url=ImageUrl(url="data:image/png;base64," + "A" * 1_200_000))
    transcript.user_said((TextPart(text="look"), image), NOW)
    transcript.got_result(ToolCallResult(tool_call_id="a", tool_name="b"), NOW, by_host=True)
    assert len([entry for page in walk(transcript.messages) for entry in page.entries]) == 2


def test_the_parts_of_a_small_message_are_told_whole() -> None:
    transcript = Transcript("t")
    transcript.user_said((TextPart(text="look"),), NOW)
    assert transcript.messages.page().entries[0]["content"] == [{"type": "text", "text": "look"}]
