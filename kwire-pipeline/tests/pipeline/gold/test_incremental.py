"""Incremental builds give the same gold as one build, and a new hour reads only that hour.

The recording of Kafka 3.9.1 is shifted so that the hour changes during the outage of broker 3: incidents, intervals,
and votes last across the hour.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kwire_pipeline import gold
from kwire_pipeline.engine import IN_PROCESS_ROWS, Engine
from kwire_pipeline.gold import config_changes, savepoint
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.store.commits import PipelineStore
from tests.pipeline import random_history, recorded
from tests.pipeline.bronze_rows import START, response, table, topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kwire.capture.rows import Row

pytestmark = pytest.mark.usefixtures("one_shuffle_partition")

HOUR = datetime(2026, 11, 21, 5, tzinfo=UTC)


def shifted_recording() -> list[Row]:
    """Return the recording, shifted so that broker 3 is killed seven seconds before the hour."""
    rows = recorded.bronze("zk39-public")
    shift = HOUR - (rows[0].polled_at + timedelta(seconds=60))
    return [row._replace(polled_at=row.polled_at + shift) for row in rows]


def contents(spark: SparkSession, out: Path) -> dict[str, list[Any]]:
    """Return the rows of gold as text, read without Spark, which takes a second for each table."""
    snapshot = recorded.tables(spark, out)
    rows = {}
    for declared in gold.TABLES:
        dataset = snapshot.dataset(declared.name)
        assert dataset is not None
        rows[declared.name] = sorted(map(comparable, dataset.to_table(columns=declared.names).to_pylist()))
    return rows


def comparable(values: dict[str, Any]) -> str:
    """Return a row as text, without the order of the values that have none."""
    if values.get("partition_hashes") is not None:
        values["partition_hashes"] = sorted(values["partition_hashes"])
    return repr(values)


def test_build_by_hours_equals_one_build(spark: SparkSession, tmp_path: Path) -> None:
    import pyarrow.compute as pc

    out = tmp_path / "by_hours"
    whole = recorded.silver(shifted_recording())
    for before in (True, False):
        part = {}
        for name, rows in whole.items():
            kept = (pc.less if before else pc.greater_equal)(rows.column(SILVER_SCHEMAS[name].time), HOUR)
            part[name] = rows.filter(kept)
        recorded.commit_silver(part, out)
        gold.build(spark, PipelineStore(str(out)))
    by_hours, files = contents(spark, out), gold_files(out)
    gold.build(spark, PipelineStore(str(out)))
    assert gold_files(out) == files  # nothing is new

    gold.build(
        spark, PipelineStore(str(out)), hours=[datetime(2026, 11, 21, 4, 59, tzinfo=UTC)]
    )  # from the first: all at once

    kept = gold_files(out) & files  # incidents of the same rows; all other files are written again
    assert {file.relative_to(out / "gold").parts[0] for file in kept} == {"incidents"}
    assert contents(spark, out) == by_hours


def test_random_history_in_random_builds_equals_one_build(spark: SparkSession, tmp_path: Path) -> None:
    """The builds of the parts run on Spark and in this process in turn, and the build of the whole in this process."""
    random = Random(15)
    begin, rounds = HOUR + timedelta(minutes=25), 120
    whole = random_history.silver(random, 4, begin, rounds)
    ends = sorted(random.sample(range(6, rounds), 2))
    start = HOUR
    for number, end in enumerate((*ends, rounds)):
        stop = begin + end * random_history.INTERVAL
        recorded.commit_silver(between(whole, start, stop), tmp_path / "parts")
        store = PipelineStore(str(tmp_path / "parts"))
        gold.build(Engine(spark, IN_PROCESS_ROWS if number % 2 else 0), store)
        start = stop
    recorded.commit_silver(whole, tmp_path / "whole")
    gold.build(spark, PipelineStore(str(tmp_path / "whole")))

    by_parts, by_one = contents(spark, tmp_path / "parts"), contents(spark, tmp_path / "whole")

    assert by_parts == by_one
    assert min(len(by_one[name]) for name in ("intervals", "leader_moves", "isr_events", "signals")) > 2


def between(tables: dict[str, pa.Table], start: datetime, stop: datetime) -> dict[str, pa.Table]:
    """Return the rows of silver in a time range."""
    import pyarrow.compute as pc

    part = {}
    for name, rows in tables.items():
        at = rows.column(SILVER_SCHEMAS[name].time)
        part[name] = rows.filter(pc.and_(pc.greater_equal(at, pa.scalar(start)), pc.less(at, pa.scalar(stop))))
    return part


def gold_files(out: Path) -> set[Path]:
    snapshot = PipelineStore(str(out)).snapshot()
    return {Path(path) for table in gold.TABLES for path in snapshot.paths(table.folder)}


def test_kept_config_polls_give_same_changes(spark: SparkSession, tmp_path: Path) -> None:
    """An hour may begin before all polls, between rounds, or within a round."""
    recorded.write_silver(recorded.bronze("zk39-public"), tmp_path)
    silver = recorded.tables(spark, tmp_path)
    configs = silver.table("configs").persist()
    polls = config_changes.config_polls(silver.table("polls")).persist()
    times = sorted(row.polled_at.replace(tzinfo=UTC) for row in polls.collect())
    whole = config_changes.changes(configs, polls).sort("at", "resource", "key").collect()
    assert len(whole) > 4
    assert all(change.not_before is not None for change in whole)
    changed = [change.at.replace(tzinfo=UTC) for change in whole]

    for as_of in (times[0], changed[0], changed[0] + timedelta(milliseconds=10), changed[len(changed) // 2]):
        kept = config_changes.polls_for_next_window(polls, as_of).persist()
        later = polls.where(polls.polled_at >= as_of)

        found = config_changes.changes(configs, kept.unionByName(later)).sort("at", "resource", "key").collect()

        wanted = [change for change, at in zip(whole, changed, strict=True) if at >= as_of]
        assert [change for change in found if change.at.replace(tzinfo=UTC) >= as_of] == wanted
        assert kept.count() <= 2 * 3 * 2  # the first and the last round of three brokers, two requests each


def test_new_hour_reads_no_older_days(spark: SparkSession, tmp_path: Path) -> None:
    """The build succeeds although files of older days are unreadable."""
    day, hour = 24 * 3600, 3600
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    for number in (0, 1):
        polls = [response(number * day + second, topic("a"), listed=(1, 2)) for second in range(0, 3 * hour, 600)]
        pipeline.ingest(table(spark, tmp_path / "bronze", *polls))
        pipeline.gold()
    newest = f"date={START + timedelta(days=1):%Y-%m-%d}"
    for name in ("silver/polls", "silver/partitions", "gold/signals", "gold/incidents", "gold/intervals"):
        for file in (tmp_path / "out" / name).rglob("date=2*/**/*.parquet"):
            if newest not in file.parts:
                file.write_bytes(b"unreadable")

    moves = [response(day + 3 * hour + at, topic("a", 2, epoch=1)) for at in (0, 600)]
    pipeline.ingest(table(spark, tmp_path / "bronze", *moves))
    pipeline.gold()

    [move] = pipeline.table("leader_moves").collect()
    assert (move.topic, move.at.replace(tzinfo=UTC)) == ("a", START + timedelta(seconds=day + 3 * hour))


@pytest.mark.parametrize("in_process_rows", [0, IN_PROCESS_ROWS])
def test_new_hour_of_lasting_incident_reads_no_older_signals(
    spark: SparkSession, tmp_path: Path, in_process_rows: int
) -> None:
    """A replica lags for seven hours. The last build succeeds although signals of the first hours are unreadable."""
    pipeline, store = Pipeline(spark, str(tmp_path / "out")), PipelineStore(str(tmp_path / "out"))
    hour, lag, end = 3600, 1200, 7 * 3600 + 1200
    for stop in range(hour, 9 * hour, hour):
        polls = []
        for second in range(stop - hour, stop, 600):
            isr = (1, 2) if second < lag or second >= end else (1,)
            polls += [response(second + broker, topic("a", isr=isr), broker=broker) for broker in (1, 2)]
        pipeline.ingest(table(spark, tmp_path / "bronze", *polls))
        if stop == 8 * hour:
            for file in (tmp_path / "out" / "gold" / "signals").rglob("*.parquet"):
                at = datetime.fromisoformat(f"{file.parts[-3].removeprefix('date=')}T00:00:00+00:00")
                at += timedelta(hours=int(file.parts[-2].removeprefix("hour=")))
                if at < START + timedelta(hours=4):
                    file.write_bytes(b"unreadable")
        gold.build(Engine(spark, in_process_rows if stop > 6 * hour else IN_PROCESS_ROWS), store)

    [incident] = pipeline.table("incidents").where("kind = 'replica_lagging'").collect()
    assert incident.first_sign_at.replace(tzinfo=UTC) == START + timedelta(seconds=lag + 1)
    assert incident.ended_at.replace(tzinfo=UTC) == START + timedelta(seconds=end + 1)
    assert (incident.date, incident.hour) == (f"{START:%Y-%m-%d}", START.hour)


def test_one_state_per_day_is_kept_of_older_days() -> None:
    hours = [datetime(2026, 11, 18, tzinfo=UTC) + timedelta(hours=hour) for hour in range(22, 84)]

    kept = sorted(set(hours) - savepoint.expired_hours(hours))

    assert kept == [hours[0], hours[2], *hours[13:]]
