"""The segments that a writer leaves on disk: rolling, carried rows, row numbers, and the lock."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kwire.capture import SCHEMA, Capture, CaptureInUse, Row, SegmentRollError, read_segment, replay, segments, writer
from tests.capture.sample_rows import at, decoded, error_row, metadata, response_row
from tests.eventually import eventually_sync

ROLL_AT_ONCE = 1


def rows_on_disk(folder: Path) -> list[list[tuple[str, int]]]:
    """Return kind and broker of the rows of each segment."""
    return [
        [
            (row["kind"], row["broker_id"])
            for batch in read_segment(segment)
            for row in batch.select(["kind", "broker_id"]).to_pylist()
        ]
        for segment in segments(folder)
    ]


def wait_until_closed(folder: Path, count: int) -> None:
    def is_rolled() -> bool:
        return sum(segment.is_closed for segment in segments(folder)) >= count and len(list(folder.glob("_tail*"))) <= 1

    eventually_sync(is_rolled, f"{count} closed segments")


def test_capture_has_dated_parquet_files_and_an_open_tail(tmp_path: Path) -> None:
    with Capture(tmp_path, roll_bytes=ROLL_AT_ONCE) as capture:
        capture.append_many([response_row(1, metadata(1)), response_row(0, metadata(2), broker=2)])
        capture.append(response_row(2, metadata(2)))
        wait_until_closed(tmp_path, 1)
        while_open = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    closed = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())

    first = "date=2026-11-21/part-20261121T140000.000000Z-20261121T140001.000000Z-000000000000.parquet"
    second = "date=2026-11-21/part-20261121T140002.000000Z-20261121T140002.000000Z-000000000002.parquet"
    assert while_open == ["_lock", "_tail-000000000002.arrows", first]
    assert closed == ["_lock", first, second]


def test_closed_segment_is_zstd_parquet(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        capture.append(response_row(0, metadata(1)))

    [segment] = segments(tmp_path)
    parquet = pq.ParquetFile(segment.path)
    assert parquet.schema_arrow.remove_metadata().equals(SCHEMA)
    columns = [parquet.metadata.row_group(0).column(index) for index in range(len(SCHEMA))]
    assert {column.compression for column in columns} == {"ZSTD"}


def test_every_segment_starts_with_carried_rows(tmp_path: Path) -> None:
    with Capture(tmp_path, roll_bytes=ROLL_AT_ONCE) as capture:
        capture.append(response_row(0, metadata(1), broker=1))
        capture.append(response_row(1, metadata(1), broker=2))
        capture.append(error_row(2, broker=2))
        capture.append(response_row(3, metadata(1, controller=3), broker=2))

    assert rows_on_disk(tmp_path) == [
        [("full", 1)],
        [("carried", 1), ("full", 2)],
        [("carried", 1), ("carried", 2), ("error", 2)],
        [("carried", 1), ("carried", 2), ("same", 2)],
    ]
    assert [segment.first_row for segment in segments(tmp_path)] == [0, 1, 2, 3]


def test_carried_row_keeps_its_time_and_controller(tmp_path: Path) -> None:
    with Capture(tmp_path, roll_bytes=ROLL_AT_ONCE) as capture:
        capture.append(response_row(0, metadata(1, controller=2)))
        capture.append(response_row(9, metadata(1, controller=3)))

    carried, same = (row for batch in read_segment(segments(tmp_path)[1]) for row in batch.to_pylist())
    assert (carried["kind"], carried["polled_at"], carried["controller_id"]) == ("carried", at(0), 2)
    assert (same["kind"], same["polled_at"], same["controller_id"]) == ("same", at(9), 3)
    assert decoded(response_row(0, metadata())._replace(frame=carried["frame"])) == metadata(1, controller=2)


def test_segment_ends_with_the_day(tmp_path: Path) -> None:
    seconds_to_midnight = 10 * 3600
    with Capture(tmp_path) as capture:
        for seconds in (-1, -0.5, 0, 0.5):
            capture.append(response_row(seconds_to_midnight + seconds, metadata(1)))

    assert [segment.path.parent.name for segment in segments(tmp_path)] == ["date=2026-11-21", "date=2026-11-22"]
    assert rows_on_disk(tmp_path) == [[("full", 1), ("same", 1)], [("carried", 1), ("same", 1), ("same", 1)]]


def test_segment_ends_after_roll_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(writer, "monotonic", lambda: now)
    with Capture(tmp_path, roll_seconds=60.0) as capture:
        capture.append(response_row(0, metadata(1)))
        now = 59.9
        capture.append(response_row(1, metadata(1)))
        now = 60.0
        capture.append(response_row(2, metadata(1)))

    assert [len(rows) for rows in rows_on_disk(tmp_path)] == [2, 2]


def test_request_without_responses_for_a_day_is_not_carried(tmp_path: Path) -> None:
    day = 24 * 3600
    with Capture(tmp_path) as capture:
        capture.append(response_row(0, metadata(1), broker=1))
        for hour in range(1, 49, 12):
            capture.append(response_row(hour * 3600, metadata(1), broker=2))
        capture.append(response_row(2 * day, metadata(1), broker=2))

    assert [rows[0] for rows in rows_on_disk(tmp_path)] == [("full", 1), ("carried", 1), ("carried", 2)]


def test_next_writer_continues_row_numbers(tmp_path: Path) -> None:
    for start in (0, 10, 20):
        with Capture(tmp_path) as capture:
            assert capture.next_row == 2 * start / 10
            assert capture.recovered == ()
            capture.append_many([response_row(start, metadata(1)), response_row(start + 1, metadata(1))])

    assert [segment.first_row for segment in segments(tmp_path)] == [0, 2, 4]
    assert rows_on_disk(tmp_path) == [
        [("full", 1), ("same", 1)],
        [("carried", 1), ("same", 1), ("same", 1)],
        [("carried", 1), ("same", 1), ("same", 1)],
    ]


def test_row_numbers_continue_after_all_segments_are_removed(tmp_path: Path) -> None:
    for start in (0, 10):
        with Capture(tmp_path) as capture:
            assert capture.next_row == 2 * start / 10
            capture.append_many([response_row(start, metadata(1)), response_row(start + 1, metadata(1))])
        for segment in segments(tmp_path):
            segment.path.unlink()

    with Capture(tmp_path) as capture:
        assert capture.next_row == 4


def test_unused_writer_leaves_only_the_lock(tmp_path: Path) -> None:
    with Capture(tmp_path / "new" / "folder") as capture:
        assert capture.append_many([]) == []

    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == ["_lock"]


def test_closed_writer_rejects_rows(tmp_path: Path) -> None:
    capture = Capture(tmp_path)
    capture.close()
    capture.close()

    with pytest.raises(ValueError, match="is closed"):
        capture.append(response_row(0, metadata(1)))


def test_second_writer_is_rejected(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        capture.append(response_row(0, metadata(1)))
        with pytest.raises(CaptureInUse, match=r"is being written by process \d+: a capture has one writer") as raised:
            Capture(tmp_path)
        capture.append(response_row(1, metadata(1)))

    assert raised.value.folder == tmp_path
    assert len(list(replay(tmp_path))) == 2


def test_forked_process_does_not_hold_the_lock(tmp_path: Path) -> None:
    program = (
        "import os, sys; from kwire.capture import Capture\n"
        "capture = Capture(sys.argv[1])\n"
        "if os.fork() == 0: input(); os._exit(0)\n"
        "capture.close(); Capture(sys.argv[1]).close(); print('again'); sys.stdout.flush(); os.wait()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]

    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)

    assert done.stdout == "again\n", done.stderr


def test_threads_append_while_segments_are_rolled(tmp_path: Path) -> None:
    """No row is lost, and the rows of a thread keep their order."""
    per_thread = 150

    def poll(broker: int) -> None:
        for number in range(per_thread):
            capture.append(response_row(number, metadata(number % 7), broker=broker))

    with Capture(tmp_path, roll_bytes=20_000, sync_seconds=0.01) as capture:
        threads = [threading.Thread(target=poll, args=(broker,)) for broker in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    for broker in (1, 2, 3):
        rows = [row for row in replay(tmp_path) if row.broker_id == broker]
        assert [row.polled_at for row in rows] == [at(number) for number in range(per_thread)]
        assert [decoded(row) for row in rows] == [metadata(number % 7) for number in range(per_thread)]
    assert len(segments(tmp_path)) > 5


def test_failed_roll_is_reported_and_retried(tmp_path: Path) -> None:
    in_the_way = tmp_path / "date=2026-11-21"
    in_the_way.write_text("not a folder")
    stored: list[Row] = []
    with Capture(tmp_path, roll_bytes=ROLL_AT_ONCE) as capture:
        stored += [capture.append(response_row(0, metadata(1))), capture.append(response_row(1, metadata(2)))]
        with pytest.raises(SegmentRollError, match=r"_tail-[0-9]{12}\.arrows: cannot be converted"):  # noqa: PT012  # the flusher fails some time later
            while True:
                stored.append(capture.append(error_row(len(stored))))
                time.sleep(0.01)
        assert [row.polled_at for row in replay(tmp_path)] == [row.polled_at for row in stored]

        in_the_way.unlink()
        for row in (error_row(len(stored)), response_row(1000, metadata(2))):
            while True:
                with suppress(SegmentRollError):  # the flusher was retrying during the removal
                    stored.append(capture.append(row))
                    break

    assert in_the_way.is_dir()
    assert all(segment.is_closed for segment in segments(tmp_path))
    assert [row.polled_at for row in replay(tmp_path)] == [row.polled_at for row in stored]


def test_append_with_sync(tmp_path: Path) -> None:
    with Capture(tmp_path, sync_seconds=0) as capture:
        capture.append_many([response_row(0, metadata(1)), response_row(1, metadata(1))])

    assert rows_on_disk(tmp_path) == [[("full", 1), ("same", 1)]]
