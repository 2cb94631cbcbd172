"""The chunks of a turn in both databases: numbers without a gap, one writer of a reply, one end."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.contracts import PlacedResult
from activities.conversation import AssistantMessage, ErrorDetails, GMIOutput, ToolCall, ToolCallResult, ToolMessage
from activities.store import chunks as chunk_rows
from activities.store.chunk_store import ChunkStore, ReplyPlace
from activities.store.chunks import StreamStatus
from activities.store.database import Database, open_database
from activities.store.errors import ReplyTaken, TurnClosed, TurnNotFound
from activities.store.turn_store import TurnStore
from activities.streaming_chunks import GMIOutputChunk, reply_drafts, text_of_chunks
from tests.activities.store.values import begin, commit, said

PLACE = ReplyPlace("t1", row=1, round=0)


@pytest.fixture
def chunks(database: Database) -> ChunkStore:
    return ChunkStore(database)


@pytest.fixture
def sqlite_database(sqlite_file: Path) -> Iterator[Database]:
    database = open_database(f"sqlite:///{sqlite_file}")
    yield database
    database.close()


@pytest.fixture
def streaming(store: TurnStore) -> TurnStore:
    """The store with turn `t1` open, which streams."""
    store.claim(begin(options={"stream": True}), "p")
    return store


def all_of(chunks: ChunkStore, turn: str = "t1") -> list[GMIOutputChunk]:
    return chunks.read(turn, 0, 1_000_000)


def types_of(chunks: ChunkStore, turn: str = "t1") -> list[str]:
    read = all_of(chunks, turn)
    assert [chunk.sequence for chunk in read] == list(range(1, len(read) + 1))
    return [chunk.type for chunk in read]


def finish(chunks: ChunkStore, attempt: int | None, text: str, rest: str = "", place: ReplyPlace = PLACE) -> None:
    message = AssistantMessage(content=text, meta={"usage": {"promptTokens": 1}, "finishReason": "stop", "model": "m"})
    chunks.finish(place, attempt, message, rest, reply_drafts(message, place.row, place.round, ()))


def result(row: int, output: Any = "done") -> tuple[int, ToolMessage]:
    return row, ToolMessage(result=ToolCallResult(tool_call_id=f"call{row}", tool_name="w", output=output))


def test_a_reply_is_shown_and_finished_in_order(streaming: TurnStore, chunks: ChunkStore) -> None:
    attempt = chunks.show(PLACE, None, "Hello ")
    assert chunks.show(PLACE, attempt, "wor") == attempt == 1
    finish(chunks, attempt, "Hello world", "ld")
    streaming.commit(commit())
    read = all_of(chunks)
    assert types_of(chunks) == [*["text_delta"] * 3, "usage_update", "step_finished", "final_response_marker"]
    assert text_of_chunks(read) == "Hello world"
    assert [chunk.is_final for chunk in read] == [*[False] * 5, True]
    assert read[0].metadata == {"row": 1, "round": 0, "attempt": 1}
    assert dict(streaming.rows("t1"))[1].model_dump()["content"] == "Hello world"


def test_the_next_attempt_withdraws_what_the_one_before_showed(streaming: TurnStore, chunks: ChunkStore) -> None:
    chunks.show(PLACE, None, "one ")
    chunks.show(PLACE, 1, "and more")
    assert chunks.show(PLACE, None, "two") == 2
    read = all_of(chunks)
    assert read[2].metadata["replaces"] == [1, 2]
    assert [chunk.content for chunk in read] == ["", "", "", "two"]
    assert text_of_chunks(read) == "two"
    with pytest.raises(ReplyTaken):
        chunks.show(PLACE, 1, "late")
    with pytest.raises(ReplyTaken):
        finish(chunks, 1, "one and more")
    with pytest.raises(ReplyTaken):
        chunks.withdraw(PLACE, 1)
    finish(chunks, 2, "two")
    streaming.commit(commit(rows=2))
    assert text_of_chunks(all_of(chunks)) == "two"
    assert [chunk.type for chunk in all_of(chunks)[4:]] == ["usage_update", "step_finished", "final_response_marker"]


def test_a_reader_that_saw_the_first_attempt_ends_with_the_second_alone(
    streaming: TurnStore, chunks: ChunkStore
) -> None:
    chunks.show(PLACE, None, "one ")
    seen = all_of(chunks)
    chunks.show(PLACE, None, "two")
    assert text_of_chunks([*seen, *chunks.read("t1", seen[-1].sequence, 100)]) == "two"


def test_a_withdrawn_attempt_leaves_no_text(streaming: TurnStore, chunks: ChunkStore) -> None:
    attempt = chunks.show(PLACE, None, "one ")
    chunks.withdraw(PLACE, attempt)
    assert text_of_chunks(all_of(chunks)) == ""
    chunks.withdraw(PLACE, attempt)
    assert len(all_of(chunks)) == 2, "nothing stood to be withdrawn again"


def test_a_reply_that_stands_takes_no_more_text_and_is_not_withdrawn(streaming: TurnStore, chunks: ChunkStore) -> None:
    attempt = chunks.show(PLACE, None, "one")
    finish(chunks, attempt, "one")
    with pytest.raises(ReplyTaken):
        chunks.show(PLACE, None, "two")
    with pytest.raises(ReplyTaken):
        chunks.withdraw(PLACE, attempt)
    assert text_of_chunks(all_of(chunks)) == "one"


def test_results_of_tools_are_told_once_and_do_not_stop_a_writer(streaming: TurnStore, chunks: ChunkStore) -> None:
    calls = AssistantMessage(tool_calls=(ToolCall(id="call2", name="w"), ToolCall(id="call3", name="w")))
    chunks.finish(PLACE, None, calls, "", ())
    streaming.put_rows("t1", [result(2)])
    next_reply = ReplyPlace("t1", row=4, round=1)
    attempt = chunks.show(next_reply, None, "text")
    run = streaming.start_tool_run("t1", "call3", "digest")
    late = ToolCallResult(tool_call_id="call3", tool_name="w", output={"a": 1})
    streaming.finish_tool_run(run.key, late, 3)
    streaming.finish_tool_run(run.key, late, 3)
    streaming.put_rows("t1", [result(2)])
    chunks.show(next_reply, attempt, " goes on")
    assert types_of(chunks) == ["tool_result", "text_delta", "tool_result", "text_delta"]
    told = all_of(chunks)[2].content
    assert told == {"toolCallId": "call3", "name": "w", "result": {"a": 1}, "isError": False}


def test_a_turn_that_does_not_stream_has_no_chunks(store: TurnStore, chunks: ChunkStore) -> None:
    store.claim(begin(), "p")
    store.put_rows("t1", [(1, said("hello")), result(2)])
    store.commit(commit())
    assert all_of(chunks) == []
    assert chunks.status("t1") == StreamStatus(is_open=False, streams=False, last=0)
    assert chunks.status("nobody") is None


def test_an_answer_that_asks_for_a_stream_gets_what_went_before_too(store: TurnStore, chunks: ChunkStore) -> None:
    store.claim(begin(), "p")
    store.put_rows("t1", [(1, said("before")), result(2)])
    chunks.show(ReplyPlace("t1", row=3, round=1), None, "after")
    assert text_of_chunks(all_of(chunks)) == "before\nafter"
    assert chunks.status("t1") == StreamStatus(is_open=True, streams=True, last=4)


def test_a_reply_that_was_not_streamed_is_told_whole(streaming: TurnStore, chunks: ChunkStore) -> None:
    streaming.put_rows("t1", [(1, said("chosen"))])
    streaming.put_rows("t1", [(1, said("chosen"))])
    assert types_of(chunks) == ["text_delta", "step_finished"]


@pytest.mark.parametrize("state", ["failed", "cancelled", "superseded"])
def test_an_early_end_withdraws_the_reply_under_way_and_tells_the_rest(
    streaming: TurnStore, chunks: ChunkStore, state: Any
) -> None:
    call = AssistantMessage(content="Let me look.", tool_calls=(ToolCall(id="call2", name="w"),))
    chunks.finish(PLACE, None, call, "Let me look.", ())
    chunks.show(ReplyPlace("t1", row=3, round=1), None, "never finis")
    close = commit(state=state, rows=3)
    error = ErrorDetails(code="E", message="it broke", details={"a": 1})
    streaming.commit(close.model_copy(update={"output": GMIOutput(is_final=True, error=error)}))
    read = all_of(chunks)
    assert types_of(chunks)[2:] == ["text_delta", "tool_result", "error", "final_response_marker"]
    assert text_of_chunks(read) == "Let me look."
    assert read[-2].error_details == error
    assert read[-1].metadata == {"state": state}


def test_results_that_come_with_the_end_are_told(streaming: TurnStore, chunks: ChunkStore) -> None:
    chunks.finish(PLACE, None, AssistantMessage(tool_calls=(ToolCall(id="call2", name="w"),)), "", ())
    placed = PlacedResult(row=2, result=ToolCallResult(tool_call_id="call2", tool_name="w", output=5))
    streaming.commit(commit(results=(placed,)))
    assert types_of(chunks) == ["tool_result", "final_response_marker"]


def test_an_end_is_told_once_and_takes_nothing_after_it(streaming: TurnStore, chunks: ChunkStore) -> None:
    attempt = chunks.show(PLACE, None, "hello")
    streaming.commit(commit(rows=1))
    streaming.commit(commit(rows=1))
    with pytest.raises(TurnClosed):
        chunks.show(PLACE, attempt, " there")
    with pytest.raises(TurnClosed):
        chunks.withdraw(PLACE, attempt)
    assert types_of(chunks)[-1] == "final_response_marker"
    assert types_of(chunks).count("final_response_marker") == 1


def test_a_turn_that_is_taken_over_ends_too(streaming: TurnStore, chunks: ChunkStore) -> None:
    chunks.show(PLACE, None, "hello")
    assert streaming.take_over("c1", "t1", "r1", 5, "its holder is gone")
    assert types_of(chunks)[-2:] == ["error", "final_response_marker"]
    assert text_of_chunks(all_of(chunks)) == ""


def test_a_run_that_was_reset_after_the_end_goes_on_with_the_next_number(
    streaming: TurnStore, chunks: ChunkStore
) -> None:
    finish(chunks, None, "one", "one")
    streaming.commit(commit(state="failed", rows=2))
    streaming.claim(begin(run="r2", first="r1", options={"stream": True}), "p")
    assert not any(chunk.is_final for chunk in all_of(chunks))
    streaming.commit(commit(rows=2))
    assert types_of(chunks)[-1] == "final_response_marker"
    assert types_of(chunks).count("final_response_marker") == 1


def test_a_run_that_was_reset_and_takes_another_way_tells_that_way(streaming: TurnStore, chunks: ChunkStore) -> None:
    def says(row: int, text: str) -> None:
        reply = AssistantMessage(content=text, tool_calls=(ToolCall(id=f"call{row + 1}", name="w"),))
        chunks.finish(ReplyPlace("t1", row=row, round=row), None, reply, text, ())

    says(1, "one")
    streaming.put_rows("t1", [result(2)])
    says(3, "two")
    streaming.put_rows("t1", [result(4)])
    streaming.put_rows("t1", [result(2, "another")])
    says(3, "three")
    streaming.put_rows("t1", [result(4, "another")])
    read = all_of(chunks)
    assert text_of_chunks(read) == "one\nthree"
    assert [chunk.content["result"] for chunk in read if chunk.type == "tool_result"] == ["done", "done", "another"]


def test_a_first_run_that_begins_anew_tells_from_the_beginning(streaming: TurnStore, chunks: ChunkStore) -> None:
    chunks.show(PLACE, None, "one")
    streaming.commit(commit(state="failed", rows=1))
    streaming.claim(begin(run="r2", options={"stream": True}), "p")
    assert all_of(chunks) == []
    assert chunks.show(PLACE, None, "two") == 1


def test_writers_at_the_same_moment_make_numbers_without_a_gap(streaming: TurnStore, chunks: ChunkStore) -> None:
    runs = [streaming.start_tool_run("t1", f"call{row}", "d") for row in range(2, 12)]
    attempt = chunks.show(PLACE, None, "a")

    def tell(row: int) -> None:
        done = ToolCallResult(tool_call_id=f"call{row}", tool_name="w")
        streaming.finish_tool_run(runs[row - 2].key, done, row)
        chunks.show(PLACE, attempt, "b")

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(tell, range(2, 12)))
    assert len(types_of(chunks)) == 21


WRITES = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["show", "show", "finish", "withdraw", "read"])), max_size=25
)
FRESH = count()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(writes=WRITES)
def test_however_attempts_get_in_each_others_way_every_reader_ends_with_the_reply_that_stands(
    sqlite_database: Database, writes: list[tuple[int, str]]
) -> None:
    """Three attempts of one reply and a reader, in any order; those that are refused stop, as a worker's do."""
    turn, store, chunks = f"t{next(FRESH)}", TurnStore(sqlite_database), ChunkStore(sqlite_database)
    store.claim(begin(turn, turn, at=turn, options={"stream": True}), "p")
    place, seen = ReplyPlace(turn, row=1, round=0), list[GMIOutputChunk]()
    attempts: dict[int, int | None] = dict.fromkeys(range(4))
    texts = dict.fromkeys(attempts, "")
    for writer, write in [*writes, (3, "show"), (3, "finish")]:
        if write == "read":
            seen += chunks.read(turn, len(seen), 1_000)
        if write == "read" or writer not in attempts:
            continue
        attempt = attempts[writer]
        try:
            if write == "show":
                attempts[writer] = chunks.show(place, attempt, f"{writer} ")
                texts[writer] += f"{writer} "
            elif write == "finish":
                finish(chunks, attempt, texts[writer] or "short", "" if texts[writer] else "short", place)
                del attempts[writer]
            elif attempt is not None:
                chunks.withdraw(place, attempt)
                del attempts[writer]
        except ReplyTaken:
            del attempts[writer]
    store.commit(commit(turn, at=turn))
    seen += chunks.read(turn, len(seen), 1_000)
    [stands] = [message for row, message in store.rows(turn) if row == 1]
    assert isinstance(stands, AssistantMessage)
    assert (
        text_of_chunks(seen).strip() == text_of_chunks(all_of(chunks, turn)).strip() == (stands.content or "").strip()
    )
    assert types_of(chunks, turn).count("final_response_marker") == 1


def test_an_unknown_turn_takes_no_text(chunks: ChunkStore) -> None:
    with pytest.raises(TurnNotFound):
        chunks.show(PLACE, None, "hello")


@pytest.mark.parametrize("text", ["\x00 NUL", "half \ud83d of a pair", "👩‍👩‍👧 日本語", "x" * 50_000])
def test_any_text_is_told(streaming: TurnStore, chunks: ChunkStore, text: str) -> None:
    chunks.show(PLACE, None, text)
    assert text_of_chunks(all_of(chunks)) == text.replace("\ud83d", "\ufffd")


def test_a_turn_tells_so_much_and_its_end(
    streaming: TurnStore, chunks: ChunkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_rows, "MAX_CHUNKS", 5)
    attempt = None
    for _ in range(8):
        attempt = chunks.show(PLACE, attempt, "a")
    finish(chunks, attempt, "a" * 8)
    next_reply = ReplyPlace("t1", row=2, round=1)
    again = chunks.show(next_reply, None, "b")
    chunks.show(next_reply, again, "b")
    finish(chunks, again, "bb", place=next_reply)
    streaming.commit(commit())
    assert types_of(chunks) == [*["text_delta"] * 5, "final_response_marker"]
    assert all_of(chunks)[4].metadata == {"truncated": True}
    assert dict(streaming.rows("t1"))[2].model_dump()["content"] == "bb"


def test_chunks_are_removed_a_day_after_the_end(streaming: TurnStore, chunks: ChunkStore) -> None:
    streaming.commit(commit())
    ended = int(all_of(chunks)[-1].timestamp.timestamp() * 1000)
    streaming.claim(begin("t2", "r2", options={"stream": True}), "p")
    streaming.commit(commit("t2").model_copy(update={"now_ms": ended + chunk_rows.KEPT_MS + 60_000}))
    assert all_of(chunks) == []
    assert chunks.status("t1") == StreamStatus(is_open=False, streams=True, last=0)
