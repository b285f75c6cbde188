"""Incremental builds give the same gold as one build, and a new hour reads only that hour.

The recording of Kafka 3.9.1 is shifted so that the hour changes during the outage of broker 3: incidents, intervals,
and votes last across the hour.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire.spark import gold
from kwire.spark.gold import config_changes, days, state
from kwire.spark.pipeline import Pipeline
from tests.spark import recorded
from tests.spark.bronze_rows import START, response, table, topic

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
    return {each.name: sorted(map(repr, each.read(spark, str(out)).collect())) for each in gold.TABLES}


def test_build_by_hours_equals_one_build(spark: SparkSession, tmp_path: Path) -> None:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from kwire.spark.silver_tables import SILVER_SCHEMAS

    whole, out = tmp_path / "whole", tmp_path / "by_hours"
    recorded.write_silver(shifted_recording(), whole)
    for before in (True, False):
        for name, schema in SILVER_SCHEMAS.items():
            for file in sorted((whole / "silver" / name).rglob("*.parquet")):
                rows = pq.read_table(file, schema=schema.arrow)
                kept = (pc.less if before else pc.greater_equal)(rows.column(schema.time), HOUR)
                folder = out / "silver" / name / file.parent.name
                folder.mkdir(parents=True, exist_ok=True)
                pq.write_table(rows.filter(kept), folder / f"part-{0 if before else 1}.parquet")
        gold.build(spark, str(out))
    by_hours, files = contents(spark, out), gold_files(out)
    gold.build(spark, str(out))
    assert gold_files(out) == files  # nothing is new

    gold.build(spark, str(out), hours=[datetime(2026, 11, 21, 4, 59, tzinfo=UTC)])  # from the first hour: all at once

    assert gold_files(out).isdisjoint(files)
    assert contents(spark, out) == by_hours


def gold_files(out: Path) -> set[Path]:
    return set((out / "gold").rglob("*.parquet"))


def test_kept_config_polls_give_same_changes(spark: SparkSession, tmp_path: Path) -> None:
    """An hour may begin before all polls, between rounds, or within a round."""
    recorded.write_silver(recorded.bronze("zk39-public"), tmp_path)
    configs = days.silver(spark, str(tmp_path), "configs").persist()
    polls = config_changes.config_polls(days.silver(spark, str(tmp_path), "polls")).persist()
    times = sorted(row.polled_at.replace(tzinfo=UTC) for row in polls.collect())
    whole = config_changes.changes(configs, polls).sort("at", "resource", "key").collect()
    assert len(whole) > 4
    assert all(change.not_before is not None for change in whole)
    changed = [change.at.replace(tzinfo=UTC) for change in whole]

    for as_of in (times[0], changed[0], changed[0] + timedelta(milliseconds=10), changed[len(changed) // 2]):
        kept = config_changes.polls_to_keep(polls, as_of).persist()
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


def test_one_state_per_day_is_kept_of_older_days(spark: SparkSession, tmp_path: Path) -> None:
    states = tmp_path / "gold/_state"
    hours = [datetime(2026, 11, 18, tzinfo=UTC) + timedelta(hours=hour) for hour in range(22, 84)]
    for hour in hours:
        (states / f"at={hour:%Y-%m-%dT%H}/incidents={hour:%Y-%m-%dT%H}").mkdir(parents=True)
    (states / "at=2026-11-21T12").mkdir()  # left by a failed build

    state.thin_out(spark, str(tmp_path))

    kept = [datetime.strptime(path.name, "at=%Y-%m-%dT%H").replace(tzinfo=UTC) for path in sorted(states.iterdir())]
    assert [hour for hour in kept if hour < datetime(2026, 11, 19, 12, tzinfo=UTC)] == [hours[0], hours[2]]
    assert [hour for hour in kept if hour in hours and hour >= datetime(2026, 11, 19, 12, tzinfo=UTC)] == hours[14:]
    assert state.newest(spark, str(tmp_path), datetime(2027, 1, 1, tzinfo=UTC)) == hours[-1]
    assert state.newest(spark, str(tmp_path), datetime(2026, 11, 19, 5, tzinfo=UTC)) == hours[2]
    assert state.newest(spark, str(tmp_path), datetime(2026, 11, 18, tzinfo=UTC)) is None
