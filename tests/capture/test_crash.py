"""Captures after crashes, full disks, and damage: appended rows are readable, and no other rows appear."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kwire.capture import Capture, Row, SegmentRollError, read, replay, segments
from kwire.capture.tail import TailReader
from tests.capture.sample_rows import at, error_row, metadata, response_row

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

ROOT = Path(__file__).parent.parent.parent

WRITES_UNTIL_KILLED = """
import sys
from kwire.capture import Capture
from tests.capture.sample_rows import response_row, metadata

with Capture(sys.argv[1], roll_bytes=int(sys.argv[2])) as capture:
    for number in range(1_000_000):
        capture.append(response_row(number, metadata(*range(number % 5), controller=number % 3)))
        print(number, flush=True)  # the reader expects the row from now on
"""

WRITES_TO_A_FULL_DISK = """
import errno, resource, signal, sys
from kwire.capture import Capture, CaptureWriteError
from tests.capture.sample_rows import response_row, metadata

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Capture(sys.argv[1]) as capture:
    stored = 0
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    try:
        for number in range(1_000):
            capture.append(response_row(number, metadata(number)))
            stored += 1
    except CaptureWriteError as error:
        print(stored, error.rows, errno.errorcode[error.__cause__.errno])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    for number in range(stored, stored + 10):
        capture.append(response_row(number, metadata(number)))
"""


def times(folder: Path) -> list[float]:
    return [(row.polled_at - at(0)).total_seconds() for row in replay(folder)]


@pytest.mark.parametrize("roll_bytes", [1 << 30, 30_000, 1], ids=["one tail", "some segments", "a segment per row"])
def test_killed_writer_loses_no_appended_row(tmp_path: Path, roll_bytes: int) -> None:
    command = [sys.executable, "-c", WRITES_UNTIL_KILLED, str(tmp_path), str(roll_bytes)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) >= 200:
                break
        writer.send_signal(signal.SIGKILL)
        printed = [200, *(int(line) for line in writer.stdout.read().split("\n")[:-1])]

    before = times(tmp_path)
    with Capture(tmp_path) as capture:
        recovered_rows = sum(found.rows for found in capture.recovered)
        assert times(tmp_path) == before
        assert capture.next_row == len(before)
        capture.append(error_row(5_000_000))

    assert before == list(range(len(before)))
    assert printed[-1] + 1 <= len(before) <= printed[-1] + 2  # one more may be appended but not printed
    assert 0 < recovered_rows <= len(before)
    assert times(tmp_path) == [*before, 5_000_000]
    assert all(segment.is_closed for segment in segments(tmp_path))


def sample_rows() -> list[Row]:
    return [
        response_row(0, metadata(1, 2)),
        response_row(1, metadata(1, 2, controller=2)),
        error_row(2),
        response_row(3, metadata(2, 2), broker=2),
        response_row(4, metadata(1, 3)),
    ]


def write_tail(folder: Path) -> tuple[bytes, list[int]]:
    """Return the bytes of an open tail, and the offset at which each of its batches ends."""
    ends = []
    tail = folder / "_tail-000000000000.arrows"
    with Capture(folder) as capture:
        for row in sample_rows():
            capture.append(row)
            ends.append(tail.stat().st_size)
        data = tail.read_bytes()
    return data, ends


def test_tail_truncated_at_any_byte_keeps_every_row_before(tmp_path: Path) -> None:
    """All readers read the batches of a tail. Whole reads follow around the end of each batch."""
    data, ends = write_tail(tmp_path / "whole")
    folder = tmp_path / "cut"
    folder.mkdir()
    tail = folder / "_tail-000000000000.arrows"

    for cut in range(len(data) + 1):
        tail.write_bytes(data[:cut])
        expected = [at(number) for number in range(sum(end <= cut for end in ends))]

        assert times_of(TailReader(tail)) == expected, cut
        if any(abs(cut - end) <= 8 for end in (0, *ends)):
            assert times_of(read(folder)) == expected, cut


def times_of(batches: Iterable[pa.RecordBatch]) -> list[datetime]:
    return [time for batch in batches for time in batch.column("polled_at").to_pylist()]


def test_next_writer_recovers_complete_batches_and_reports_torn_bytes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Cut within the schema, around the end of every batch, and throughout the last batch."""
    data, ends = write_tail(tmp_path / "whole")
    cuts = {0, 1, 7, 100, *range(ends[-2], len(data), 29), *(end + step for end in ends for step in (-9, -1, 0, 1, 9))}
    cuts = {cut for cut in cuts if cut <= len(data)}

    for cut in sorted(cuts):
        folder = tmp_path / str(cut)
        folder.mkdir()
        tail = folder / "_tail-000000000000.arrows"
        tail.write_bytes(data[:cut])
        whole = sum(end <= cut for end in ends)
        caplog.clear()
        with caplog.at_level(logging.WARNING, "kwire.capture"), Capture(folder) as capture:
            [found] = capture.recovered
            assert capture.next_row == whole

        assert (found.tail, found.rows) == (tail, whole)
        assert times(folder) == list(range(whole))
        assert (found.segment is not None) == (whole > 0)
        assert not tail.exists()
        # Without a complete batch, torn bytes start after the schema.
        start = ends[whole - 1] if whole else 0
        assert found.torn_bytes == cut - start or whole == 0
        assert bool(caplog.messages) == (found.torn_bytes > 0)


@pytest.mark.parametrize("filler", [b"\x00", b"\xff"], ids=["zeros", "ones"])
def test_blocks_missing_after_a_power_failure_are_torn(tmp_path: Path, filler: bytes) -> None:
    """After a power failure the file may have its length but not its bytes."""
    data, ends = write_tail(tmp_path / "whole")
    for end in ends[:-1]:
        folder = tmp_path / f"{end}"
        folder.mkdir()
        (folder / "_tail-000000000000.arrows").write_bytes(data[:end] + filler * (len(data) - end))

        with Capture(folder) as capture:
            [found] = capture.recovered

        assert found.torn_bytes == len(data) - end
        assert times(folder) == list(range(1 + ends.index(end)))


@pytest.mark.parametrize("damage", ["zeros to the end", "one bit"])
def test_damaged_tail_yields_only_written_rows(tmp_path: Path, damage: str) -> None:
    data, ends = write_tail(tmp_path / "whole")
    written = list(replay(tmp_path / "whole"))
    folder = tmp_path / "damaged"
    folder.mkdir()
    tail = folder / "_tail-000000000000.arrows"

    for offset in range(0, len(data), 7):
        changed = bytes([data[offset] ^ 4]) + data[offset + 1 :] if damage == "one bit" else bytes(len(data) - offset)
        tail.write_bytes(data[:offset] + changed)

        rows = list(replay(folder))

        assert rows == written[: len(rows)], offset
        assert len(rows) >= sum(end <= offset for end in ends), offset


def test_tail_with_another_schema_is_torn_entirely(tmp_path: Path) -> None:
    tail = tmp_path / "_tail-000000000000.arrows"
    with pa.OSFile(str(tail), "wb") as file, pa.ipc.new_stream(file, pa.schema([("kind", pa.int8())])) as stream:
        stream.write_table(pa.table({"kind": pa.array([1, 2], pa.int8())}))
    size = tail.stat().st_size

    with Capture(tmp_path) as capture:
        [found] = capture.recovered

    assert (found.rows, found.torn_bytes) == (0, size)


def test_tail_is_an_arrow_stream(tmp_path: Path) -> None:
    data, ends = write_tail(tmp_path)

    assert pa.ipc.open_stream(data).read_all().num_rows == len(ends)


def test_full_disk_raises_and_later_rows_are_stored(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITES_TO_A_FULL_DISK, str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    stored, failed, errno_name = run.stdout.split()

    assert int(stored) > 5
    assert (int(failed), errno_name) == (1, "EFBIG")
    assert times(tmp_path) == list(range(int(stored) + 10))


def test_crash_before_the_tail_is_removed_duplicates_no_row(tmp_path: Path) -> None:
    """The parquet file is renamed, and the tail still exists."""
    data, _ = write_tail(tmp_path)
    before = times(tmp_path)
    (tmp_path / "_tail-000000000000.arrows").write_bytes(data)

    assert times(tmp_path) == before
    with Capture(tmp_path) as capture:
        assert capture.recovered == ()
        assert capture.next_row == len(before)
    assert times(tmp_path) == before


def test_partial_parquet_file_is_ignored_and_removed(tmp_path: Path) -> None:
    data, _ = write_tail(tmp_path)
    [segment] = segments(tmp_path)
    before = times(tmp_path)
    whole = segment.path.read_bytes()
    segment.path.unlink()
    unfinished = tmp_path / "_part-000000000000.parquet.writing"
    unfinished.write_bytes(whole[: len(whole) // 2])
    (tmp_path / "_tail-000000000000.arrows").write_bytes(data)

    assert times(tmp_path) == before
    Capture(tmp_path).close()
    assert times(tmp_path) == before
    assert not unfinished.exists()


def test_tail_that_cannot_be_rolled_is_kept_and_reported(tmp_path: Path) -> None:
    data, _ = write_tail(tmp_path / "whole")
    (tmp_path / "_tail-000000000000.arrows").write_bytes(data)
    in_the_way = tmp_path / "date=2026-11-21"
    in_the_way.write_text("not a folder")

    with pytest.raises(SegmentRollError, match=r"_tail-000000000000\.arrows: cannot be converted to a parquet file"):
        Capture(tmp_path)

    assert times(tmp_path) == list(range(5))
    in_the_way.unlink()
    Capture(tmp_path).close()
    assert times(tmp_path) == list(range(5))


def test_lock_is_released_when_the_process_dies(tmp_path: Path) -> None:
    program = (
        "import os, sys; from kwire.capture import Capture\n"
        "with Capture(sys.argv[1]): print(os.getpid(), flush=True); input()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        process_id = int(holder.stdout.readline())
        with pytest.raises(RuntimeError, match=f"process {process_id}"):
            Capture(tmp_path)
        os.kill(process_id, signal.SIGKILL)

    Capture(tmp_path).close()
