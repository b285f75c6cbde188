"""Whatever becomes of the writer: what was appended can be read, and what was not is not made up."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from kwire.capture import SCHEMA, Capture, Row, SegmentRollError, read, replay, segments
from kwire.capture.rows import to_batch
from tests.capture.answers import answer, at, metadata, silence

ROOT = Path(__file__).parent.parent.parent

WRITES_UNTIL_KILLED = """
import sys
from kwire.capture import Capture
from tests.capture.answers import answer, metadata

with Capture(sys.argv[1], roll_bytes=int(sys.argv[2])) as capture:
    for number in range(1_000_000):
        capture.append(answer(number, metadata(*range(number % 5), controller=number % 3)))
        print(number, flush=True)  # only now does the other side expect it
"""

WRITES_TO_A_FULL_DISK = """
import resource, signal, sys
from kwire.capture import Capture, CaptureWriteError
from tests.capture.answers import answer, metadata

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Capture(sys.argv[1]) as capture:
    kept = 0
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    try:
        for number in range(1_000):
            capture.append(answer(number, metadata(number)))
            kept += 1
    except CaptureWriteError as error:
        print(kept, error.rows, error.__cause__.strerror)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    for number in range(kept, kept + 10):
        capture.append(answer(number, metadata(number)))
"""


def times(folder: Path) -> list[float]:
    return [(row.polled_at - at(0)).total_seconds() for row in replay(folder)]


@pytest.mark.parametrize("roll_bytes", [1 << 30, 30_000, 1], ids=["one tail", "some files", "a file a row"])
def test_a_killed_writer_loses_nothing_that_it_had_appended(tmp_path: Path, roll_bytes: int) -> None:
    command = [sys.executable, "-c", WRITES_UNTIL_KILLED, str(tmp_path), str(roll_bytes)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) >= 200:
                break
        writer.send_signal(signal.SIGKILL)
        said = [200, *(int(line) for line in writer.stdout.read().split("\n")[:-1])]

    before = times(tmp_path)
    with Capture(tmp_path) as capture:
        taken_over = sum(found.rows for found in capture.recovered)
        assert times(tmp_path) == before
        assert capture.next_row == len(before)
        capture.append(silence(5_000_000))

    assert before == list(range(len(before)))
    assert said[-1] + 1 <= len(before) <= said[-1] + 2  # it may have appended one more than it could say
    assert 0 < taken_over <= len(before)
    assert times(tmp_path) == [*before, 5_000_000]
    assert all(file.is_closed for file in segments(tmp_path))


def some_rows() -> list[Row]:
    return [
        answer(0, metadata(1, 2)),
        answer(1, metadata(1, 2, controller=2)),
        silence(2),
        answer(3, metadata(2, 2), broker=2),
        answer(4, metadata(1, 3)),
    ]


def tail_of(folder: Path) -> tuple[bytes, list[int]]:
    """The bytes of a tail that was never closed, and where its batches end: schema first."""
    ends = []
    tail = folder / "_tail-000000000000.arrows"
    with Capture(folder) as capture:
        for row in some_rows():
            capture.append(row)
            ends.append(tail.stat().st_size)
        data = tail.read_bytes()
    return data, ends


def test_a_tail_cut_at_any_byte_gives_every_row_before_the_cut(tmp_path: Path) -> None:
    data, ends = tail_of(tmp_path / "whole")
    folder = tmp_path / "cut"
    folder.mkdir()
    tail = folder / "_tail-000000000000.arrows"

    for cut in range(len(data) + 1):
        tail.write_bytes(data[:cut])

        rows = [row for batch in read(folder) for row in batch.column("polled_at").to_pylist()]

        assert rows == [at(number) for number in range(sum(end <= cut for end in ends))], cut


def test_the_next_writer_takes_whole_batches_over_and_says_what_it_cut_off(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Within the schema, around the end of every batch, and throughout the last."""
    data, ends = tail_of(tmp_path / "whole")
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
        assert (found.part is not None) == (whole > 0)
        assert not tail.exists()
        # Behind the schema alone torn bytes begin at its end, which no row marks.
        start = ends[whole - 1] if whole else 0
        assert found.torn_bytes == cut - start or whole == 0
        assert bool(caplog.messages) == (found.torn_bytes > 0)


@pytest.mark.parametrize("filler", [b"\x00", b"\xff"], ids=["zeros", "ones"])
def test_blocks_that_never_reached_the_disk_are_not_taken_for_rows(tmp_path: Path, filler: bytes) -> None:
    """After a loss of power the file may have its length and not its bytes."""
    data, ends = tail_of(tmp_path / "whole")
    for end in ends[:-1]:
        folder = tmp_path / f"{end}"
        folder.mkdir()
        (folder / "_tail-000000000000.arrows").write_bytes(data[:end] + filler * (len(data) - end))

        with Capture(folder) as capture:
            [found] = capture.recovered

        assert found.torn_bytes == len(data) - end
        assert times(folder) == list(range(1 + ends.index(end)))


@pytest.mark.parametrize("damage", ["zeros from there on", "a bit"])
def test_damage_anywhere_in_a_tail_gives_no_row_that_was_not_written(tmp_path: Path, damage: str) -> None:
    data, ends = tail_of(tmp_path / "whole")
    written = list(replay(tmp_path / "whole"))
    folder = tmp_path / "damaged"
    folder.mkdir()
    tail = folder / "_tail-000000000000.arrows"

    for place in range(0, len(data), 7):
        changed = bytes([data[place] ^ 4]) + data[place + 1 :] if damage == "a bit" else bytes(len(data) - place)
        tail.write_bytes(data[:place] + changed)

        rows = list(replay(folder))

        assert rows == written[: len(rows)], place
        assert len(rows) >= sum(end <= place for end in ends), place


def test_a_tail_that_is_another_stream_is_torn_from_its_start(tmp_path: Path) -> None:
    tail = tmp_path / "_tail-000000000000.arrows"
    with pa.OSFile(str(tail), "wb") as file, pa.ipc.new_stream(file, pa.schema([("kind", pa.int8())])) as stream:
        stream.write_table(pa.table({"kind": pa.array([1, 2], pa.int8())}))
    size = tail.stat().st_size

    with Capture(tmp_path) as capture:
        [found] = capture.recovered

    assert (found.rows, found.torn_bytes) == (0, size)


def test_a_tail_that_was_written_without_checksums_is_read(tmp_path: Path) -> None:
    rows = [answer(0, metadata(1))._replace(kind="full", cluster_id="cluster-one"), silence(1)._replace(kind="error")]
    tail = tmp_path / "_tail-000000000000.arrows"
    with pa.OSFile(str(tail), "wb") as file, pa.ipc.new_stream(file, SCHEMA) as stream:
        for row in rows:
            stream.write_batch(to_batch([row]))

    assert list(replay(tmp_path)) == rows


def test_others_read_a_tail_as_a_stream_of_arrow(tmp_path: Path) -> None:
    data, ends = tail_of(tmp_path)

    assert pa.ipc.open_stream(data).read_all().num_rows == len(ends)


def test_a_full_disk_is_an_error_and_what_comes_after_is_kept(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITES_TO_A_FULL_DISK, str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    kept, refused, reason = run.stdout.split(maxsplit=2)

    assert int(kept) > 5
    assert (int(refused), reason.strip()) == (1, "File too large")
    assert times(tmp_path) == list(range(int(kept) + 10))


def test_a_writer_that_died_between_its_last_two_steps_leaves_no_row_twice(tmp_path: Path) -> None:
    """The parquet file is there under its name, and the tail is not yet removed."""
    data, _ = tail_of(tmp_path)
    before = times(tmp_path)
    (tmp_path / "_tail-000000000000.arrows").write_bytes(data)

    assert times(tmp_path) == before
    with Capture(tmp_path) as capture:
        assert capture.recovered == ()
        assert capture.next_row == len(before)
    assert times(tmp_path) == before


def test_a_parquet_file_that_was_not_finished_is_no_file(tmp_path: Path) -> None:
    data, _ = tail_of(tmp_path)
    [file] = segments(tmp_path)
    before = times(tmp_path)
    whole = file.path.read_bytes()
    file.path.unlink()
    unfinished = tmp_path / "_part-000000000000.parquet.writing"
    unfinished.write_bytes(whole[: len(whole) // 2])
    (tmp_path / "_tail-000000000000.arrows").write_bytes(data)

    assert times(tmp_path) == before
    Capture(tmp_path).close()
    assert times(tmp_path) == before
    assert not unfinished.exists()


def test_a_tail_that_cannot_be_closed_stays_and_says_why(tmp_path: Path) -> None:
    data, _ = tail_of(tmp_path / "whole")
    (tmp_path / "_tail-000000000000.arrows").write_bytes(data)
    in_the_way = tmp_path / "date=2026-11-21"
    in_the_way.write_text("not a folder")

    with pytest.raises(SegmentRollError, match=r"_tail-000000000000\.arrows: cannot be closed into a parquet file"):
        Capture(tmp_path)

    assert times(tmp_path) == list(range(5))
    in_the_way.unlink()
    Capture(tmp_path).close()
    assert times(tmp_path) == list(range(5))


def test_the_lock_goes_with_the_process(tmp_path: Path) -> None:
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
