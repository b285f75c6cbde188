"""Texts for people: times beyond the calendar of Python."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from kwire._util.readable import counted, time_text
from tests.for_rows import for_rows


@given(st.integers(0, 253_402_300_799_999))
def test_times_of_the_calendar_are_those_of_python(timestamp_ms: int) -> None:
    expected = datetime.fromtimestamp(timestamp_ms // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    assert time_text(timestamp_ms) == f"{expected}.{timestamp_ms % 1000:03}Z"


@for_rows(
    "timestamp_ms, text",
    [
        (253_402_300_800_000, "+10000-01-01T00:00:00Z"),
        (10**15, "+33658-09-27T01:46:40Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (-62_167_219_200_001, "-0001-12-31T23:59:59Z"),
        (2**63 - 1, "+292278994-08-17T07:12:55Z"),
        (-(2**63), "-292275055-05-16T16:47:04Z"),
    ],
)
def test_every_int64_is_a_time(timestamp_ms: int, text: str) -> None:
    assert time_text(timestamp_ms, "T", milliseconds=False) == text  # as Java's Instant prints it


@given(st.integers(0, 10**6), st.sampled_from(["partition", "batch", "new replica"]))
def test_counted_nouns_agree_with_their_number(count: int, noun: str) -> None:
    number, _, text = counted(count, noun).partition(" ")
    assert number == f"{count:,}"
    assert text == (noun if count == 1 else {"batch": "batches"}.get(noun, f"{noun}s"))
