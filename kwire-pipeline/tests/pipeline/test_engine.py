"""Little data is ingested and built in this process, with the rows that Spark writes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from inspect import Parameter, signature
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kwire.capture import Capture
from kwire.capture.rows import Row, to_batch
from kwire_pipeline import engine
from kwire_pipeline.cli import pipeline_engine
from kwire_pipeline.gold.build import TABLES
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.session import names_master
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.source.bronze import InvalidColumn
from kwire_pipeline.source.missing_rows import MissingRowsPolicy
from kwire_pipeline.sql_views import create_views
from kwire_pipeline.store.commits import PipelineStore
from tests.pipeline.recorded import RECORDINGS, bronze
from tests.pipeline.test_pipeline import RECORDING, expected, silver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kwire_pipeline.engine import SparkSource

ROWS = bronze(RECORDING)


class SparkStarted(Exception):
    """The pipeline needs Spark."""


def no_spark() -> SparkSession:
    raise SparkStarted


def table(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_batches([to_batch(rows)])


def stored(out: Path) -> dict[str, list[str]]:
    """Return the sorted rows of all tables of bronze, silver, and gold."""
    snapshot = PipelineStore(str(out)).snapshot()
    names = ["bronze", *(f"silver/{name}" for name in SILVER_SCHEMAS), *(table.folder for table in TABLES)]
    datasets = {name: snapshot.dataset(name) for name in names}
    return {
        name: sorted(map(_text, rows.to_table().to_pylist())) for name, rows in datasets.items() if rows is not None
    }


def _text(row: dict[str, Any]) -> str:
    """Return a row as text, whose set of hashes is in the order of the engine."""
    return str({name: sorted(value) if name == "partition_hashes" and value else value for name, value in row.items()})


def ingest_in_pieces(pipeline: Pipeline, folder: Path, random: Random, rows: Sequence[Row]) -> int:
    """Ingest pieces of a history in a random order, which overlap, as tables, files, and captures.

    Returns:
        The number of rows that were late.
    """
    cuts = sorted(random.sample(range(1, len(rows)), 4))
    pieces = list(zip([0, *cuts], [*cuts, len(rows)], strict=True))
    random.shuffle(pieces)
    late = 0
    for number, (first, stop) in enumerate(pieces):
        piece = rows[max(first - random.randrange(20), 0) : stop]
        match number % 3:
            case 0:
                late += pipeline.ingest(table(piece)).late
            case 1:
                pq.write_table(table(piece), folder / f"{number}.parquet")
                late += pipeline.ingest_recording(str(folder / f"{number}.parquet")).late
            case _:
                with Capture(folder / f"capture-{number}") as capture:
                    capture.append_many(piece)
                late += pipeline.ingest_capture(str(folder / f"capture-{number}")).late
    return late


def test_little_data_needs_no_spark(tmp_path: Path) -> None:
    late = 0
    for seed in range(2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        pipeline = Pipeline(no_spark, str(folder / "out"))

        late += ingest_in_pieces(pipeline, folder, Random(seed), ROWS[:600])

        found, wanted = silver(folder / "out"), expected(ROWS[:600])
        states = [name for name in wanted if name != "polls"]  # a capture has 'same' rows for repeated frames
        assert {name: found[name] for name in states} == {name: wanted[name] for name in states}
        assert found["polls"].total() == wanted["polls"].total()
    assert late > 0


def test_recording_needs_no_spark(tmp_path: Path) -> None:
    pipeline = Pipeline(no_spark, str(tmp_path))

    report = pipeline.ingest_recording(str(RECORDINGS / f"{RECORDING}.parquet"))
    pipeline.gold()
    again = pipeline.ingest_recording(str(RECORDINGS / f"{RECORDING}.parquet"))

    assert report.rows["bronze"] == again.repeated == len(ROWS)
    assert any("broker_killed" in row for row in stored(tmp_path)["gold/incidents"])


@pytest.mark.nightly
def test_each_engine_writes_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    found = []
    sources: list[SparkSource] = [no_spark, spark]
    for number, source in enumerate(sources):
        folder = tmp_path / str(number)
        folder.mkdir()
        pipeline = Pipeline(source, str(folder / "out"), in_process_rows=0 if source is spark else 100_000)
        late = ingest_in_pieces(pipeline, folder, Random(5), ROWS[:400])
        pipeline.gold()
        found.append((late, stored(folder / "out")))

    (late, here), (late_on_spark, on_spark) = found
    assert late == late_on_spark > 0
    assert here.keys() == on_spark.keys()
    for name, rows in on_spark.items():
        assert here[name] == rows, name
    assert min(len(here[name]) for name in ("bronze", "silver/partitions", "gold/intervals", "gold/signals")) > 5


def test_more_rows_than_limit_start_spark(tmp_path: Path) -> None:
    path = tmp_path / "frames.parquet"
    pq.write_table(table(ROWS[:200]), path)
    with Capture(tmp_path / "capture") as capture:
        capture.append_many(ROWS[:200])
    store = tmp_path / "store"
    Pipeline(no_spark, str(store)).ingest(table(ROWS[100:200]))
    ingests: list[Callable[[Pipeline], object]] = [
        lambda pipeline: pipeline.ingest(table(ROWS[:200])),
        lambda pipeline: pipeline.ingest_recording(str(path)),
        lambda pipeline: pipeline.ingest_capture(str(tmp_path / "capture")),
    ]

    for ingest in ingests:
        ingest(Pipeline(no_spark, str(tmp_path / f"out-{ingests.index(ingest)}"), in_process_rows=200))
        with pytest.raises(SparkStarted):
            ingest(Pipeline(no_spark, str(tmp_path / "out"), in_process_rows=199))
    with pytest.raises(SparkStarted):  # one late frame, which needs the day of its broker
        Pipeline(no_spark, str(store), in_process_rows=50).ingest(table(ROWS[:1]))
    with pytest.raises(SparkStarted):
        Pipeline(no_spark, str(store), in_process_rows=50).gold()
    assert PipelineStore(str(tmp_path / "out")).snapshot().number == 0


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("polled_at", pa.array(["2026-11-21 12:00:00"])),
        ("broker_id", pa.array(["1"])),
        ("broker_id", pa.array([1.0])),
        ("cluster_id", pa.array([7])),
    ],
)
def test_types_that_engines_cast_in_their_own_way_start_spark(tmp_path: Path, column: str, values: pa.Array) -> None:
    rows = table(ROWS[:1])
    other = rows.set_column(rows.schema.get_field_index(column), column, values)

    with pytest.raises(SparkStarted):
        Pipeline(no_spark, str(tmp_path)).ingest(other)


def test_type_that_no_engine_takes_is_refused_without_spark(tmp_path: Path) -> None:
    rows = table(ROWS[:1])
    times = rows.set_column(rows.schema.get_field_index("polled_at"), "polled_at", pa.array([1]))

    with pytest.raises(InvalidColumn, match="the column polled_at is bigint: expected timestamp"):
        Pipeline(no_spark, str(tmp_path)).ingest(times)


def test_other_types_of_arrow_give_same_rows(tmp_path: Path) -> None:
    rows = table(ROWS[:30])
    other: dict[str, Any] = {
        "polled_at": rows["polled_at"].cast(pa.timestamp("us")),
        "endpoint": rows["endpoint"].cast(pa.string()).dictionary_encode(),
        "frame": rows["frame"].cast(pa.large_binary()),
        "broker_id": rows["broker_id"].cast(pa.int64()),
        "request_hex": pa.array([None if row.request is None else row.request.hex() for row in ROWS[:30]]),
    }
    changed = rows.drop_columns(["request", "polled_at", "endpoint", "frame", "broker_id"])
    for name, values in other.items():
        changed = changed.append_column(name, values)

    for name, frames in (("plain", rows), ("other", changed)):
        pq.write_table(frames, tmp_path / f"{name}.parquet")
        pipeline = Pipeline(no_spark, str(tmp_path / name))
        pipeline.ingest_recording(str(tmp_path / f"{name}.parquet"))

    assert stored(tmp_path / "other") == stored(tmp_path / "plain")


def test_master_is_named_by_environment_or_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MASTER", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS", "SPARK_ENV_LOADED", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-defaults.conf").write_text("spark.ui.enabled false\n# spark.master yarn\n")
    assert not names_master()

    for name, value in (
        ("SPARK_REMOTE", "sc://host"),
        ("PYSPARK_SUBMIT_ARGS", "--master local[2] pyspark-shell"),
        ("SPARK_ENV_LOADED", "1"),
    ):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            assert names_master(), name
    (tmp_path / "spark-defaults.conf").write_text("spark.master yarn\n")
    assert names_master()


def test_option_has_limit_of_library_as_default() -> None:
    assert pipeline_engine.IN_PROCESS_ROWS == engine.IN_PROCESS_ROWS


def test_another_process_opens_a_pipeline_with_all_of_its_settings(tmp_path: Path) -> None:
    """Batches behind Spark Connect do."""
    changed: dict[str, Any] = {
        "reference_codec": True,
        "max_clock_skew": timedelta(seconds=1),
        "keep_replaced": timedelta(days=1),
        "missing_rows": MissingRowsPolicy.FAIL,
        "in_process_rows": 1,
    }
    keywords = {name for name, each in signature(Pipeline).parameters.items() if each.kind is Parameter.KEYWORD_ONLY}
    assert changed.keys() == keywords
    assert Pipeline(no_spark, str(tmp_path), **changed).settings == changed


def test_error_of_a_file_in_an_executor_is_one_line() -> None:
    """Such as a full disk, or a read-only mount."""
    reason = "[Errno 30] Failed to open local file '/mnt/x'. Detail: [errno 30] Read-only file system"
    for kind in ("OSError", "PermissionError"):
        text = f"An exception was thrown from the Python worker:\nTraceback\n  raise KeyError\n{kind}: {reason}\n"
        assert pipeline_engine.file_error(text) == reason
    assert pipeline_engine.file_error("Traceback\nValueError: [Errno 30]: no\n") == ""
    assert pipeline_engine.file_error("JavaError: no [Errno 1] here") == ""


def test_times_of_callers_are_utc_or_an_error(tmp_path: Path) -> None:
    for duration in (timedelta(-1), timedelta.max, timedelta.min):
        with pytest.raises(ValueError, match=r"max_clock_skew is .*: expected a duration from 0 to 100 years"):
            Pipeline(no_spark, str(tmp_path), max_clock_skew=duration)
        with pytest.raises(ValueError, match=r"keep_replaced is .*: expected a duration from 0 to 100 years"):
            Pipeline(no_spark, str(tmp_path), keep_replaced=duration)
    pipeline = Pipeline(no_spark, str(tmp_path))
    pipeline.ingest(table(ROWS[:5]))

    last, first = datetime(9999, 12, 31, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)
    assert pipeline.snapshot(at=last).number == 1
    assert pipeline.snapshot(at=last.replace(tzinfo=None)).number == 1
    with pytest.raises(ValueError, match=r"has no commit at 0001-01-01 00:00:00\+00:00"):
        pipeline.snapshot(at=first.replace(tzinfo=None))


SETTINGS = {
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.session.timeZone": "Australia/Lord_Howe",
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
}


@pytest.mark.nightly
def test_settings_of_a_platform_change_no_row(spark: SparkSession, tmp_path: Path) -> None:
    for name, settings in (("usual", {}), ("other", SETTINGS)):
        before = {key: spark.conf.get(key) for key in settings}
        try:
            for key, value in settings.items():
                spark.conf.set(key, value)
            pipeline = Pipeline(spark, str(tmp_path / name))
            pipeline.ingest(table(ROWS[:300]))
            pipeline.gold()
            create_views(pipeline, f"{name}_")
            assert {key: spark.conf.get(key) for key in settings} == settings
        finally:
            for key, known in before.items():
                spark.conf.set(key, str(known))

    assert stored(tmp_path / "other") == stored(tmp_path / "usual")
    counts = [spark.table(f"{name}_current_clusters").count() for name in ("usual", "other")]
    assert counts == [1, 1]
