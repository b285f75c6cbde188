"""What a writer leaves on disk: files that roll, begin with what is in force, and count their rows."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kwire.capture import SCHEMA, Capture, CaptureInUse, Row, SegmentRollError, read_file, replay, segments
from tests.capture.answers import answer, at, decoded, metadata, silence

ROLL_AT_ONCE = 1


def rows_on_disk(folder: Path) -> list[list[tuple[str, int]]]:
    """Of each file, kind and broker of its rows."""
    return [
        [
            (row["kind"], row["broker_id"])
            for batch in read_file(file)
            for row in batch.select(["kind", "broker_id"]).to_pylist()
        ]
        for file in segments(folder)
    ]


def wait_until_closed(folder: Path, parts: int) -> None:
    deadline = time.monotonic() + 20
    while sum(file.is_closed for file in segments(folder)) < parts or len(list(folder.glob("_tail*"))) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_capture_is_parquet_by_date_and_an_open_tail(tmp_path: Path) -> None:
    with Capture(tmp_path, roll_bytes=ROLL_AT_ONCE) as capture:
        capture.append_many([answer(1, metadata(1)), answer(0, metadata(2), broker=2)])
        capture.append(answer(2, metadata(2)))
        wait_until_closed(tmp_path, 1)
        while_open = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    closed = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())

    first = "date=2026-11-21/part-20261121T140000.000000Z-20261121T140001.000000Z-000000000000.parquet"
    second = "date=2026-11-21/part-20261121T140002.000000Z-20261121T140002.000000Z-000000000002.parquet"
    assert while_open == ["_lock", "_tail-000000000002.arrows", first]
    assert closed == ["_lock", first, second]


def test_closed_files_are_zstd_parquet_of_the_schema(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        capture.append(answer(0, metadata(1)))

    [file] = segments(tmp_path)
    parquet = pq.ParquetFile(file.path)
    assert parquet.schema_arrow.remove_metadata().equals(SCHEMA)
    columns = [parquet.metadata.row_group(0).column(place) for place in range(len(SCHEMA))]
    assert {column.compression for column in columns} == {"ZSTD"}


def test_every_file_begins_with_what_was_in_force(tmp_path: Path) -> None:
    with Capture(tmp_path, roll_bytes=ROLL_AT_ONCE) as capture:
        capture.append(answer(0, metadata(1), broker=1))
        capture.append(answer(1, metadata(1), broker=2))
        capture.append(silence(2, broker=2))
        capture.append(answer(3, metadata(1, controller=3), broker=2))

    assert rows_on_disk(tmp_path) == [
        [("full", 1)],
        [("carried", 1), ("full", 2)],
        [("carried", 1), ("carried", 2), ("error", 2)],
        [("carried", 1), ("carried", 2), ("same", 2)],
    ]
    assert [file.first_row for file in segments(tmp_path)] == [0, 1, 2, 3]


def test_a_carried_row_is_the_full_one_of_its_time(tmp_path: Path) -> None:
    with Capture(tmp_path, roll_bytes=ROLL_AT_ONCE) as capture:
        capture.append(answer(0, metadata(1, controller=2)))
        capture.append(answer(9, metadata(1, controller=3)))

    carried, same = (row for batch in read_file(segments(tmp_path)[1]) for row in batch.to_pylist())
    assert (carried["kind"], carried["polled_at"], carried["controller_id"]) == ("carried", at(0), 2)
    assert (same["kind"], same["polled_at"], same["controller_id"]) == ("same", at(9), 3)
    assert decoded(answer(0, metadata())._replace(frame=carried["frame"])) == metadata(1, controller=2)


def test_a_file_ends_with_the_day(tmp_path: Path) -> None:
    seconds_to_midnight = 10 * 3600
    with Capture(tmp_path) as capture:
        for seconds in (-1, -0.5, 0, 0.5):
            capture.append(answer(seconds_to_midnight + seconds, metadata(1)))

    assert [file.path.parent.name for file in segments(tmp_path)] == ["date=2026-11-21", "date=2026-11-22"]
    assert rows_on_disk(tmp_path) == [[("full", 1), ("same", 1)], [("carried", 1), ("same", 1), ("same", 1)]]


def test_a_file_ends_after_some_time(tmp_path: Path) -> None:
    with Capture(tmp_path, roll_seconds=1.0) as capture:
        capture.append(answer(0, metadata(1)))
        capture.append(answer(1, metadata(1)))
        time.sleep(1.1)
        capture.append(answer(2, metadata(1)))

    assert [len(rows) for rows in rows_on_disk(tmp_path)] == [2, 2]


def test_a_request_that_is_no_longer_asked_is_no_longer_carried(tmp_path: Path) -> None:
    day = 24 * 3600
    with Capture(tmp_path) as capture:
        capture.append(answer(0, metadata(1), broker=1))
        for hour in range(1, 49, 12):
            capture.append(answer(hour * 3600, metadata(1), broker=2))
        capture.append(answer(2 * day, metadata(1), broker=2))

    assert [rows[0] for rows in rows_on_disk(tmp_path)] == [("full", 1), ("carried", 1), ("carried", 2)]


def test_rows_are_counted_on_by_the_next_writer(tmp_path: Path) -> None:
    for start in (0, 10, 20):
        with Capture(tmp_path) as capture:
            assert capture.next_row == 2 * start / 10
            assert capture.recovered == ()
            capture.append_many([answer(start, metadata(1)), answer(start + 1, metadata(1))])

    assert [file.first_row for file in segments(tmp_path)] == [0, 2, 4]
    assert rows_on_disk(tmp_path) == [
        [("full", 1), ("same", 1)],
        [("carried", 1), ("same", 1), ("same", 1)],
        [("carried", 1), ("same", 1), ("same", 1)],
    ]


def test_rows_are_counted_on_when_all_parts_were_removed(tmp_path: Path) -> None:
    for start in (0, 10):
        with Capture(tmp_path) as capture:
            assert capture.next_row == 2 * start / 10
            capture.append_many([answer(start, metadata(1)), answer(start + 1, metadata(1))])
        for file in segments(tmp_path):
            file.path.unlink()

    with Capture(tmp_path) as capture:
        assert capture.next_row == 4


def test_a_writer_that_wrote_nothing_leaves_nothing(tmp_path: Path) -> None:
    with Capture(tmp_path / "new" / "folder") as capture:
        assert capture.append_many([]) == []

    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == ["_lock"]


def test_a_closed_writer_takes_no_more(tmp_path: Path) -> None:
    capture = Capture(tmp_path)
    capture.close()
    capture.close()

    with pytest.raises(ValueError, match="is closed"):
        capture.append(answer(0, metadata(1)))


def test_a_second_writer_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        capture.append(answer(0, metadata(1)))
        with pytest.raises(CaptureInUse, match=r"is being written by process \d+: a capture has one writer") as raised:
            Capture(tmp_path)
        capture.append(answer(1, metadata(1)))

    assert raised.value.folder == tmp_path
    assert len(list(replay(tmp_path))) == 2


def test_a_process_that_was_forked_does_not_keep_the_folder(tmp_path: Path) -> None:
    program = (
        "import os, sys; from kwire.capture import Capture\n"
        "capture = Capture(sys.argv[1])\n"
        "if os.fork() == 0: input(); os._exit(0)\n"
        "capture.close(); Capture(sys.argv[1]).close(); print('again'); sys.stdout.flush(); os.wait()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]

    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)

    assert done.stdout == "again\n", done.stderr


def test_appends_go_on_while_files_are_closed(tmp_path: Path) -> None:
    """Many files to close, and threads that append meanwhile; nothing is lost and rows keep their order."""
    per_thread = 150

    def poll(broker: int) -> None:
        for number in range(per_thread):
            capture.append(answer(number, metadata(number % 7), broker=broker))

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


def test_a_file_that_cannot_be_closed_is_reported_kept_readable_and_tried_again(tmp_path: Path) -> None:
    in_the_way = tmp_path / "date=2026-11-21"
    in_the_way.write_text("not a folder")
    kept: list[Row] = []
    with Capture(tmp_path, roll_bytes=ROLL_AT_ONCE) as capture:
        kept += [capture.append(answer(0, metadata(1))), capture.append(answer(1, metadata(2)))]
        with pytest.raises(SegmentRollError, match=r"_tail-[0-9]{12}\.arrows: cannot be closed"):  # noqa: PT012  in time
            while True:
                kept.append(capture.append(silence(len(kept))))
                time.sleep(0.01)
        assert [row.polled_at for row in replay(tmp_path)] == [row.polled_at for row in kept]

        in_the_way.unlink()
        for row in (silence(len(kept)), answer(1000, metadata(2))):
            while True:
                with suppress(SegmentRollError):  # it was being tried while we removed it
                    kept.append(capture.append(row))
                    break

    assert in_the_way.is_dir()
    assert all(file.is_closed for file in segments(tmp_path))
    assert [row.polled_at for row in replay(tmp_path)] == [row.polled_at for row in kept]


def test_appends_forced_to_disk_each(tmp_path: Path) -> None:
    with Capture(tmp_path, sync_seconds=0) as capture:
        capture.append_many([answer(0, metadata(1)), answer(1, metadata(1))])

    assert rows_on_disk(tmp_path) == [[("full", 1), ("same", 1)]]
