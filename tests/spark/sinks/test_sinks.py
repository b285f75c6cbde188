"""Sinks of incidents: each receives a new and an ended incident once, also across restarts."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import threading
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pyarrow as pa
import pytest

from kwire.spark.gold.incidents import TABLE as INCIDENTS
from kwire.spark.ingest.ingest_report import IngestReport, ReporterPolls
from kwire.spark.live.live_gold import LiveGold
from kwire.spark.pipeline import Pipeline
from kwire.spark.sinks import IncidentNotice, IncidentPublisher, IncidentSink, Ledger, NoticeStatus, SinkFailed
from kwire.spark.sinks.job_metrics import JobMetrics
from kwire.spark.sinks.ledger import KEPT, AlertState
from kwire.spark.sinks.ledger_owner import LedgerInUse
from kwire.spark.sinks.publisher import LONGEST_PAUSE, SETTLING, STRIKES, Round, SinkDelivery, read_incidents
from kwire.spark.sinks.sink import CallableSink, load_callable
from kwire.spark.sinks.webhook import WebhookSink
from kwire.spark.store.commits import Store
from kwire.spark.store.manifest import FileKind
from kwire.spark.store.record import Change
from kwire.spark.store.table_files import Output, TableFile
from tests.eventually import eventually_sync
from tests.spark.bronze_rows import failed_poll, response, table, topic
from tests.spark.webhook import Webhook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

START = datetime(2026, 11, 21, 14, tzinfo=UTC)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
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


DELIVERIES: list[SinkDelivery] = []


@pytest.fixture(autouse=True)
def end_deliveries() -> Iterator[None]:
    """Release the ledgers of a test, as the end of its process would."""
    yield
    while DELIVERIES:
        DELIVERIES.pop().release()


def delivery_to(sink: IncidentSink, folder: Path, began_at: datetime = LONG_AGO) -> SinkDelivery:
    DELIVERIES.append(SinkDelivery(str(folder), sink, began_at))
    return DELIVERIES[-1]


class Recorder:
    """A sink in this process.

    Attributes:
        received: status and kind of each accepted notice.
        failures: the errors with which to answer notices about an incident, by kind.
    """

    name = "sink"

    def __init__(self) -> None:
        self.notices: list[IncidentNotice] = []
        self.failures: dict[str, SinkFailed] = {}

    def send(self, notice: IncidentNotice) -> None:
        if (failure := self.failures.get(notice.incident["kind"])) is not None:
            raise failure
        self.notices.append(notice)

    def take(self) -> list[tuple[str, str]]:
        """Return the status and kind of each notice since the last call."""
        taken = [(str(notice.status), notice.incident["kind"]) for notice in self.notices]
        self.notices.clear()
        return taken


class Gold:
    """Incidents that a test sets, and their delivery to a `Recorder` with a ledger in a folder."""

    def __init__(self, folder: Path, began_at: datetime = LONG_AGO) -> None:
        self.sink = Recorder()
        self._folder, self._began_at = folder, began_at
        self.delivery = delivery_to(self.sink, folder, began_at)

    def restart(self) -> None:
        self.delivery.release()
        self.delivery = delivery_to(self.sink, self._folder, self._began_at)

    def publish(self, *incidents: dict[str, Any]) -> list[tuple[str, str]]:
        """Run a round, and return the status and kind of each accepted notice."""
        self.round(*incidents)
        return self.sink.take()

    def round(self, *incidents: dict[str, Any]) -> Round:
        return self.delivery.publish(lambda _: incidents)

    @property
    def ledger(self) -> Ledger:
        return self.delivery.open()


def test_incident_is_sent_once_when_new_and_once_when_ended(tmp_path: Path) -> None:
    gold = Gold(tmp_path)

    assert gold.publish(incident(10)) == [("firing", "broker_killed")]
    assert gold.publish(incident(10)) == []
    assert gold.publish(incident(10, ended=60)) == [("resolved", "broker_killed")]
    gold.restart()
    assert gold.publish(incident(10, ended=60)) == []
    assert Gold(tmp_path / "other").publish(incident(10, ended=60)) == [("resolved", "broker_killed")]


def test_outage_that_is_classified_again_is_not_sent_again(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    gold.publish(incident(10, kind="broker_lost"))

    assert gold.publish(incident(8, kind="broker_killed")) == []
    assert gold.publish(incident(8, kind="broker_killed", ended=60)) == [("resolved", "broker_killed")]
    assert gold.publish(incident(8, ended=60), incident(300)) == [("firing", "broker_killed")]


def test_next_outage_of_a_broker_does_not_take_the_place_of_one_that_is_classified_again(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    gold.publish(incident(0, kind="broker_lost"))

    assert gold.publish(incident(20, kind="broker_lost"), incident(0, ended=10)) == [
        ("resolved", "broker_killed"),
        ("firing", "broker_lost"),
    ]


def test_incident_that_gold_no_longer_has_is_resolved_after_its_successor(tmp_path: Path) -> None:
    """A broker is lost, then all are: gold replaces the first incident by `cluster_unreachable`."""
    gold = Gold(tmp_path)
    gold.publish(incident(10, kind="broker_lost"))
    [lost] = gold.ledger.pending([])
    everything = incident(12, kind="cluster_unreachable") | {"broker_id": None}

    assert gold.publish(everything) == [("firing", "cluster_unreachable"), ("resolved", "broker_lost")]
    assert gold.publish(everything) == []
    assert lost.labels["kind"] == "broker_lost"
    assert lost.annotations["withdrawn"] == "true"
    assert lost.incident["ended_at"] is not None


def test_incident_that_lasts_again_is_sent_again_with_another_key(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    rows = [incident(10), incident(10, ended=60), incident(10), incident(10, ended=90)]
    for row in rows:
        gold.round(row)

    keys = [notice.key for notice in gold.sink.notices]
    first = rows[0]["incident_id"]
    assert keys == [f"{first}-firing", f"{first}-resolved", f"{first}-firing-2", f"{first}-resolved-2"]
    assert len({notice.id for notice in gold.sink.notices}) == 1
    assert gold.sink.notices[-1].incident["ended_at"] == START + timedelta(seconds=90)


def test_new_sink_does_not_receive_what_ended_before_it_began(tmp_path: Path) -> None:
    """Gold is still empty when the sink begins; then an old capture is ingested."""
    gold = Gold(tmp_path, began_at=START + timedelta(seconds=65))
    assert gold.publish() == []

    assert gold.publish(incident(10, ended=60), incident(20), incident(30, ended=70)) == [
        ("firing", "broker_killed"),
        ("resolved", "broker_killed"),
    ]


def test_old_incidents_are_forgotten_and_not_sent_again(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    old, later = incident(0, ended=10), KEPT.total_seconds() + 86_400
    gold.publish(old)

    assert len(gold.publish(old, incident(later, ended=later + 1))) == 1
    gold.restart()
    assert gold.publish(old) == []
    assert gold.ledger.alert_counts == {AlertState.RESOLVED: 1}


@pytest.mark.parametrize("may_have_arrived", [False, True])
def test_refused_notice_is_a_dead_letter_and_blocks_nothing(tmp_path: Path, may_have_arrived: bool) -> None:
    gold = Gold(tmp_path)
    refused = incident(0, kind="config_changed")
    others = [incident(number, kind=f"kind_{number}") for number in range(1, 4)]
    if may_have_arrived:
        gold.sink.failures["config_changed"] = SinkFailed("sink", "connection lost")
        gold.round(refused)
    gold.sink.failures["config_changed"] = SinkFailed("sink", "HTTP status 422", is_final=True)

    assert len(gold.publish(refused, *others)) == 3
    gold.restart()
    assert gold.publish(refused, *others) == []
    [letter] = gold.ledger.dead_letters
    assert (letter.alert_id, letter.reason) == (refused["incident_id"], "HTTP status 422")
    assert gold.ledger.dead_letter_count == 1
    gold.sink.failures.clear()
    ended = incident(0, kind="config_changed", ended=60)
    assert gold.publish(ended, *others) == ([("resolved", "config_changed")] if may_have_arrived else [])


def test_notice_that_fails_while_others_are_accepted_is_a_dead_letter_in_the_end(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    gold.sink.failures["config_changed"] = SinkFailed("sink", "HTTP status 500")
    rows = [incident(0, kind="config_changed")]
    for number in range(STRIKES):
        assert gold.ledger.dead_letter_count == 0
        rows.append(incident(1000 * (number + 1)))
        assert len(gold.publish(*rows)) == 1

    assert gold.ledger.dead_letter_count == 1
    assert gold.round(*rows) == Round(0, 0)


def test_sink_that_accepts_nothing_gets_all_notices_once_it_is_back(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    rows = [incident(number, kind=f"kind_{number}") for number in range(10)]
    gold.sink.failures = {row["kind"]: SinkFailed("sink", "refused", may_have_arrived=False) for row in rows}
    for _ in range(3 * STRIKES):
        assert gold.round(*rows).failed == 3  # not ten timeouts
    gold.sink.failures.clear()

    ended = [row | {"ended_at": row["first_sign_at"] + timedelta(seconds=1)} for row in rows[:5]]
    assert sorted(gold.publish(*ended, *rows[5:9])) == sorted(
        [("resolved", f"kind_{number}") for number in range(5)]
        + [("firing", f"kind_{number}") for number in range(5, 9)]
    )
    assert gold.ledger.dead_letter_count == 0


def test_two_jobs_do_not_send_the_notices_of_one_sink(tmp_path: Path) -> None:
    first, second = Gold(tmp_path), Gold(tmp_path)
    first.publish(incident(10))

    with pytest.raises(LedgerInUse, match=f"sink: process {os.getpid()} sends the notices of this sink"):
        second.publish(incident(10))
    first.delivery.release()
    assert second.publish(incident(10)) == []
    assert second.publish(incident(10, ended=60)) == [("resolved", "broker_killed")]


def test_ledger_is_on_disk_before_it_replaces_the_previous_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power failure, a file that was renamed before it was synced can be empty."""
    synced: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def record_fsync(descriptor: int) -> None:
        fsync(descriptor)
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    def record_replace(path: Path, target: Path) -> Path:
        synced.append(f"{path.name} to {target.name}")
        return replace(path, target)

    gold = Gold(tmp_path)
    gold.publish()
    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(Path, "replace", record_replace)
    gold.publish(incident(10))

    assert synced == ["ledger.new", "ledger.new to ledger.json", "sink"] * 2


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"alerts": {"a": 1}}'])
def test_damaged_ledger_begins_again(tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    gold = Gold(tmp_path)
    gold.publish(incident(10), incident(20, kind="config_changed", ended=30))
    gold.delivery.release()
    [path] = (tmp_path / "_notified" / "sink").glob("ledger*")
    path.write_bytes(content)

    damaged = Gold(tmp_path)
    assert damaged.publish(incident(10), incident(20, kind="config_changed", ended=30)) == [("firing", "broker_killed")]
    assert "is damaged" in caplog.text
    assert path.with_name(f"{path.name}.damaged").read_bytes() == content
    damaged.restart()
    assert damaged.publish(incident(10)) == []


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


@pytest.mark.parametrize(
    ("status", "headers", "is_final", "may_have_arrived", "retry_after"),
    [
        (422, {}, True, False, 0),
        (404, {"Retry-After": "5"}, True, False, 0),
        (302, {"Location": "/elsewhere"}, True, False, 0),
        (401, {}, False, False, 0),
        (403, {}, False, False, 0),
        (408, {}, False, False, 0),
        (429, {"Retry-After": "7"}, False, False, 7),
        (429, {"Retry-After": "soon"}, False, False, 0),
        (503, {"Retry-After": "Thu, 01 Jan 2099 00:00:00 GMT"}, False, True, LONGEST_PAUSE),
        (503, {"Retry-After": "Thu, 01 Jan 1998 00:00:00 GMT"}, False, True, 0),
        (500, {}, False, True, 0),
    ],
)
def test_answers_of_webhook_are_final_or_not(
    webhook: Webhook, status: int, headers: dict[str, str], is_final: bool, may_have_arrived: bool, retry_after: float
) -> None:
    webhook.status, webhook.headers = status, headers

    with pytest.raises(SinkFailed) as failure:
        WebhookSink(webhook.url).send(IncidentNotice(NoticeStatus.FIRING, incident(10)))
    assert (failure.value.is_final, failure.value.may_have_arrived) == (is_final, may_have_arrived)
    assert min(failure.value.retry_after, LONGEST_PAUSE) == retry_after


def test_webhook_that_answers_slowly_has_a_deadline_for_the_whole_exchange(webhook: Webhook) -> None:
    webhook.status = 0

    with pytest.raises(SinkFailed, match=r"no answer within 0\.5 s") as failure:
        WebhookSink(webhook.url, timeout=0.5).send(IncidentNotice(NoticeStatus.FIRING, incident(10)))
    assert failure.value.may_have_arrived


def test_webhook_that_accepts_no_connection_has_not_received_the_notice() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with pytest.raises(SinkFailed) as failure:
        WebhookSink(f"http://127.0.0.1:{port}/").send(IncidentNotice(NoticeStatus.FIRING, incident(10)))
    assert not failure.value.may_have_arrived


def test_credentials_of_url_are_sent_and_never_shown(webhook: Webhook) -> None:
    address = webhook.url.removeprefix("http://")
    sink = WebhookSink(f"http://us%3Aer:p%40ss@{address}")
    sink.send(IncidentNotice(NoticeStatus.FIRING, incident(10)))

    assert webhook.authorization == f"Basic {b64encode(b'us:er:p@ss').decode()}"
    assert sink.name == WebhookSink(webhook.url).name  # a new password does not begin a new ledger
    webhook.status = 401
    with pytest.raises(SinkFailed) as failure:
        sink.send(IncidentNotice(NoticeStatus.FIRING, incident(10)))
    assert "p@ss" not in repr(failure.value)
    assert "ss" not in repr(vars(sink))
    for url in (f"http://user:p#ss@{address}", f"http://user:pass@{address} x", "http://user:pass@host:99999/"):
        with pytest.raises(ValueError, match="expected the URL of a webhook") as error:
            WebhookSink(url)
        assert error.value.__cause__ is None


def send_and_die(url: str, out: str, row: dict[str, Any]) -> None:
    """Send a notice, and be killed before the ledger is written."""

    class Killed(WebhookSink):
        def send(self, notice: IncidentNotice) -> None:
            super().send(notice)
            os.kill(os.getpid(), signal.SIGKILL)

    SinkDelivery(out, Killed(url), LONG_AGO).publish(lambda _: [row])


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

    delivery = delivery_to(WebhookSink(webhook.url), tmp_path)
    rounds = [delivery.publish(lambda _: [now]).accepted for _ in range(3)]

    assert rounds == [1, 1, 0]
    (firing, repeated), (resolved,) = webhook.contents.values()
    assert firing == repeated
    firing_alert, resolved_alert = (json.loads(content)["alerts"][0] for content in (firing, resolved))
    assert resolved_alert["status"] == "resolved"
    for name in ("labels", "fingerprint"):
        assert resolved_alert[name] == firing_alert[name]
    assert resolved_alert["annotations"]["summary"] == "Kafka cluster c: broker killed (broker 2)"


@pytest.mark.parametrize(("status", "statuses"), [(500, ["firing", "resolved"]), (429, ["resolved"])])
def test_failed_notice_is_repeated_only_if_it_may_have_arrived(
    webhook: Webhook, tmp_path: Path, status: int, statuses: list[str]
) -> None:
    delivery = delivery_to(WebhookSink(webhook.url), tmp_path)
    webhook.status = status
    assert delivery.publish(lambda _: [incident(10)]) == Round(0, 1)
    webhook.status = 200

    while delivery.publish(lambda _: [incident(10, ended=60)]).accepted:
        pass

    assert [body["status"] for body in webhook.bodies] == statuses


def shown(metrics: JobMetrics) -> dict[str, float]:
    """Return the metrics of incidents and notices, as Prometheus reads them."""
    port, stop = metrics.serve("127.0.0.1", 0)
    with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        lines: list[str] = page.read().decode().splitlines()
    stop()
    samples = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in samples if not name.partition("{")[0].endswith("_created")}


def test_counters_count_an_outage_once_and_continue_after_restart(tmp_path: Path) -> None:
    def published(*rows: dict[str, Any]) -> float:
        delivery.publish(lambda _: rows)
        metrics.set_ledger("metrics", delivery.ledger)
        return sum(value for name, value in shown(metrics).items() if name.startswith("kwire_pipeline_incidents_total"))

    metrics = JobMetrics()
    delivery = delivery_to(metrics, tmp_path, START + timedelta(seconds=1))
    old, lost, paused = incident(-99, ended=0), incident(10, kind="broker_lost"), incident(9, kind="broker_paused")
    killed = incident(8, ended=60)
    assert [published(old), published(old, lost), published(old, paused), published(old, killed)] == [0, 1, 1, 1]

    delivery.release()
    metrics = JobMetrics()
    delivery = delivery_to(metrics, tmp_path, START)
    assert published(old, killed) == 1
    assert published() == 1  # gold has expired them
    assert published(incident(99)) == 2


def test_metrics_show_sinks_and_open_incidents(tmp_path: Path) -> None:
    gold, metrics = Gold(tmp_path), JobMetrics()
    gold.sink.failures["config_changed"] = SinkFailed("sink", "HTTP status 422", is_final=True)
    gold.sink.failures["broker_killed"] = SinkFailed("sink", "HTTP status 503")
    gold.round(incident(0), incident(1, kind="config_changed"), incident(2, kind="config_changed"))
    metrics.set_ledger("sink", gold.ledger)
    metrics.set_ledger("other", None)
    metrics.set_open_incidents([incident(0)])
    metrics.set_open_incidents([incident(0, ended=1)])

    samples = shown(metrics)
    assert samples['kwire_pipeline_dead_letters_total{sink="sink"}'] == 2
    assert samples['kwire_pipeline_failed_notices{sink="sink"}'] == 1
    assert samples['kwire_pipeline_sends_notices{sink="sink"}'] == 1
    assert samples['kwire_pipeline_sends_notices{sink="other"}'] == 0
    assert samples['kwire_pipeline_open_incidents{cluster_id="c",kind="broker_killed"}'] == 0


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


def set_incidents(pipeline: Pipeline, *incidents: dict[str, Any]) -> None:
    """Replace gold's incidents."""
    store = Store(pipeline.out)
    store.create({INCIDENTS.folder: INCIDENTS.layout})
    change = Change("gold", store.newest().number)
    change.removed[INCIDENTS.folder] = store.snapshot().files(INCIDENTS.folder)
    for row in incidents:
        date = "open" if row["ended_at"] is None else f"{row['began_at']:%Y-%m-%d}"
        partition = {"date": date, "hour": "0"}
        file = TableFile(Output(store.location), FileKind.SILVER, INCIDENTS.folder, partition, INCIDENTS.arrow)
        pairs = {name: list(row[name].items()) for name in ("seen_at", "attributes")}
        file.write(pa.Table.from_pylist([row | pairs], schema=INCIDENTS.arrow))
        change.added.setdefault(INCIDENTS.folder, []).append(file.close().file)
    store.commit(change)


def test_round_reads_only_incidents_that_the_ledger_needs(spark: SparkSession, tmp_path: Path) -> None:
    """Files of days before all of them are not opened: here, one is damaged."""
    day = 86_400
    pipeline = Pipeline(spark, str(tmp_path))
    old, ended, lasting = incident(-99 * day, ended=-98 * day), incident(-2 * day, ended=-day), incident(-90 * day)
    set_incidents(pipeline, old, ended, lasting, incident(0, ended=10))
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
    set_incidents(pipeline, incident(0))
    hanging, other = HangingSink(), Recorder()
    publisher = IncidentPublisher(pipeline, [hanging, other], began_at=LONG_AGO)

    publisher.wake()
    assert hanging.has_begun.wait(60)
    set_incidents(pipeline, incident(0, ended=5), incident(100))
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
    set_incidents(pipeline, incident(0))
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
    monkeypatch.setattr("kwire.spark.sinks.publisher.STANDBY", 0.05)
    pipeline = Pipeline(spark, str(tmp_path))
    set_incidents(pipeline, incident(0))
    old, new = Recorder(), Recorder()
    first = IncidentPublisher(pipeline, [old], began_at=LONG_AGO)
    second = IncidentPublisher(pipeline, [new], began_at=LONG_AGO)
    for publisher in (first, second):
        publisher.wake()
    eventually_sync(lambda: old.notices, "a notice from the first job")
    set_incidents(pipeline, incident(0, ended=5))
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

    assert report.polls == {"c/1": ReporterPolls(True, 0), "c/2": ReporterPolls(True, 20)}
    assert (to_callable, to_webhook) == (1, 0)
    assert samples['kwire_pipeline_open_incidents{cluster_id="c",kind="broker_killed"}'] == 1
    assert samples['kwire_pipeline_incidents_total{cluster_id="c",kind="broker_killed"}'] == 1
    assert len(webhook.bodies) == received
    assert [body["status"] for body in webhook.bodies if body["alerts"][0]["labels"]["kind"] == "broker_killed"] == [
        "firing",
        "resolved",
    ]
    assert heard == [body["status"] for body in webhook.bodies]
