"""Clocks that go back, or far ahead for once: every row keeps its frame, and no file forgets what is in force."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire.capture import Capture, Row, read_file, replay, segments
from kwire.capture.rows import RequestKey, to_rows
from tests.capture.answers import answer, at, decoded, metadata, silence

YEAR = 365 * 24 * 3600


def seen(rows: list[Row]) -> list[tuple[object, ...]]:
    """When, whom, and what was said, in an order that is the same for all."""
    return sorted(
        (
            (row.polled_at, row.broker_id, row.error if row.frame is None else repr(decoded(row).topics), row.error)
            for row in rows
        ),
        key=repr,
    )


def replayed_by_others(folder: Path) -> list[Row]:
    """As readers do that know a file and its columns only: sort by time, and take the last frame of the request."""
    rows = []
    for file in segments(folder):
        frames: dict[RequestKey, bytes | None] = {}
        in_file = [row for batch in read_file(file) for row in to_rows(batch)]
        for row in sorted(in_file, key=lambda row: row.polled_at):
            if row.frame is not None:
                frames[row.request_key] = row.frame
            if row.kind != "carried":
                rows.append(row._replace(frame=frames[row.request_key]) if row.kind == "same" else row)
    return rows


def test_an_answer_older_than_one_that_was_the_same_as_another_begins_a_file(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        first, again = answer(1, metadata(1)), answer(10, metadata(1))
        changed = answer(8, metadata(2))
        kept = [capture.append(row).kind for row in (first, again, changed, answer(9, metadata(2)))]

    assert kept == ["full", "same", "full", "same"]
    assert [file.first_row for file in segments(tmp_path)] == [0, 2]
    assert [(row.polled_at, decoded(row)) for row in replay(tmp_path)] == [
        (at(1), metadata(1)),
        (at(10), metadata(1)),
        (at(8), metadata(2)),
        (at(9), metadata(2)),
    ]


def test_rows_kept_by_one_call_may_fill_several_files_and_none_when_one_is_refused(tmp_path: Path) -> None:
    back = [answer(1, metadata(1)), answer(10, metadata(1)), answer(8, metadata(2)), answer(9, metadata(1))]
    with Capture(tmp_path) as capture:
        with pytest.raises(ValueError, match="'same', and there is no full frame"):
            capture.append_many([*back, silence(11, broker=2)._replace(kind="same", error=None)])
        assert (capture.next_row, list(replay(tmp_path))) == (0, [])

        capture.append_many(back)

    assert capture.next_row == 4
    assert seen(list(replay(tmp_path))) == seen(back)


def test_a_poll_of_the_far_future_makes_no_file_forget(tmp_path: Path) -> None:
    with Capture(tmp_path, roll_bytes=1) as capture:
        capture.append(answer(0, metadata(1), broker=1))
        capture.append(answer(5 * YEAR, metadata(1), broker=2))
        for seconds in (2, 3, 4):
            capture.append(answer(seconds, metadata(1), broker=2))

    carried = [
        [row.broker_id for batch in read_file(file) for row in to_rows(batch) if row.kind == "carried"]
        for file in segments(tmp_path)
    ]
    assert carried == [[], [1], [1, 2], [1, 2], [1, 2]]


def test_the_earliest_time_there_is_can_be_kept(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        capture.append(silence(0)._replace(polled_at=at(0).replace(year=1)))

    [row] = replay(tmp_path)
    assert row.polled_at.year == 1


calls = st.lists(
    st.tuples(
        st.booleans(),  # open the capture anew before
        st.lists(
            st.tuples(
                st.integers(0, 8),  # when
                st.integers(1, 2),  # the broker
                st.sampled_from([None, 1, 1, 2]),  # the leader, None for silence
            ),
            max_size=4,
        ),
    ),
    max_size=12,
)


@settings(max_examples=60)  # each makes files and forces them to disk
@given(calls, st.sampled_from([1, 3_000, 1 << 30]))
def test_whatever_the_clocks_every_row_keeps_its_frame(
    told: list[tuple[bool, list[tuple[int, int, int | None]]]], roll_bytes: int
) -> None:
    appended: list[Row] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        capture = Capture(folder, roll_bytes=roll_bytes)
        for anew, polls in told:
            if anew:
                capture.close()
                capture = Capture(folder, roll_bytes=roll_bytes)
            rows = [
                silence(when, broker) if leader is None else answer(when, metadata(leader), broker)
                for when, broker, leader in polls
            ]
            capture.append_many(rows)
            appended += rows
        live = list(replay(folder))
        capture.close()

        assert capture.next_row == len(appended)
        assert seen(live) == seen(list(replay(folder))) == seen(replayed_by_others(folder)) == seen(appended)
