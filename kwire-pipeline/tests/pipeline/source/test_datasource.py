"""The data source `format("kwire")`: discovery, row numbers, offsets, and options."""

from __future__ import annotations

import shutil
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, In
from pyspark.sql.types import StructType

from kwire.capture import Capture, CaptureInUse, UnreadableCapture, replay
from kwire.capture.folder import segments
from kwire.capture.rows import SCHEMA, to_rows
from kwire.testing import FakeCluster
from kwire_pipeline.source.capture_readers import (
    CapturePartition,
    CaptureStreamReader,
    ReadOptions,
    plan_partitions,
    read_partition,
    rows_in_capture,
)
from kwire_pipeline.source.datasource import InvalidOption, KwireSource
from kwire_pipeline.source.missing_rows import MissingRows, MissingRowsPolicy
from kwire_pipeline.source.row_selection import RowSelection
from tests.eventually import eventually_sync
from tests.pipeline.recorded import bronze

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ROWS = bronze("kraft44-public")[:300]


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    with Capture(tmp_path / "capture", roll_bytes=100_000, roll_seconds=1e9) as writer:
        for row in ROWS:
            writer.append(row)
    return tmp_path / "capture"


def test_spark_finds_format_and_reads_every_row_once(spark: SparkSession, capture: Path) -> None:
    read = spark.read.format("kwire").load(str(capture))

    rows = read.select("polled_at", "broker_id", "api_key", "kind").orderBy("polled_at").collect()

    assert [(row.broker_id, row.api_key) for row in rows] == [(row.broker_id, row.api_key) for row in ROWS]
    assert {row.kind for row in rows} == {"full", "same", "error"}
    assert read.rdd.getNumPartitions() > 1


def test_rows_are_selected_by_number(spark: SparkSession, capture: Path) -> None:
    read = spark.read.format("kwire").option("fromRow", 17).option("toRow", 250).load(str(capture))

    rows = read.select("polled_at", "kind").collect()

    times = sorted(row.polled_at.timestamp() for row in rows if row.kind != "carried")
    assert times == [row.polled_at.timestamp() for row in ROWS[17:250]]


@pytest.mark.parametrize("start", [0, 1, 17, 120, 299])
def test_read_begins_with_effective_rows(capture: Path, start: int) -> None:
    read = [
        row
        for part in plan_partitions(str(capture), start, 300, begins=True)
        for batch in read_partition(part)
        for row in to_rows(batch)
    ]

    known = set()
    for row in read:
        if row.kind == "same":
            assert row.request_key in known
        known.add(row.request_key)
    carried = [row for row in read if row.kind == "carried"]
    assert read[: len(carried)] == carried
    assert len({row.request_key for row in carried}) == len(carried)
    assert len(read) - len(carried) == 300 - start


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("fromRow", "abc", "the number of a row"),
        ("toRow", "-1", "the number of a row"),
        ("interval", "x", "a number of seconds"),
        ("seconds", "-1", "a number of seconds"),
        ("logDirs", "often", "a number of seconds"),
    ],
)
def test_invalid_option_is_rejected(option: str, value: str, reason: str, tmp_path: Path) -> None:
    options = {"path": str(tmp_path), "bootstrap": "127.0.0.1:1", "interval": "1", option: value}
    with pytest.raises(InvalidOption, match=reason) as refused:
        KwireSource(options).reader(StructType())
    assert (refused.value.option, refused.value.value) == (option, value)


def test_damaged_segment_is_reported(capture: Path) -> None:
    path = segments(capture)[0].path
    path.write_bytes(path.read_bytes()[:1000])
    [part, *_] = plan_partitions(str(capture), 0, 300, begins=True)

    with pytest.raises(UnreadableCapture) as found:
        list(read_partition(part))

    assert found.value.path == path


def rows_of(capture: Path, start: int, stop: int, policy: MissingRowsPolicy = MissingRowsPolicy.REPORT) -> pa.Table:
    """Read rows as a stream does that has read those before `start`."""
    batches: list[pa.RecordBatch] = []
    for part in plan_partitions(str(capture), start, stop, begins=start == 0):
        part.options = ReadOptions(policy=policy)
        batches += read_partition(part)
    return pa.Table.from_batches(batches, SCHEMA)


def test_rows_of_deleted_segments_are_one_row_each_or_an_error(capture: Path) -> None:
    """Wherever segments were deleted; only rows before the first one that is left may be unknown."""
    first, *others, last = segments(capture)
    spans = [(segment.first_row, later.first_row) for segment, later in pairwise([first, *others, last])]
    for deleted in range(1, len(spans)):
        copy = capture.parent / f"without-{deleted}"
        shutil.copytree(capture, copy)
        for position, segment in enumerate(segments(copy)):
            if 0 < position <= deleted and segment.first_row != last.first_row:
                segment.path.unlink()
        start, stop = spans[1][0], min(spans[deleted][1], last.first_row)
        for offset in (0, first.first_row + 1, start, stop - 1):
            rows = rows_of(copy, offset, 300)
            missing = rows.filter(pc.equal(rows["kind"], "missing"))
            expected = max(offset, start)
            assert missing["error"].to_pylist() == [f"rows {expected:,} to {stop - 1:,} of {copy}: no segment has them"]
            known = pc.not_equal(rows["kind"], "missing")
            own = rows.filter(pc.and_(known, pc.not_equal(rows["kind"], "carried")))
            assert own.num_rows >= 300 - offset - (stop - expected)
            with pytest.raises(MissingRows, match="no segment has them"):
                rows_of(copy, offset, 300, MissingRowsPolicy.FAIL)
        assert "missing" not in rows_of(copy, stop, 300)["kind"].to_pylist()


def kinds_after(reader: CaptureStreamReader, offset: dict[str, Any]) -> list[str]:
    """Return the kinds of the rows after an offset of a stream."""
    kinds = []
    for part in reader.partitions(offset, reader.latestOffset()):
        assert isinstance(part, CapturePartition)
        for batch in read_partition(part):
            kinds += batch.column("kind").to_pylist()
    return kinds


@pytest.mark.parametrize("kept", ["the last", "all but the one of the offset"])
def test_stream_whose_segments_were_deleted_continues_with_a_missing_row(tmp_path: Path, kept: str) -> None:
    """An offset names a segment, which retention deletes like others: this is not another capture."""
    with Capture(tmp_path / "capture", roll_bytes=50_000, roll_seconds=1e9) as writer:
        writer.append_many(ROWS[:150])
    reader = CaptureStreamReader(str(tmp_path / "capture"), 0, None)
    offset = reader.latestOffset()
    with Capture(tmp_path / "capture", roll_bytes=50_000, roll_seconds=1e9) as writer:
        for row in ROWS[150:]:
            writer.append(row)
    named = int(offset["fingerprint"].partition(" ")[0])
    listed = segments(tmp_path / "capture")
    following = next(segment for segment in listed if segment.first_row >= offset["row"])
    deleted = listed[:-1] if kept == "the last" else [each for each in listed if each.first_row in {named, 150}]
    for segment in deleted:
        segment.path.unlink()

    kinds = kinds_after(reader, offset)

    assert following.first_row == 150
    assert kinds.count("missing") == 1
    assert 0 < len(kinds) - 1 < 150 + 20


def test_another_capture_in_the_same_folder_is_read_from_its_beginning(tmp_path: Path) -> None:
    for rows in (20, 150, 200):
        folder = tmp_path / str(rows)
        with Capture(folder, roll_bytes=50_000, roll_seconds=1e9) as writer:
            writer.append_many(ROWS[:100])
        reader = CaptureStreamReader(str(folder), 0, None)
        offset = reader.latestOffset()
        shutil.rmtree(folder)
        with Capture(folder, roll_bytes=30_000, roll_seconds=1e9) as writer:
            for row in ROWS[100 : 100 + rows]:
                writer.append(row)

        kinds = kinds_after(reader, offset)

        assert len([kind for kind in kinds if kind != "carried"]) == rows
        assert "missing" not in kinds


@pytest.mark.parametrize("cut", [0, 1, 40, 299, 300])
def test_offsets_split_capture_anywhere(capture: Path, cut: int) -> None:
    reader = CaptureStreamReader(str(capture), 0, None)
    assert reader.initialOffset()["row"] == 0
    assert reader.latestOffset()["row"] == 300

    counts = [
        sum(
            batch.num_rows
            for part in plan_partitions(str(capture), *span, begins=False)
            for batch in read_partition(part)
        )
        for span in ((0, cut), (cut, 300))
    ]

    assert counts == [cut, 300 - cut]


def test_open_tail_is_read(tmp_path: Path) -> None:
    with Capture(tmp_path) as writer:
        writer.append_many(ROWS[:5])
        assert rows_in_capture(str(tmp_path)) == 5
        [part] = plan_partitions(str(tmp_path), 0, 5, begins=True)
    assert sum(batch.num_rows for batch in read_partition(part)) == 5  # closed after the read was planned


def test_cluster_is_captured_before_read(spark: SparkSession, tmp_path: Path) -> None:
    with FakeCluster(brokers=2) as cluster:
        read = spark.read.format("kwire").option("bootstrap", cluster.bootstrap).option("interval", 0.1)
        frames = read.option("seconds", 5).load(str(tmp_path / "capture"))
        kinds = {row.kind for row in frames.select("kind").collect()}

    assert "full" in kinds
    assert rows_in_capture(str(tmp_path / "capture")) > 4


def test_options_poll_further_inputs(tmp_path: Path) -> None:
    folder = str(tmp_path / "capture")
    with FakeCluster(brokers=2, topics=1) as fake:
        inputs = {"configs": "1", "groups": "1", "logDirs": "1"}
        polled = KwireSource({"bootstrap": fake.bootstrap, "interval": "0.1", **inputs})._cluster()
        assert polled is not None
        polling = polled.polling(folder)
        try:
            eventually_sync(lambda: {3, 16, 32, 35} <= {row.api_key for row in replay(folder)}, "all inputs")
        finally:
            polling.stop()


def test_stream_polls_cluster(spark: SparkSession, tmp_path: Path) -> None:
    kinds: list[str] = []
    folder = str(tmp_path / "capture")
    with FakeCluster(brokers=2, topics=3) as cluster:
        stream = spark.readStream.format("kwire").option("bootstrap", cluster.bootstrap).option("interval", 0.1)
        query = (
            stream.load(folder)
            .writeStream.foreachBatch(lambda rows, _: kinds.extend(row.kind for row in rows.collect()))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(processingTime="0.2 seconds")
            .start()
        )
        try:
            eventually_sync(lambda: kinds.count("same") >= 10 or query.exception(), "ten repeated responses", within=60)
        finally:
            query.stop()
        read = len(kinds)
        capture_is_free(folder)

    assert kinds.count("full") >= 2
    assert [row.kind for row in read_rows(spark, folder)][:read] == kinds


def read_rows(spark: SparkSession, folder: str) -> list[Any]:
    return spark.read.format("kwire").load(folder).select("kind").collect()


def capture_is_free(folder: str) -> None:
    """Check that the process of the source has ended with the query."""

    def can_open() -> bool:
        try:
            Capture(folder).close()
        except CaptureInUse:
            return False
        return True

    eventually_sync(can_open, "the end of the process that polls", within=30)


def test_missing_folder_is_rejected(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="needs the folder of a capture"):
        spark.read.format("kwire").load().collect()


def times(frame: DataFrame) -> list[float]:
    return sorted(row.polled_at.timestamp() for row in frame.where("kind != 'carried'").select("polled_at").collect())


def test_rows_are_selected_by_time_cluster_and_broker(spark: SparkSession, capture: Path) -> None:
    since, until = ROWS[100].polled_at, ROWS[250].polled_at
    options = {"since": since.isoformat(), "until": until.isoformat(), "brokers": "1,3", "clusters": "kraft44-public"}
    read = spark.read.format("kwire").options(**options).load(str(capture))

    wanted = [row for row in ROWS if since <= row.polled_at < until and row.broker_id in {1, 3}]

    assert times(read) == [row.polled_at.timestamp() for row in wanted]
    carried = read.where("kind = 'carried'").collect()
    assert all(row.polled_at.timestamp() < since.timestamp() for row in carried)
    assert {row.broker_id for row in carried} == {1, 3}
    assert times(spark.read.format("kwire").option("clusters", "another").load(str(capture))) == []
    with pytest.raises(Exception, match="ids of brokers"):
        spark.read.format("kwire").option("brokers", "one").load(str(capture)).collect()


def test_segments_outside_time_range_are_not_opened(capture: Path) -> None:
    first, *rest = segments(capture)
    assert first.last_time is not None
    planned = plan_partitions(
        str(capture), 0, 300, begins=True, options=ReadOptions(RowSelection(since=rest[-1].first_time))
    )

    assert [part.first_row for part in planned] == [rest[-1].first_row]
    assert planned[0].first


def test_filters_of_queries_are_pushed_down(spark: SparkSession, capture: Path) -> None:
    narrowed = RowSelection().narrowed(
        [
            GreaterThanOrEqual(("polled_at",), ROWS[100].polled_at),
            In(("broker_id",), (1, 2)),
            EqualTo(("broker_id",), 1),
            EqualTo(("cluster_id",), "kraft44-public"),
            EqualTo(("api_key",), 3),
        ]
    )
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        read = spark.read.format("kwire").option("filterPushdown", "true").load(str(capture))
        rows = read.where("broker_id = 1 and polled_at >= timestamp '2020-01-01' and kind = 'error'").count()
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")

    assert narrowed == RowSelection(ROWS[100].polled_at, None, frozenset({"kraft44-public"}), frozenset({1}))
    assert rows == sum(row.broker_id == 1 and row.frame is None for row in ROWS)


def test_only_columns_of_given_schema_are_read(spark: SparkSession, capture: Path) -> None:
    read = spark.read.format("kwire").schema("polled_at timestamp, broker_id int").load(str(capture))

    assert read.columns == ["polled_at", "broker_id"]
    assert read.count() >= 300


def test_views_and_tables_of_sql_read_captures(spark: SparkSession, capture: Path) -> None:
    spark.sql(f"CREATE TEMPORARY VIEW polled USING kwire OPTIONS (path '{capture}', brokers '2')")
    spark.sql("CREATE TABLE frames USING kwire")  # Spark gives the options of a query, not of a table, to the source
    try:
        of_view = spark.sql("SELECT count(*) FROM polled WHERE kind != 'carried'").first()
        of_table = spark.sql(f"SELECT count(*) FROM frames WITH (path = '{capture}') WHERE kind != 'carried'").first()
    finally:
        spark.sql("DROP TABLE frames")
        spark.sql("DROP VIEW polled")

    assert of_view is not None
    assert of_table is not None
    assert (of_view[0], of_table[0]) == (sum(row.broker_id == 2 for row in ROWS), 300)


def test_damaged_segment_is_passed_over_on_request(spark: SparkSession, capture: Path) -> None:
    _, second, *_ = segments(capture)
    second.path.write_bytes(second.path.read_bytes()[:3000])
    lost = segments(capture)[2].first_row - second.first_row

    read = spark.read.format("kwire").option("ignoreDamaged", "true").load(str(capture))

    assert len(times(read)) == 300 - lost
    with pytest.raises(Exception, match="UnreadableCapture"):
        spark.read.format("kwire").load(str(capture)).collect()


@pytest.mark.parametrize("limit", [{"maxFilesPerTrigger": 1}, {"maxBytesPerTrigger": 1}])
def test_stream_reads_one_segment_at_a_time(
    spark: SparkSession, capture: Path, tmp_path: Path, limit: dict[str, int]
) -> None:
    batches: list[int] = []
    frames = spark.readStream.format("kwire").options(**limit).load(str(capture))
    stream = frames.writeStream.foreachBatch(lambda batch, _: batches.append(batch.where("kind != 'carried'").count()))

    query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()

    assert query.awaitTermination(120)
    assert len(batches) == len(segments(capture))
    assert sum(batches) == 300
