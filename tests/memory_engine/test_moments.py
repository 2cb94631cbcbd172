from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memory_engine.moments import milliseconds


@pytest.mark.parametrize(
    "instant",
    [
        1767225600000,
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=9))),
        datetime(2025, 12, 31, 16, tzinfo=timezone(timedelta(hours=-8))),
    ],
)
def test_an_instant_is_the_same_number_in_every_time_zone(instant: int | datetime) -> None:
    assert milliseconds(instant) == 1767225600000


def test_milliseconds_are_kept_and_the_rest_cut() -> None:
    assert milliseconds(datetime(1970, 1, 1, 0, 0, 1, 999_999, tzinfo=UTC)) == 1999


def test_a_moment_without_a_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        milliseconds(datetime(2026, 1, 1))  # noqa: DTZ001
