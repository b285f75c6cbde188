"""Recordings of any form are ingested, or an error names the file or the column; nothing is taken in silence."""

from __future__ import annotations

import gzip
import os
import shutil
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kwire.capture.rows import to_batch
from kwire.cli.program import run
from kwire.errors import KwireError
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.source.recording import local_files
from kwire_pipeline.store.commits import PipelineStore
from tests.pipeline.bronze_rows import failed_poll, response, topic
from tests.pipeline.gold.test_late_frames import no_spark

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = pa.Table.from_batches([to_batch([*(response(second, topic("a")) for second in range(20)), failed_poll(20)])])


def written(path: Path, rows: pa.Table = ROWS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path)
    return path


def with_column(name: str, values: Any) -> pa.Table:
    return ROWS.set_column(ROWS.schema.get_field_index(name), name, values)


def with_time(index: int, micros: int) -> pa.Table:
    times = ROWS["polled_at"].cast(pa.int64()).to_pylist()
    times[index] = micros
    return with_column("polled_at", pa.array(times).cast(pa.timestamp("us", "UTC")))


def ingest(folder: Path, rows: pa.Table) -> Pipeline:
    pipeline = Pipeline(no_spark, str(folder / "out"))
    pipeline.ingest_recording(str(written(folder / "frames.parquet", rows)))
    return pipeline


def damaged(path: Path, change: Callable[[bytes], bytes]) -> Path:
    path.write_bytes(change(written(path).read_bytes()))
    return path


def made(path: Path, make: Callable[[Path], object]) -> Path:
    make(path)
    return path


def folder_with(path: Path, add: Callable[[Path], object]) -> Path:
    written(path / "frames.parquet")
    add(path)
    return path


REFUSED: dict[str, tuple[Callable[[Path], Path | str], str]] = {
    "empty file": (partial(damaged, change=lambda _: b""), "is not a Parquet file"),
    "gzip": (partial(damaged, change=gzip.compress), "is not a Parquet file"),
    "torn": (partial(damaged, change=lambda data: data[:-100]), "is not a Parquet file"),
    "head": (partial(damaged, change=lambda data: data[100:]), "cannot be read"),
    "CSV with a mark": (
        partial(damaged, change=lambda _: b"\xef\xbb\xbfpolled_at,frame\n\n1,2\n"),
        "is not a Parquet file",
    ),
    "no name": (lambda _: "", "found an empty name"),
    "empty folder": (partial(made, make=Path.mkdir), "has no files"),
    "device": (lambda _: "/dev/null", "is not a file"),
    "pipe": (partial(made, make=os.mkfifo), "is not a file"),
    "dead link": (
        partial(folder_with, add=lambda path: (path / "link").symlink_to("/nowhere")),
        "link does not exist",
    ),
    "text beside": (
        partial(folder_with, add=lambda path: (path / "README").write_text("x")),
        "README is not a Parquet",
    ),
    "column twice": (
        partial(written, rows=pa.Table.from_arrays([*ROWS.columns, ROWS["frame"]], [*ROWS.column_names, "frame"])),
        "has the column frame more than once",
    ),
    "no columns": (partial(written, rows=pa.table({})), "no column polled_at"),
    "upper case": (
        partial(written, rows=ROWS.rename_columns([name.upper() for name in ROWS.column_names])),
        "polled_at",
    ),
}


def test_unusable_recording_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> None:
    for name, (make, text) in REFUSED.items():
        with subtests.test(name):
            path = make(tmp_path / name)
            assert run(["pipeline", "ingest", "--recording", str(path), "--out", str(tmp_path / "out")]) in {1, 2}
            assert text in " ".join(capsys.readouterr().err.split())


def test_folder_with_links_is_read_once(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    outside = written(tmp_path / "outside/new\nline.parquet")
    written(folder / "a.parquet")
    written(folder / "_temporary/b.parquet")
    (folder / "again").symlink_to(folder)
    (folder / "linked").symlink_to(outside.parent)

    assert local_files(str(folder)) == [folder / "a.parquet", folder / "linked/new\nline.parquet"]


@pytest.mark.parametrize("micros", [2**63 - 1, -(2**63), 253_402_300_800_000_000, -62_135_596_800_000_001])
def test_time_that_cannot_be_expressed_is_an_error(tmp_path: Path, micros: int) -> None:
    with pytest.raises(KwireError, match="polled_at is null, or not in the years 1 to 9999, in 1 row:"):
        ingest(tmp_path, with_time(3, micros))


@pytest.mark.parametrize(
    ("year", "clock"), [(1, "behind"), (1900, "behind"), (9000, "ahead"), (9999, "ahead")], ids=str
)
def test_polls_at_impossible_times_are_kept_aside(tmp_path: Path, year: int, clock: str) -> None:
    """Even if all polls say so: gold has no times around them."""
    times = [datetime(year, 1, 1, 0, 0, second, tzinfo=UTC) for second in range(ROWS.num_rows)]
    pipeline = Pipeline(no_spark, str(tmp_path / "out"))

    report = pipeline.ingest(with_column("polled_at", pa.array(times, pa.timestamp("us", "UTC"))))

    assert report.rows == {"bronze": 21, "bad_frames": 21}
    assert {text.rpartition(" ")[2] for text in report.outside} == {clock}
    pipeline.gold()
    shutil.rmtree(tmp_path / "out")


def test_numbers_that_do_not_fit_are_an_error_and_nothing_is_ingested(tmp_path: Path) -> None:
    for name, value, type in (("broker_id", 2**40, "int"), ("api_key", 70_000, "smallint")):
        with pytest.raises(KwireError, match=f"the column {name} is {value:,}: expected {type}"):
            ingest(tmp_path, with_column(name, pa.array([value] * ROWS.num_rows)))
    assert PipelineStore(str(tmp_path / "out")).newest().number == 0


def test_rows_that_say_that_rows_are_missing_are_reported(tmp_path: Path) -> None:
    pipeline = Pipeline(no_spark, str(tmp_path / "out"))

    report = pipeline.ingest(with_column("kind", pa.array(["missing"] * ROWS.num_rows)))

    assert len(report.missing) == ROWS.num_rows
    assert "rows of a recording are missing" in report.missing
