"""Sinks of incidents: each receives a new and an ended incident once, also across restarts."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

from kwire.spark.ingest_report import IngestReport, ReporterPolls
from kwire.spark.live_gold import LiveGold
from kwire.spark.pipeline import Pipeline
from kwire.spark.sinks import IncidentNotice, IncidentPublisher, IncidentSink, Ledger, NoticeStatus, SinkFailed
from kwire.spark.sinks.job_metrics import JobMetrics
from kwire.spark.sinks.publisher import SETTLING, deliver, repeat_unconfirmed
from kwire.spark.sinks.python_callable import CallableSink, load_callable
from kwire.spark.sinks.webhook import WebhookSink
from tests.spark.bronze_rows import failed_poll, response, table, topic
from tests.spark.webhook import Webhook

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

START = datetime(2026, 11, 21, 14, tzinfo=UTC)
RECEIVED: list[str] = []


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    receiver = Webhook()
    yield receiver
    receiver.close()


def incident(first_sign: float, *, kind: str = "broker_killed", ended: float | None = None) -> dict[str, Any]:
    at = START + timedelta(seconds=first_sign)
    return {
        "incident_id": f"{kind}-{first_sign}",
        "cluster_id": "c",
        "kind": kind,
        "cause": "its process ended",
        "caused_by": None,
        "broker_id": 2,
        "began_at": at,
        "first_sign_at": at,
        "first_sign": "poll_failed",
        "seen_at": {"poll_failed": at},
        "ended_at": None if ended is None else START + timedelta(seconds=ended),
        "topics": [],
        "topic_count": 3,
        "partition_count": 7,
        "under_replicated": 7,
        "offline": 0,
        "electing": 0,
        "leaders_moved": 2,
        "attributes": {"failures": "refused"},
    }


def received(ledger: Ledger, *incidents: dict[str, Any]) -> list[tuple[str, str]]:
    """Deliver what is pending and return the status and kind of each notice."""
    notices = ledger.pending(incidents)
    for notice in notices:
        ledger.add(notice)
    return [(notice.status, notice.incident["kind"]) for notice in notices]


def test_incident_is_sent_once_when_new_and_once_when_ended(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path), "sink")

    assert received(ledger, incident(10)) == [("firing", "broker_killed")]
    assert received(ledger, incident(10)) == []
    assert received(ledger, incident(10, ended=60)) == [("resolved", "broker_killed")]
    assert received(Ledger(str(tmp_path), "sink"), incident(10, ended=60)) == []
    assert received(Ledger(str(tmp_path), "other"), incident(10, ended=60)) == [("resolved", "broker_killed")]


def test_outage_that_is_classified_again_is_not_sent_again(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path), "sink")
    received(ledger, incident(10, kind="broker_lost"))

    assert received(ledger, incident(8, kind="broker_killed")) == []
    assert received(ledger, incident(8, kind="broker_killed", ended=60)) == [("resolved", "broker_killed")]
    assert received(ledger, incident(8, ended=60), incident(300)) == [("firing", "broker_killed")]


def test_new_ledger_skips_incidents_that_ended_before(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path), "sink")
    ledger.start([incident(10, ended=60), incident(70)])

    assert received(ledger, incident(10, ended=60), incident(70)) == [("firing", "broker_killed")]


def test_old_incidents_are_forgotten_and_not_sent_again(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path), "sink")
    old, later = incident(0, ended=10), 9 * 86_400
    received(ledger, old)

    assert len(received(ledger, old, incident(later, ended=later + 1))) == 1
    assert received(Ledger(str(tmp_path), "sink"), old) == []
    assert len(json.loads((tmp_path / "_notified" / "sink.json").read_text())["incidents"]) == 1


def test_webhook_gets_form_of_alertmanager(webhook: Webhook) -> None:
    row = incident(10, ended=60)

    WebhookSink(webhook.url).send(IncidentNotice(NoticeStatus.RESOLVED, row))

    [body] = webhook.bodies
    [alert] = body["alerts"]
    assert (body["version"], body["status"]) == ("4", "resolved")
    assert body["groupLabels"] == {"incident_id": row["incident_id"]}
    assert alert["labels"] == {
        "alertname": "KafkaBrokerKilled",
        "incident_id": row["incident_id"],
        "cluster_id": "c",
        "kind": "broker_killed",
        "broker_id": "2",
    }
    assert (alert["startsAt"], alert["endsAt"]) == ("2026-11-21T14:00:10Z", "2026-11-21T14:01:00Z")
    assert alert["annotations"]["summary"] == "Kafka cluster c: broker killed (broker 2)"
    assert alert["annotations"]["under_replicated"] == "7"


def test_failed_webhook_is_named_without_its_token(webhook: Webhook) -> None:
    webhook.status = 503

    with pytest.raises(SinkFailed, match=r"127\.0\.0\.1 did not accept an incident: HTTP status 503") as failure:
        WebhookSink(webhook.url).send(IncidentNotice(NoticeStatus.FIRING, incident(10)))
    assert "secret" not in str(failure.value)
    with pytest.raises(ValueError, match="expected the URL of a webhook"):
        WebhookSink("file:///etc/passwd")


def send_and_die(url: str, out: str, row: dict[str, Any]) -> None:
    """Send a notice, and be killed before the ledger is written."""

    class Killed(WebhookSink):
        def send(self, notice: IncidentNotice) -> None:
            super().send(notice)
            os.kill(os.getpid(), signal.SIGKILL)

    sink = Killed(url)
    deliver(IncidentNotice(NoticeStatus.FIRING, row), sink, Ledger(out, sink.name))


def test_notice_after_kill_has_same_bytes_and_all_notices_same_labels(webhook: Webhook, tmp_path: Path) -> None:
    """Gold has another diagnosis, and thus another id, when the next process sends the notice again."""
    first = incident(10, kind="broker_lost")
    now = incident(8, kind="broker_killed", ended=60)
    process = multiprocessing.get_context("spawn").Process(
        target=send_and_die, args=(webhook.url, str(tmp_path), first)
    )
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL

    sink = WebhookSink(webhook.url)
    ledger = Ledger(str(tmp_path), sink.name)
    assert repeat_unconfirmed(sink, ledger) == 1
    for notice in ledger.pending([now]):
        deliver(notice, sink, ledger)

    assert repeat_unconfirmed(sink, Ledger(str(tmp_path), sink.name)) == 0
    (firing, repeated), (resolved,) = webhook.contents.values()
    assert firing == repeated
    firing_alert, resolved_alert = (json.loads(content)["alerts"][0] for content in (firing, resolved))
    assert resolved_alert["status"] == "resolved"
    for name in ("labels", "fingerprint"):
        assert resolved_alert[name] == firing_alert[name]
    assert resolved_alert["annotations"]["summary"] == "Kafka cluster c: broker killed (broker 2)"


def test_notice_that_was_not_accepted_is_sent_before_newer_ones(webhook: Webhook, tmp_path: Path) -> None:
    sink = WebhookSink(webhook.url)
    ledger = Ledger(str(tmp_path), sink.name)
    webhook.status = 500
    with pytest.raises(SinkFailed):
        deliver(IncidentNotice(NoticeStatus.FIRING, incident(10)), sink, ledger)
    webhook.status = 200

    repeat_unconfirmed(sink, ledger)
    for notice in ledger.pending([incident(10, ended=60)]):
        deliver(notice, sink, ledger)

    assert [body["status"] for body in webhook.bodies] == ["firing", "resolved"]


def test_counter_of_incidents_continues_after_restart() -> None:
    def shown(incidents: list[dict[str, Any]]) -> list[str]:
        metrics = JobMetrics()
        port, stop = metrics.serve("127.0.0.1", 0)
        metrics.set_incidents(incidents)
        with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            lines: list[str] = page.read().decode().splitlines()
        stop()
        return [line for line in lines if line.startswith("kwire_pipeline_incidents_total")]

    assert shown([incident(10, ended=60)]) == shown([incident(10, ended=60)])
    assert shown([incident(10, ended=60), incident(90)])[0].endswith(" 2.0")


def keep(notice: IncidentNotice) -> None:
    RECEIVED.append(f"{notice.status} {notice.incident['kind']}")


def test_callable_is_named_by_its_module() -> None:
    sink = load_callable("json:dumps")

    with pytest.raises(SinkFailed, match="TypeError"):
        sink.send(IncidentNotice(NoticeStatus.FIRING, incident(10)))
    CallableSink(keep).send(IncidentNotice(NoticeStatus.FIRING, incident(10)))

    assert RECEIVED == ["firing broker_killed"]
    assert sink.name == "json.dumps"
    with pytest.raises(ValueError, match="expected module:function"):
        load_callable("json:missing")


def test_gold_is_due_early_once_a_broker_has_failed_twice(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    live = LiveGold(pipeline, 3600.0, IncidentPublisher(pipeline, []))

    def left_after(**polls: ReporterPolls) -> float:
        live.add_report(IngestReport(polls=polls))
        return live.seconds_left()

    assert left_after(one=ReporterPolls(True, 0), two=ReporterPolls(True, 1)) > 3000
    assert left_after(one=ReporterPolls(True, 1), two=ReporterPolls(True, 1)) > 3000
    assert left_after(one=ReporterPolls(False, 1)) <= SETTLING.total_seconds()
    live.build()
    assert left_after(one=ReporterPolls(False, 10)) > 3000
    assert left_after(one=ReporterPolls(True, 2)) <= SETTLING.total_seconds()


@pytest.mark.usefixtures("one_shuffle_partition")
def test_live_pipeline_sends_each_incident_once_across_restarts(
    spark: SparkSession, tmp_path: Path, webhook: Webhook
) -> None:
    def polls(times: range, broker: int) -> list[Any]:
        return [response(at / 2, topic("orders"), broker=broker) for at in times]

    def ingest(*rows: Any) -> IngestReport:
        return pipeline.ingest(table(spark, tmp_path / "bronze", *rows))

    def restarted() -> LiveGold:
        sinks: list[IncidentSink] = [
            WebhookSink(webhook.url),
            CallableSink(lambda notice: heard.append(notice.status), "heard"),
        ]
        return LiveGold(pipeline, 60.0, IncidentPublisher(pipeline, sinks, metrics), metrics)

    pipeline = Pipeline(spark, str(tmp_path / "out"))
    heard: list[str] = []
    metrics = JobMetrics()
    live = restarted()
    outage = [failed_poll(at / 2, broker=2, cluster="c") for at in range(40, 60)]
    report = ingest(*polls(range(60), 1), *polls(range(40), 2), *outage)
    live.add_report(report)
    webhook.status = 500
    to_callable = live.build()
    port, stop = metrics.serve("127.0.0.1", 0)
    with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        shown = page.read().decode()
    stop()
    webhook.status = 200
    to_webhook = restarted().build()
    ingest(*polls(range(60, 90), 1), *polls(range(60, 90), 2))
    restarted().build()

    assert report.polls == {"c/1": ReporterPolls(True, 0), "c/2": ReporterPolls(True, 20)}
    assert (to_callable, to_webhook) == (1, 1)
    assert 'kwire_pipeline_open_incidents{cluster_id="c",kind="broker_killed"} 1.0' in shown
    assert restarted().build() == 0
    assert [body["status"] for body in webhook.bodies if body["alerts"][0]["labels"]["kind"] == "broker_killed"] == [
        "firing",
        "resolved",
    ]
    assert heard == [body["status"] for body in webhook.bodies]
