from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.durations import LONGEST, parse_duration


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("PT90S", timedelta(seconds=90)),
        ("PT2M30S", timedelta(seconds=150)),
        ("PT1.5H", timedelta(minutes=90)),
        ("P7D", timedelta(days=7)),
        ("P1W", timedelta(days=7)),
        ("P1DT12H", timedelta(hours=36)),
        ("P1M", timedelta(days=30)),
        ("PT1M", timedelta(minutes=1)),
        ("P1Y", timedelta(days=365)),
        ("P3650D", LONGEST),
        ("PT0.001S", timedelta(milliseconds=1)),
    ],
)
def test_a_duration_is_read_as_people_write_it(text: str, length: timedelta) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    "text",
    [
        "",
        "P",
        "PT",
        "7 days",
        "90",
        "1D",
        "PT90",
        "-P1D",
        "P-1D",
        "PT-5S",
        "00:05:00",
        " PT90S",
        "PT90S ",
        "P1D\x00",
        "P٣D",
    ],
)
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="not an ISO 8601 duration such as PT90S or P7D"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["PT0S", "P0D", "P3651D", "P20Y"])
def test_a_duration_without_length_or_without_end_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="between zero and ten years"):
        parse_duration(text)


def test_a_refusal_repeats_only_the_beginning_of_what_was_sent() -> None:
    with pytest.raises(ValueError) as refusal:
        parse_duration("P" + "9" * 100_000 + "D")
    assert len(str(refusal.value)) < 120


@given(st.text(max_size=30) | st.from_regex(r"P\d{0,12}[YMWD]?(T\d{0,12}[HMS]?)?", fullmatch=True))
def test_any_text_is_a_length_in_bounds_or_a_value_error(text: str) -> None:
    try:
        length = parse_duration(text)
    except ValueError:
        return
    assert timedelta() < length <= LONGEST
