"""Times as integers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from kwire.metadata.timestamps import microseconds


def test_microseconds_are_exact() -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    for time, expected in (
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), -1),
        (last, 253_402_300_799_999_999),  # a float has 53 bits: `timestamp` returns ...800.0
        (last.replace(tzinfo=timezone(timedelta(hours=1))), 253_402_297_199_999_999),
        (datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), 1_767_323_045_000_006),
    ):
        assert microseconds(time) == expected
    assert round(last.timestamp() * 1_000_000) != microseconds(last)


def test_time_without_a_zone_is_local() -> None:
    naive = datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001  # as Spark returns times
    assert microseconds(naive) == round(naive.timestamp()) * 1_000_000
    assert microseconds(None) is None
