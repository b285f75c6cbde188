"""Building gold: unusual folders, little data, failed builds, and polls that cannot be attributed."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from kwire_pipeline import gold
from kwire_pipeline.engine import Engine
from kwire_pipeline.gold import incidents
from kwire_pipeline.gold.view import GoldBuild
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.sql_views import create_views
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.snapshot import escape_glob
from tests.pipeline.bronze_rows import START, failed_poll, response, table, topic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kwire.capture import Row

pytestmark = pytest.mark.usefixtures("one_shuffle_partition")


def test_single_poll_makes_gold_in_folder_with_special_characters(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, str(tmp_path / "a [1] {x} 5 # ü"))

    pipeline.ingest(table(spark, tmp_path / "bronze", response(0, topic("orders"))))
    pipeline.gold()

    assert [row.topic for row in pipeline.table("intervals").collect()] == ["orders"]
    assert pipeline.table("incidents").count() == 0
    assert "kafka_current_incidents" in create_views(pipeline)
    assert [row.topic for row in spark.sql("SELECT topic FROM kafka_current_partitions").collect()] == ["orders"]
    assert spark.sql("SELECT broker_id, leaders FROM kafka_current_leaders").collect() == [(1, 1)]
    assert spark.sql("SELECT * FROM kafka_current_incidents").count() == 0


def test_small_build_runs_few_tasks_in_default_session(spark: SparkSession, tmp_path: Path) -> None:
    seen: list[str | None] = []
    store = PipelineStore(str(tmp_path / "out"))
    build = GoldBuild(spark, store, store.newest())
    for setting in ("200", "1"):
        spark.conf.set("spark.sql.shuffle.partitions", setting)  # the fixture restores it
        with build.queries(in_process=False):
            seen.append(spark.conf.get("spark.sql.shuffle.partitions"))
        seen.append(spark.conf.get("spark.sql.shuffle.partitions"))

    assert seen == ["2", "200", "1", "1"]


def test_hourly_build_runs_few_jobs_in_default_session(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    pipeline.ingest(table(spark, tmp_path / "bronze", *_polls_with_outage_of_broker_3(range(30))))
    pipeline.gold()
    default = {"spark.sql.adaptive.enabled": "true", "spark.sql.autoBroadcastJoinThreshold": "10485760b"}
    before = {name: str(spark.conf.get(name)) for name in default}
    for name, value in default.items():
        spark.conf.set(name, value)
    try:
        pipeline.ingest(table(spark, tmp_path / "bronze", *_polls_with_outage_of_broker_3(range(30, 60))))
        with counted(spark) as in_process:
            pipeline.gold()
        store = PipelineStore(str(tmp_path / "out"))
        with counted(spark) as shuffled:
            gold.build(Engine(spark, 0), store, hours=[START + timedelta(hours=1)])
        left = {name: spark.conf.get(name) for name in default}
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)

    assert (in_process.jobs, in_process.tasks) == (0, 0)
    assert shuffled.jobs <= 5
    assert left == default


def test_repeated_ingest_reopens_no_day(spark: SparkSession, tmp_path: Path) -> None:
    polls = _polls_with_outage_of_broker_3(range(30))
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    pipeline.ingest(table(spark, tmp_path / "bronze", *polls))
    pipeline.gold()
    before = pipeline.snapshot().versions
    again = table(spark, tmp_path / "again", *polls, polls[3])

    with counted(spark) as repeated:
        report = pipeline.ingest(again)
        pipeline.gold()

    assert (report.repeated, report.late, report.rows) == (len(polls) + 1, 0, {})
    assert repeated.jobs <= 2
    assert pipeline.snapshot().versions == before


@dataclass
class Counts:
    """Numbers of jobs and tasks that Spark has run."""

    jobs: int = 0
    tasks: int = 0


@contextmanager
def counted(spark: SparkSession) -> Iterator[Counts]:
    """Count the jobs and tasks of a block."""
    counts, group = Counts(), uuid4().hex
    context = spark.sparkContext
    context.setJobGroup(group, "")
    try:
        yield counts
    finally:
        context.setJobGroup("", "")
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    counts.jobs = len(jobs)
    counts.tasks = sum(stage.numCompletedTasks for stage in stages if stage is not None)


def test_escape_glob_escapes_every_wildcard() -> None:
    assert escape_glob("/a b/[1]{x}*?\\") == "/a b/\\[1\\]\\{x\\}\\*\\?\\\\"


def test_open_incident_survives_failed_build(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    pipeline.ingest(table(spark, tmp_path / "bronze", *_polls_with_outage_of_broker_3(range(40))))
    pipeline.gold()
    before = _incidents(pipeline)

    def fail(*_: object) -> None:
        raise ArithmeticError("no diagnosis")

    pipeline.ingest(table(spark, tmp_path / "bronze", *_polls_with_outage_of_broker_3(range(40, 60))))
    with monkeypatch.context() as patched:
        patched.setattr(incidents, "plan", fail)
        with pytest.raises(ArithmeticError, match="no diagnosis"):
            pipeline.gold()
    pipeline.gold()

    assert before == [("broker_lost", 3, None)]
    assert _incidents(pipeline) == before


def test_two_builds_at_once_give_tables_of_one(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (Pipeline(spark, str(tmp_path / "out")) for _ in range(2))
    first.ingest(table(spark, tmp_path / "bronze", *_polls_with_outage_of_broker_3(range(40))))
    commit = GoldBuild.commit

    def commit_after_other(build: GoldBuild, gold: dict[str, object]) -> None:
        monkeypatch.setattr(GoldBuild, "commit", commit)
        second.gold()
        commit(build, gold)

    monkeypatch.setattr(GoldBuild, "commit", commit_after_other)
    first.gold()

    assert first.snapshot().number == 2
    assert _incidents(first) == [("broker_lost", 3, None)]
    assert first.table("intervals").count() == 1


def test_failed_polls_are_attributed_to_cluster_that_endpoint_reports_later(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    unknown = [failed_poll(second, broker=-1, endpoint="unknown:1") for second in range(20)]
    healthy = [response(second, topic("x"), listed=(1, 3)) for second in range(20)]
    failed = [failed_poll(second + 0.2, broker=-1, endpoint="k3:9092") for second in range(10)]
    recovered = [response(second + 0.2, topic("x"), broker=3, listed=(1, 3)) for second in range(10, 20)]

    pipeline.ingest(table(spark, tmp_path / "bronze", *unknown, *healthy, *failed, *recovered))
    pipeline.gold()

    found = pipeline.table("incidents").orderBy("began_at").collect()
    assert [(row.cluster_id, row.kind, row.broker_id) for row in found] == [
        ("c", "broker_lost", 3),
        ("c", "broker_returned", 3),
    ]
    assert all(row.ended_at is not None for row in found)


def test_cluster_that_never_responded_is_unreachable(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, str(tmp_path / "out"))

    pipeline.ingest(table(spark, tmp_path / "bronze", *(failed_poll(second, broker=-1) for second in range(5))))
    pipeline.gold()

    assert _incidents(pipeline) == [("cluster_unreachable", None, None)]
    assert pipeline.table("intervals").count() == 0


def _polls_with_outage_of_broker_3(rounds: range) -> list[Row]:
    """Return polls every ten seconds; broker 3 fails from the 20th round on, two minutes before the hour."""
    rows = []
    for number in rounds:
        at, failed = 3300 + 10 * number, number >= 20
        rows.append(response(at, topic("x"), listed=(1, 2) if failed else (1, 2, 3)))
        rows.append(
            failed_poll(at + 0.2, broker=3, cluster="c")
            if failed
            else response(at + 0.2, topic("x"), broker=3, listed=(1, 3))
        )
    return rows


def _incidents(pipeline: Pipeline) -> list[tuple[str, int | None, object]]:
    return [tuple(row) for row in pipeline.table("incidents").select("kind", "broker_id", "ended_at").collect()]
