"""The publisher of a live pipeline: its sinks delay neither gold nor one another."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.ingest.ingest_report import IngestReport
from kwire_pipeline.live.live_gold import LiveGold
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.sinks import IncidentNotice, IncidentPublisher, IncidentSink, Ledger
from kwire_pipeline.sinks.delivery import SETTLING
from kwire_pipeline.sinks.job_metrics import JobMetrics
from kwire_pipeline.sinks.publisher import read_incidents
from kwire_pipeline.sinks.sink import CallableSink
from kwire_pipeline.sinks.webhook import WebhookSink
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.manifest import ReporterPolls
from tests.eventually import eventually_sync
from tests.pipeline.bronze_rows import failed_poll, response, table, topic
from tests.pipeline.sinks.alerts import LONG_AGO, START, Recorder, incident, set_incidents, shown
from tests.pipeline.webhook import Webhook

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_gold_is_due_early_once_a_broker_has_failed_twice(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    live = LiveGold(pipeline, 3600.0, IncidentPublisher(pipeline, []))

    def left_after(**polls: ReporterPolls) -> float:
        live.add_report(IngestReport(polls=polls))
        return live.seconds_left()

    assert left_after(one=ReporterPolls(True, 0), two=ReporterPolls(True, 1)) > 3000
    assert left_after(one=ReporterPolls(True, 1), two=ReporterPolls(True, 1)) > 3000
    assert left_after(one=ReporterPolls(False, 1)) <= SETTLING.total_seconds()
    assert live.seconds_left() > 0
    live.build()
    assert live.seconds_left() <= SETTLING.total_seconds()  # the incident was too new for that build
    before = time.time_ns() // 1000 - round(SETTLING.total_seconds() * 1e6)
    assert left_after(two=ReporterPolls(True, 2, before)) == 0  # polls at long intervals: it is old enough
    live.build()
    assert left_after(one=ReporterPolls(False, 10)) > 3000
    assert left_after(one=ReporterPolls(True, 2)) <= SETTLING.total_seconds()


def test_failure_begins_with_the_first_failed_poll_of_several_ingests() -> None:
    earlier, later = ReporterPolls(True, 1, 10), ReporterPolls(False, 2, 20)
    assert earlier.followed_by(later) == ReporterPolls(True, 3, 10)
    assert later.followed_by(ReporterPolls(True, 1, 30)) == ReporterPolls(True, 1, 30)


def test_round_reads_only_incidents_that_the_ledger_needs(spark: SparkSession, tmp_path: Path) -> None:
    """Files of days before all of them are not opened: here, one is damaged."""
    day = 86_400
    pipeline = Pipeline(spark, str(tmp_path))
    old, ended, lasting = incident(-99 * day, ended=-98 * day), incident(-2 * day, ended=-day), incident(-90 * day)
    set_incidents(PipelineStore(pipeline.out), old, ended, lasting, incident(0, ended=10))
    [file] = (tmp_path / "gold" / "incidents").glob(f"date={old['began_at']:%Y-%m-%d}/*/*")
    file.write_bytes(b"not Parquet")
    ledger = Ledger(pipeline.out, "sink")
    ledger.start(START)

    rows = read_incidents(pipeline, ledger)

    assert sorted(row["incident_id"] for row in rows) == ["broker_killed--7776000", "broker_killed-0"]
    assert next(row for row in rows if row["ended_at"] is None) == lasting


class HangingSink(Recorder):
    """A sink that accepts nothing until `may_end` is set."""

    name = "hanging"

    def __init__(self) -> None:
        super().__init__()
        self.has_begun, self.may_end = threading.Event(), threading.Event()

    def send(self, notice: IncidentNotice) -> None:
        self.has_begun.set()
        self.may_end.wait(300)
        super().send(notice)


def test_hanging_sink_delays_neither_gold_nor_other_sinks_nor_the_end(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = Pipeline(spark, str(tmp_path))
    set_incidents(PipelineStore(pipeline.out), incident(0))
    hanging, other = HangingSink(), Recorder()
    publisher = IncidentPublisher(pipeline, [hanging, other], began_at=LONG_AGO)

    publisher.wake()
    assert hanging.has_begun.wait(60)
    set_incidents(PipelineStore(pipeline.out), incident(0, ended=5), incident(100))
    publisher.wake()
    eventually_sync(lambda: len(other.notices) == 3, "the notices of the other sink")
    publisher.close(timeout=0.1)
    assert "hanging is slow" in caplog.text
    assert hanging.notices == []

    hanging.may_end.set()
    eventually_sync(lambda: len(hanging.notices) == 3, "the last round")
    assert sorted(hanging.take()) == sorted(
        [("firing", "broker_killed"), ("resolved", "broker_killed"), ("firing", "broker_killed")]
    )


def test_publisher_survives_a_store_that_cannot_be_read(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = Pipeline(spark, str(tmp_path))
    set_incidents(PipelineStore(pipeline.out), incident(0))
    sink = Recorder()
    publisher = IncidentPublisher(pipeline, [sink], began_at=LONG_AGO)
    ingests = (tmp_path / "ingests").rename(tmp_path / "hidden")

    publisher.wake()
    eventually_sync(lambda: "incidents could not be sent to sink" in caplog.text, "a failed round")
    ingests.rename(tmp_path / "ingests")
    eventually_sync(lambda: sink.take() == [("firing", "broker_killed")], "the next round")
    publisher.close()


def test_second_job_waits_and_takes_over(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a rolling update: the new job begins before the old one ends."""
    monkeypatch.setattr("kwire_pipeline.sinks.sink_thread.STANDBY", 0.05)
    pipeline = Pipeline(spark, str(tmp_path))
    set_incidents(PipelineStore(pipeline.out), incident(0))
    old, new = Recorder(), Recorder()
    first = IncidentPublisher(pipeline, [old], began_at=LONG_AGO)
    second = IncidentPublisher(pipeline, [new], began_at=LONG_AGO)
    for publisher in (first, second):
        publisher.wake()
    eventually_sync(lambda: old.notices, "a notice from the first job")
    set_incidents(PipelineStore(pipeline.out), incident(0, ended=5))
    first.close()
    eventually_sync(lambda: new.notices or len(old.notices) == 2, "a notice about the end")
    second.close()

    assert old.take() + new.take() == [("firing", "broker_killed"), ("resolved", "broker_killed")]
    assert f"sink: process {os.getpid()} sends the notices of this sink: this job waits until it ends" in caplog.text


@pytest.mark.usefixtures("one_shuffle_partition")
def test_live_pipeline_sends_each_incident_once_across_restarts(
    spark: SparkSession, tmp_path: Path, webhook: Webhook
) -> None:
    def polls(times: range, broker: int) -> list[Any]:
        return [response(at / 2, topic("orders"), broker=broker) for at in times]

    def ingest(*rows: Any) -> IngestReport:
        return pipeline.ingest(table(spark, tmp_path / "bronze", *rows))

    def publisher() -> IncidentPublisher:
        sinks: list[IncidentSink] = [
            WebhookSink(webhook.url),
            CallableSink(lambda notice: heard.append(notice.status), "heard"),
        ]
        return IncidentPublisher(pipeline, sinks, metrics, LONG_AGO)

    def build() -> None:
        """Build gold in a job that begins and ends with it."""
        live = LiveGold(pipeline, 60.0, publisher(), metrics)
        live.build()
        live.close()

    pipeline = Pipeline(spark, str(tmp_path / "out"))
    heard: list[str] = []
    metrics = JobMetrics()
    outage = [failed_poll(at / 2, broker=2, cluster="c") for at in range(40, 60)]
    report = ingest(*polls(range(60), 1), *polls(range(40), 2), *outage)
    webhook.status = 500
    build()
    to_callable, to_webhook = len(heard), len(webhook.bodies)
    samples = shown(metrics)
    webhook.status = 200
    build()
    ingest(*polls(range(60, 90), 1), *polls(range(60, 90), 2))
    build()
    received = len(webhook.bodies)
    build()

    since = microseconds(outage[0].polled_at)
    assert report.polls == {"c/1": ReporterPolls(True, 0), "c/2": ReporterPolls(True, 20, since)}
    assert (to_callable, to_webhook) == (1, 0)
    assert samples['kwire_pipeline_open_incidents{cluster_id="c",kind="broker_killed"}'] == 1
    assert samples['kwire_pipeline_incidents_total{cluster_id="c",kind="broker_killed"}'] == 1
    assert len(webhook.bodies) == received
    assert [body["status"] for body in webhook.bodies if body["alerts"][0]["labels"]["kind"] == "broker_killed"] == [
        "firing",
        "resolved",
    ]
    assert heard == [body["status"] for body in webhook.bodies]
