"""Captures with a clock that goes back or jumps ahead: every row finds its frame, and carried rows stay complete."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire.capture import Capture, Row, read_segment, replay, segments
from kwire.capture.rows import RequestKey, RowKind, to_rows
from tests.capture.sample_rows import at, decoded, error_row, metadata, response_row

YEAR = 365 * 24 * 3600


def comparable(rows: list[Row]) -> list[tuple[object, ...]]:
    """Return time, broker, and content of the rows in a fixed order."""
    return sorted(
        (
            (row.polled_at, row.broker_id, row.error if row.frame is None else repr(decoded(row).topics), row.error)
            for row in rows
        ),
        key=repr,
    )


def replay_by_columns(folder: Path) -> list[Row]:
    """Read as a tool without kwire does: sort each segment by time and use the last frame of the request."""
    rows = []
    for segment in segments(folder):
        frames: dict[RequestKey, bytes | None] = {}
        in_segment = [row for batch in read_segment(segment) for row in to_rows(batch)]
        for row in sorted(in_segment, key=lambda row: row.polled_at):
            if row.frame is not None:
                frames[row.request_key] = row.frame
            if row.kind != "carried":
                rows.append(row._replace(frame=frames[row.request_key]) if row.kind == "same" else row)
    return rows


def test_full_response_older_than_a_same_row_starts_a_segment(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        first, again = response_row(1, metadata(1)), response_row(10, metadata(1))
        changed = response_row(8, metadata(2))
        kinds = [capture.append(row).kind for row in (first, again, changed, response_row(9, metadata(2)))]

    assert kinds == ["full", "same", "full", "same"]
    assert [segment.first_row for segment in segments(tmp_path)] == [0, 2]
    assert [(row.polled_at, decoded(row)) for row in replay(tmp_path)] == [
        (at(1), metadata(1)),
        (at(10), metadata(1)),
        (at(8), metadata(2)),
        (at(9), metadata(2)),
    ]


def test_append_many_spans_segments_or_stores_nothing(tmp_path: Path) -> None:
    back = [
        response_row(1, metadata(1)),
        response_row(10, metadata(1)),
        response_row(8, metadata(2)),
        response_row(9, metadata(1)),
    ]
    with Capture(tmp_path) as capture:
        with pytest.raises(ValueError, match="'same', but no full frame precedes it"):
            capture.append_many([*back, error_row(11, broker=2)._replace(kind=RowKind.SAME, error=None)])
        assert (capture.next_row, list(replay(tmp_path))) == (0, [])

        capture.append_many(back)

    assert capture.next_row == 4
    assert comparable(list(replay(tmp_path))) == comparable(back)


def test_poll_far_ahead_keeps_carried_rows(tmp_path: Path) -> None:
    with Capture(tmp_path, roll_bytes=1) as capture:
        capture.append(response_row(0, metadata(1), broker=1))
        capture.append(response_row(5 * YEAR, metadata(1), broker=2))
        for seconds in (2, 3, 4):
            capture.append(response_row(seconds, metadata(1), broker=2))

    carried = [
        [row.broker_id for batch in read_segment(segment) for row in to_rows(batch) if row.kind == "carried"]
        for segment in segments(tmp_path)
    ]
    assert carried == [[], [1], [1, 2], [1, 2], [1, 2]]


def test_earliest_time_is_stored(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        capture.append(error_row(0)._replace(polled_at=at(0).replace(year=1)))

    [row] = replay(tmp_path)
    assert row.polled_at.year == 1


calls = st.lists(
    st.tuples(
        st.booleans(),  # reopen the capture before
        st.lists(
            st.tuples(
                st.integers(0, 8),  # seconds
                st.integers(1, 2),  # the broker
                st.sampled_from([None, 1, 1, 2]),  # the leader, None for a failed poll
            ),
            max_size=4,
        ),
    ),
    max_size=12,
)


@settings(max_examples=60)  # each example syncs files
@given(calls, st.sampled_from([1, 3_000, 1 << 30]))
def test_every_row_finds_its_frame_whatever_the_clock(
    history: list[tuple[bool, list[tuple[int, int, int | None]]]], roll_bytes: int
) -> None:
    appended: list[Row] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        capture = Capture(folder, roll_bytes=roll_bytes)
        for reopen, polls in history:
            if reopen:
                capture.close()
                capture = Capture(folder, roll_bytes=roll_bytes)
            rows = [
                error_row(seconds, broker) if leader is None else response_row(seconds, metadata(leader), broker)
                for seconds, broker, leader in polls
            ]
            capture.append_many(rows)
            appended += rows
        live = list(replay(folder))
        capture.close()

        assert capture.next_row == len(appended)
        assert (
            comparable(live)
            == comparable(list(replay(folder)))
            == comparable(replay_by_columns(folder))
            == comparable(appended)
        )
