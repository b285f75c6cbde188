"""The pipeline on Spark: the same silver as without Spark, in any order, exactly once, and atomically."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as f

from kwire.capture import Capture
from kwire.capture.rows import Row, RowKind, to_batch
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.store.commits import PipelineStore
from tests.pipeline.recorded import RECORDINGS, bronze, silver_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

RECORDING = "kraft44-public"
TABLES = [name for name in SILVER_SCHEMAS if name != "lag"]  # a minute in which an ingest ended has two rows


def silver(out: Path | str) -> dict[str, Counter[str]]:
    """Return all rows of silver."""
    return {name: Counter(map(repr, _rows(out, name))) for name in TABLES}


def _rows(out: Path | str, name: str) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for path in PipelineStore(str(out)).snapshot().paths(f"silver/{name}"):
        table = pq.read_table(path, partitioning=None)
        assert table.schema.equals(SILVER_SCHEMAS[name].arrow)
        columns = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in table.columns]
        rows += zip(*(column.to_pylist() for column in columns), strict=True)
    return rows


def expected(rows: Iterable[Row]) -> dict[str, Counter[str]]:
    made = silver_rows(rows)
    return {name: Counter(repr(_plain(row)) for row in made[name]) for name in TABLES}


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the row with the types that files have: lists and plain strings."""
    return tuple(
        list(value) if isinstance(value, tuple) else value.value if isinstance(value, RowKind) else value
        for value in row
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table with the recording as rows of bronze."""
    path = tmp_path_factory.mktemp("bronze") / "tape.parquet"
    pq.write_table(pa.Table.from_batches([to_batch(bronze(RECORDING))]), path)
    return path


def test_recording_is_ingested_once_however_often(spark: SparkSession, tmp_path: Path) -> None:
    tape = spark.read.parquet(str(RECORDINGS / "zk39-public.parquet"))
    pipeline = Pipeline(spark, str(tmp_path))

    report = pipeline.ingest(tape)
    first = silver(tmp_path)
    again = pipeline.ingest(tape)

    [cluster] = {row[0] for row in _rows(tmp_path, "polls")}
    rows = [row._replace(cluster_id=cluster) for row in bronze("zk39-public")]
    assert first == expected(rows)
    assert report.rows["bronze"] == report.rows["polls"] == 1473
    assert again.repeated == 1473
    assert not any(again.rows.values())
    assert silver(tmp_path) == first
    assert pipeline.table("bronze").count() == 1473
    assert pipeline.table("partitions").where("change = 'gone'").count() > 0


def test_frames_in_any_order_give_same_silver(spark: SparkSession, tmp_path: Path, table: Path) -> None:
    frames = spark.read.parquet(str(table))
    second = f.second("polled_at")
    pipeline = Pipeline(spark, str(tmp_path))

    pipeline.ingest(frames.where(second >= 40))
    report = pipeline.ingest(frames.where(second < 50))

    assert report.late > 0
    assert report.repeated > 0
    assert silver(tmp_path) == expected(bronze(RECORDING))
    assert pipeline.table("bronze").count() == len(bronze(RECORDING))


def test_only_new_rows_of_capture_are_ingested_in_place(spark: SparkSession, tmp_path: Path) -> None:
    rows = bronze(RECORDING)
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    with Capture(tmp_path / "capture", roll_bytes=2_000_000, roll_seconds=1e9) as capture:
        capture.append_many(rows[:700])
        first = pipeline.ingest_capture(str(tmp_path / "capture"))
        for row in rows[700:]:
            capture.append(row)
    second = pipeline.ingest_capture(str(tmp_path / "capture"))
    third = pipeline.ingest_capture(str(tmp_path / "capture"))

    assert (first.rows["polls"], second.rows["polls"]) == (700, len(rows) - 700)
    assert not any(third.rows.values())
    made, wanted = silver(tmp_path / "out"), expected(rows)
    for name in ("brokers", "topics", "partitions", "configs", "registrations"):
        assert made[name] == wanted[name], name
    assert pipeline.table("polls").where("kind = 'same'").count() > 100


def test_bad_frames_are_counted_and_kept(spark: SparkSession, tmp_path: Path) -> None:
    good = next(row for row in bronze(RECORDING) if row.api_key == 3 and row.frame is not None)
    assert good.frame is not None
    rows = [good, good._replace(frame=good.frame[:100], broker_id=2), good._replace(api_version=77, broker_id=3)]
    path = tmp_path / "bad.parquet"
    pq.write_table(pa.Table.from_batches([to_batch(rows)]), path)
    pipeline = Pipeline(spark, str(tmp_path / "out"))

    report = pipeline.ingest(spark.read.parquet(str(path)))

    assert report.rows["bad_frames"] == 2
    assert "2 bad frames" in str(report)
    kinds = {row.kind for row in pipeline.table("bad_frames").select("kind").collect()}
    assert kinds & {"unknown_version"}
    assert pipeline.table("bronze").count() == 3


def test_restarted_stream_ingests_each_row_once(spark: SparkSession, tmp_path: Path) -> None:
    rows = bronze(RECORDING)
    out, folder = tmp_path / "out", tmp_path / "capture"
    with Capture(folder) as capture:
        # The third start only repeats the batch that was not committed: Spark ends such a run before it reads more.
        for number, part in enumerate((rows[:400], rows[400:900], rows[900:], ())):
            capture.append_many(part)
            pipeline = Pipeline(spark, str(out))
            frames = spark.readStream.format("kwire").load(str(folder))
            query = pipeline.stream(frames, availableNow=True)
            assert query.awaitTermination(60)
            if number == 1:  # as if killed between the commit of the batch and Spark's commit: it is repeated
                newest = max(
                    (out / "_checkpoints" / "kwire" / "commits").glob("[0-9]*"), key=lambda path: int(path.name)
                )
                newest.unlink()
                newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)

    made, wanted = silver(out), expected(rows)
    for name in ("brokers", "topics", "partitions", "configs", "registrations"):
        assert made[name] == wanted[name], name
    assert sum(made["polls"].values()) == len(rows)


def test_every_table_can_be_read_before_first_ingest(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, str(tmp_path))

    assert {name: pipeline.table(name).count() for name in SILVER_SCHEMAS} == dict.fromkeys(SILVER_SCHEMAS, 0)
    with pytest.raises(KeyError):
        pipeline.table("no such table")
