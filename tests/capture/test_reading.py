"""Reading and replaying captures, from any time on and while a writer appends."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire.capture import SCHEMA, Capture, NoFullFrame, NotACapture, Row, UnreadableCapture, read, replay, segments
from kwire.messages.kafka.metadata import MetadataResponse
from tests.capture.sample_rows import at, decoded, error_row, metadata, response_row


def kinds(batches: list[pa.RecordBatch]) -> list[tuple[str, float]]:
    return [(row["kind"], (row["polled_at"] - at(0)).total_seconds()) for batch in batches for row in batch.to_pylist()]


def test_rows_are_sorted_by_time(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        capture.append_many(
            [response_row(2, metadata(1), broker=2), response_row(1, metadata(1), broker=1), error_row(1.5, broker=3)]
        )

        [batch] = read(tmp_path)

    assert batch.schema == SCHEMA
    assert [row.broker_id for row in replay(tmp_path)] == [1, 3, 2]


def test_read_since_starts_with_carried_rows(tmp_path: Path) -> None:
    with Capture(tmp_path, roll_bytes=1) as capture:
        capture.append(response_row(0, metadata(1)))
        capture.append(response_row(1, metadata(2)))
        capture.append(error_row(2))
        capture.append(response_row(3, metadata(2)))
        capture.append(response_row(4, metadata(3)))

    assert kinds(list(read(tmp_path))) == [("full", 0), ("full", 1), ("error", 2), ("same", 3), ("full", 4)]
    assert kinds(list(read(tmp_path, since=at(2)))) == [("carried", 1), ("error", 2), ("same", 3), ("full", 4)]
    assert kinds(list(read(tmp_path, since=at(3), until=at(4)))) == [("carried", 1), ("same", 3)]
    assert kinds(list(read(tmp_path, until=at(1)))) == [("full", 0)]
    assert kinds(list(read(tmp_path, since=at(9)))) == [("carried", 4)]
    assert list(read(tmp_path, until=at(0))) == []


def test_removed_segments_are_covered_by_carried_rows(tmp_path: Path) -> None:
    """Old segments may be removed."""
    with Capture(tmp_path, roll_bytes=1) as capture:
        for seconds in range(3):
            capture.append(response_row(seconds, metadata(1)))
    segments(tmp_path)[0].path.unlink()

    assert kinds(list(read(tmp_path))) == [("carried", 0), ("same", 1), ("same", 2)]
    assert [decoded(row) for row in replay(tmp_path)] == [metadata(1)] * 2


def test_replay_returns_the_same_frame_object(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        capture.append(response_row(0, metadata(1, controller=1)))
        capture.append(response_row(1, metadata(1, controller=2)))
        first, second = replay(tmp_path)

    assert first.frame is second.frame
    assert (first.kind, second.kind) == ("full", "same")
    assert (first.controller_id, second.controller_id) == (1, 2)


@pytest.mark.parametrize("speed", [0, -1, float("nan")])
def test_invalid_speed_is_rejected(tmp_path: Path, speed: float) -> None:
    with pytest.raises(ValueError, match="speed must be above 0"):
        next(replay(tmp_path, speed=speed))


def test_replay_waits_between_polls(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        for seconds in (0, 1, 3):
            capture.append(response_row(seconds, metadata(1)))

    begun = time.monotonic()
    seen = [time.monotonic() - begun for _ in replay(tmp_path, speed=10)]

    assert seen[1] >= 0.1
    assert seen[2] >= 0.3


def test_reader_sees_a_growing_prefix(tmp_path: Path) -> None:
    """Each read returns a prefix of the appended rows, never shorter than before, while segments are rolled."""
    least = 300
    looks = 0
    done = threading.Event()

    def write() -> None:
        with Capture(tmp_path, roll_bytes=10_000) as capture:
            while capture.next_row < least or looks < 4:
                capture.append(response_row(capture.next_row, metadata(capture.next_row % 3)))
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = 0
    while not done.is_set():
        if (tmp_path / "_lock").exists():
            rows = [row.polled_at for row in replay(tmp_path)]
            assert rows == [at(number) for number in range(len(rows))]
            assert len(rows) >= seen
            seen, looks = len(rows), looks + 1
    writer.join()

    rows = [row.polled_at for row in replay(tmp_path)]
    assert rows == [at(number) for number in range(len(rows))]
    assert len(rows) >= max(seen, least)


def test_invalid_folder_and_missing_frame_are_errors(tmp_path: Path) -> None:
    with pytest.raises(NotACapture, match="the folder does not exist"):
        list(read(tmp_path / "nowhere"))
    with pytest.raises(NotACapture, match="the folder is not a capture"):
        list(read(tmp_path))
    with Capture(tmp_path) as capture:
        capture.append(response_row(0, metadata(1)))
        [tail] = tmp_path.glob("_tail*")
        schema_and_first = tail.stat().st_size
        capture.append(response_row(1, metadata(1)))
        data = tail.read_bytes()
    segments(tmp_path)[0].path.unlink()
    messages = pa.ipc.MessageReader.open_stream(stream := pa.BufferReader(data))
    messages.read_next_message()
    schema = stream.tell()
    tail.write_bytes(data[:schema] + data[schema_and_first:])

    with pytest.raises(NoFullFrame):
        list(replay(tmp_path))


@pytest.mark.parametrize("broken", [b"", b"PAR1 and no more"])
def test_damaged_segment_is_reported(tmp_path: Path, broken: bytes) -> None:
    with Capture(tmp_path) as capture:
        capture.append(response_row(0, metadata(1)))
    [segment] = segments(tmp_path)
    segment.path.write_bytes(broken)

    for read_damaged in (lambda: list(read(tmp_path)), lambda: [Capture(tmp_path)]):
        with pytest.raises(UnreadableCapture) as raised:
            read_damaged()
        assert raised.value.path == segment.path


polls = st.lists(
    st.tuples(
        st.integers(1, 2),  # the broker
        st.sampled_from([None, (), (1,), (2,), (1, 2)]),  # leaders, None for a failed poll
        st.integers(1, 3),  # the controller
        st.booleans(),  # reversed order
        st.sampled_from([0.0, 1.0, 1.0, 1.0, -2.5]),  # seconds since the last poll
        st.booleans(),  # reopen the capture before
    ),
    max_size=25,
)


def reordered(message: MetadataResponse) -> MetadataResponse:
    return replace(message, brokers=message.brokers[::-1], topics=message.topics[::-1])


def content(row: Row) -> object:
    """Return the compared content of a row in a fixed order."""
    if row.frame is None:
        return row.error
    message = decoded(row)
    brokers = sorted(message.brokers, key=lambda broker: broker.node_id)
    return row.controller_id, brokers, sorted(message.topics, key=lambda topic: topic.name or "")


@settings(max_examples=40)  # each example syncs files
@given(polls, st.sampled_from([1, 3_000, 1 << 30]), st.floats(-3, 26))
def test_every_appended_row_is_replayed(
    history: list[tuple[int, tuple[int, ...] | None, int, bool, float, bool]], roll_bytes: int, since: float
) -> None:
    """Clocks go back, segments roll after any row, and readers start at any time."""
    appended: list[Row] = []
    now = 0.0
    with TemporaryDirectory() as folder:
        capture = Capture(folder, roll_bytes=roll_bytes)
        for broker, leaders, controller, is_reordered, seconds, reopen in history:
            if reopen:
                capture.close()
                capture = Capture(folder, roll_bytes=roll_bytes)
            now += seconds
            message = metadata(*(leaders or ()), controller=controller)
            row = response_row(now, reordered(message) if is_reordered else message, broker)
            if leaders is None:
                row = error_row(now, broker)
            capture.append(row)
            appended.append(row._replace(controller_id=None if leaders is None else controller))
        live = list(replay(folder))
        capture.close()
        closed = list(replay(folder))
        late = list(replay(folder, since=at(since)))

    def by_broker_and_time(rows: list[Row]) -> list[tuple[int, timedelta, object]]:
        return sorted(((row.broker_id, row.polled_at - at(0), content(row)) for row in rows), key=repr)

    assert by_broker_and_time(live) == by_broker_and_time(appended)
    assert by_broker_and_time(closed) == by_broker_and_time(appended)
    assert by_broker_and_time(late) == by_broker_and_time([row for row in appended if row.polled_at >= at(since)])
