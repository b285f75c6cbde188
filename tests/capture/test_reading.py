"""What readers see: every row once, in order, every 'same' with its frame, from any moment on, also while it grows."""

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
from tests.capture.answers import answer, at, decoded, metadata, silence


def kinds(batches: list[pa.RecordBatch]) -> list[tuple[str, float]]:
    return [(row["kind"], (row["polled_at"] - at(0)).total_seconds()) for batch in batches for row in batch.to_pylist()]


def test_rows_come_in_order_of_time_whatever_the_order_of_appending(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        capture.append_many(
            [answer(2, metadata(1), broker=2), answer(1, metadata(1), broker=1), silence(1.5, broker=3)]
        )

        [batch] = read(tmp_path)

    assert batch.schema == SCHEMA
    assert [row.broker_id for row in replay(tmp_path)] == [1, 3, 2]


def test_a_slice_begins_with_what_was_in_force(tmp_path: Path) -> None:
    with Capture(tmp_path, roll_bytes=1) as capture:
        capture.append(answer(0, metadata(1)))
        capture.append(answer(1, metadata(2)))
        capture.append(silence(2))
        capture.append(answer(3, metadata(2)))
        capture.append(answer(4, metadata(3)))

    assert kinds(list(read(tmp_path))) == [("full", 0), ("full", 1), ("error", 2), ("same", 3), ("full", 4)]
    assert kinds(list(read(tmp_path, since=at(2)))) == [("carried", 1), ("error", 2), ("same", 3), ("full", 4)]
    assert kinds(list(read(tmp_path, since=at(3), until=at(4)))) == [("carried", 1), ("same", 3)]
    assert kinds(list(read(tmp_path, until=at(1)))) == [("full", 0)]
    assert kinds(list(read(tmp_path, since=at(9)))) == [("carried", 4)]
    assert list(read(tmp_path, until=at(0))) == []


def test_what_is_older_than_the_oldest_file_is_carried_by_it(tmp_path: Path) -> None:
    """Somebody removes old files."""
    with Capture(tmp_path, roll_bytes=1) as capture:
        for seconds in range(3):
            capture.append(answer(seconds, metadata(1)))
    segments(tmp_path)[0].path.unlink()

    assert kinds(list(read(tmp_path))) == [("carried", 0), ("same", 1), ("same", 2)]
    assert [decoded(row) for row in replay(tmp_path)] == [metadata(1)] * 2


def test_replay_gives_the_same_frame_again_without_a_copy(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        capture.append(answer(0, metadata(1, controller=1)))
        capture.append(answer(1, metadata(1, controller=2)))
        first, second = replay(tmp_path)

    assert first.frame is second.frame
    assert (first.kind, second.kind) == ("full", "same")
    assert (first.controller_id, second.controller_id) == (1, 2)


@pytest.mark.parametrize("speed", [0, -1, float("nan")])
def test_a_speed_that_is_none_is_refused(tmp_path: Path, speed: float) -> None:
    with pytest.raises(ValueError, match="speed is"):
        next(replay(tmp_path, speed=speed))


def test_replay_at_the_speed_of_life(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        for seconds in (0, 1, 3):
            capture.append(answer(seconds, metadata(1)))

    begun = time.monotonic()
    seen = [time.monotonic() - begun for _ in replay(tmp_path, speed=10)]

    assert seen[1] >= 0.1
    assert seen[2] >= 0.3


def test_a_reader_follows_a_writer_at_work(tmp_path: Path) -> None:
    """Each look sees a beginning of what is appended, no less than the look before, while files are closed."""
    total = 300
    done = threading.Event()

    def write() -> None:
        with Capture(tmp_path, roll_bytes=10_000) as capture:
            for number in range(total):
                capture.append(answer(number, metadata(number % 3)))
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen, looks = 0, 0
    while not done.is_set():
        if (tmp_path / "_lock").exists():
            rows = [row.polled_at for row in replay(tmp_path)]
            assert rows == [at(number) for number in range(len(rows))]
            assert len(rows) >= seen
            seen, looks = len(rows), looks + 1
    writer.join()

    assert looks > 3
    assert len(list(replay(tmp_path))) == total


def test_a_folder_that_is_none_and_a_same_without_its_frame_are_errors(tmp_path: Path) -> None:
    with pytest.raises(NotACapture, match="there is no such folder"):
        list(read(tmp_path / "nowhere"))
    with pytest.raises(NotACapture, match="there is nothing of a capture"):
        list(read(tmp_path))
    with Capture(tmp_path) as capture:
        capture.append(answer(0, metadata(1)))
        [tail] = tmp_path.glob("_tail*")
        schema_and_first = tail.stat().st_size
        capture.append(answer(1, metadata(1)))
        data = tail.read_bytes()
    segments(tmp_path)[0].path.unlink()
    messages = pa.ipc.MessageReader.open_stream(stream := pa.BufferReader(data))
    messages.read_next_message()
    schema = stream.tell()
    tail.write_bytes(data[:schema] + data[schema_and_first:])

    with pytest.raises(NoFullFrame):
        list(replay(tmp_path))


@pytest.mark.parametrize("broken", [b"", b"PAR1 and no more"])
def test_a_part_that_is_broken_is_named(tmp_path: Path, broken: bytes) -> None:
    with Capture(tmp_path) as capture:
        capture.append(answer(0, metadata(1)))
    [file] = segments(tmp_path)
    file.path.write_bytes(broken)

    for look in (lambda: list(read(tmp_path)), lambda: [Capture(tmp_path)]):
        with pytest.raises(UnreadableCapture) as raised:
            look()
        assert raised.value.path == file.path


polls = st.lists(
    st.tuples(
        st.integers(1, 2),  # the broker
        st.sampled_from([None, (), (1,), (2,), (1, 2)]),  # leaders, None for silence
        st.integers(1, 3),  # the controller
        st.booleans(),  # other order
        st.sampled_from([0.0, 1.0, 1.0, 1.0, -2.5]),  # seconds since the last poll
        st.booleans(),  # reopen before
    ),
    max_size=25,
)


def turned(message: MetadataResponse) -> MetadataResponse:
    return replace(message, brokers=message.brokers[::-1], topics=message.topics[::-1])


def said(row: Row) -> object:
    """What counts of an answer, in some order."""
    if row.frame is None:
        return row.error
    message = decoded(row)
    brokers = sorted(message.brokers, key=lambda broker: broker.node_id)
    return row.controller_id, brokers, sorted(message.topics, key=lambda topic: topic.name or "")


@settings(max_examples=40)  # each makes files and forces them to disk
@given(polls, st.sampled_from([1, 3_000, 1 << 30]), st.floats(-3, 26))
def test_whatever_was_appended_is_replayed(
    told: list[tuple[int, tuple[int, ...] | None, int, bool, float, bool]], roll_bytes: int, since: float
) -> None:
    """Also when clocks go back, files roll after any row, and readers begin anywhere."""
    appended: list[Row] = []
    now = 0.0
    with TemporaryDirectory() as folder:
        capture = Capture(folder, roll_bytes=roll_bytes)
        for broker, leaders, controller, other_order, seconds, reopen in told:
            if reopen:
                capture.close()
                capture = Capture(folder, roll_bytes=roll_bytes)
            now += seconds
            message = metadata(*(leaders or ()), controller=controller)
            row = answer(now, turned(message) if other_order else message, broker)
            if leaders is None:
                row = silence(now, broker)
            capture.append(row)
            appended.append(row._replace(controller_id=None if leaders is None else controller))
        live = list(replay(folder))
        capture.close()
        closed = list(replay(folder))
        late = list(replay(folder, since=at(since)))

    def by_broker_and_time(rows: list[Row]) -> list[tuple[int, timedelta, object]]:
        return sorted(((row.broker_id, row.polled_at - at(0), said(row)) for row in rows), key=repr)

    assert by_broker_and_time(live) == by_broker_and_time(appended)
    assert by_broker_and_time(closed) == by_broker_and_time(appended)
    assert by_broker_and_time(late) == by_broker_and_time([row for row in appended if row.polled_at >= at(since)])
