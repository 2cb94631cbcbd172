"""Event streams in any pieces, as real servers and proxies write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.streaming_events import MAX_LINE_BYTES, EventDecoder, LineTooLongError, looks_like_events


def read(raw: bytes, *, step: int | None = None) -> list[str]:
    decoder, events = EventDecoder(), []
    for start in range(0, len(raw), step or max(1, len(raw))):
        events += decoder.feed(raw[start : start + (step or len(raw))])
    return events + decoder.end()


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("step", [1, 3, None])
def test_it_reads_every_line_end_in_every_piece(line_end: str, step: int | None) -> None:
    raw = 'data: {"a": 1}\n\n: keep-alive\n\nevent: x\nid: 3\ndata:{"b": "ü"}\n\ndata: [DONE]\n\n'.replace(
        "\n", line_end
    )
    assert read(raw.encode(), step=step) == ['{"a": 1}', '{"b": "ü"}', "[DONE]"]


def test_it_joins_the_lines_of_one_event() -> None:
    assert read(b'data: {"a":\ndata: 1}\n\n') == ['{"a":\n1}']


def test_it_divides_events_that_no_empty_line_divides() -> None:
    assert read(b'data: {"a": 1}\ndata: {"b": 2}\ndata: [DONE]\n') == ['{"a": 1}', '{"b": 2}', "[DONE]"]


def test_it_reads_a_last_event_without_an_end() -> None:
    assert read(b'data: {"a": 1}\n\ndata: [DONE]') == ['{"a": 1}', "[DONE]"]


def test_it_leaves_out_a_byte_order_mark_and_what_is_no_data() -> None:
    assert read(b"\xef\xbb\xbfdata: 1\n\nretry: 5\nnonsense\n\n") == ["1"]


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        (b'event: error\ndata: {"message": "slow"}\n\n', ['{"error": {"message": "slow"}}']),
        (b"data: Overloaded\nevent: error\n\n", ['{"error": "Overloaded"}']),
        (b'event: error\ndata: {"error": {"code": 1}}\n\ndata: 2\n\n', ['{"error": {"code": 1}}', "2"]),
        (b"event: error\n\ndata: 1\n\nevent: ping\ndata: 2\n\n", ["1", "2"]),
        (b'data: {"a": 1}\nevent: error\ndata: "slow"\n', ['{"a": 1}', '{"error": "slow"}']),
    ],
)
def test_an_event_named_error_is_one_in_whatever_form(raw: bytes, data: list[str]) -> None:
    assert read(raw) == read(raw, step=1) == data


@given(
    texts=st.lists(st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1), max_size=5),
    step=st.integers(1, 9),
)
def test_it_gives_back_any_data(texts: list[str], step: int) -> None:
    events = [f"x{text.strip()}" for text in texts]
    assert read("".join(f"data: {event}\n\n" for event in events).encode(), step=step) == events


def test_it_gives_up_a_line_without_end() -> None:
    decoder = EventDecoder()
    decoder.feed(b"x" * MAX_LINE_BYTES)
    with pytest.raises(LineTooLongError):
        decoder.feed(b"x")


@pytest.mark.parametrize(
    ("beginning", "is_stream"),
    [(b"data: {}", True), (b": OPENROUTER PROCESSING", True), (b"\r\nevent: x", True), (b"id: 1", True),
     (b'{"choices": []}', False), (b"<html>", False), (b"", False), (b"[DONE]", False)],
)  # fmt: skip
def test_it_tells_a_stream_by_its_beginning(beginning: bytes, is_stream: bool) -> None:
    assert looks_like_events(beginning) is is_stream
