"""Webhooks get each notice in the form of Alertmanager, and never show their credentials."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import time
from base64 import b64encode
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire_pipeline.sinks import IncidentNotice, NoticeStatus, SinkFailed
from kwire_pipeline.sinks.delivery import LONGEST_PAUSE, Round, SinkDelivery
from kwire_pipeline.sinks.ledger import MISSED_AFTER
from kwire_pipeline.sinks.notice import summary_of
from kwire_pipeline.sinks.sink_thread import SinkThread
from kwire_pipeline.sinks.webhook import AlertmanagerSink, WebhookSink
from tests.eventually import eventually_sync
from tests.free_ports import free_ports
from tests.pipeline.sinks.alerts import LONG_AGO, START, delivery_to, incident
from tests.pipeline.webhook import Webhook

if TYPE_CHECKING:
    from collections.abc import Callable


def test_webhook_gets_form_of_alertmanager(webhook: Webhook) -> None:
    row = incident(10, ended=60)

    WebhookSink(webhook.url).send(IncidentNotice(NoticeStatus.RESOLVED, row))

    [body] = webhook.bodies
    [alert] = body["alerts"]
    assert (body["version"], body["status"]) == ("4", "resolved")
    assert body["groupLabels"] == {"incident_id": row["incident_id"]}
    assert alert["labels"] == {
        "alertname": "KafkaBrokerKilled",
        "severity": "critical",
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
        (413, {"Retry-After": "5"}, True, False, 0),
        (404, {"Retry-After": "5"}, False, False, 5),
        (405, {}, False, False, 0),
        (302, {"Location": "/elsewhere"}, False, False, 0),
        (308, {"Location": "/elsewhere"}, False, False, 0),
        (401, {}, False, False, 0),
        (403, {}, False, False, 0),
        (408, {}, False, False, 0),
        (429, {"Retry-After": "7"}, False, False, 7),
        (429, {"Retry-After": "soon"}, False, False, 0),
        (429, {"Retry-After": "86400"}, False, False, LONGEST_PAUSE),
        (429, {"Retry-After": "9" * 400}, False, False, LONGEST_PAUSE),
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

    with pytest.raises(SinkFailed, match=r"no answer within 3 s") as failure:
        WebhookSink(webhook.url, timeout=3).send(IncidentNotice(NoticeStatus.FIRING, incident(10)))
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


@pytest.mark.parametrize("down_for", [timedelta(minutes=1), timedelta(days=1)])
def test_webhook_that_was_down_for_a_day_gets_what_lasts_and_one_summary(
    webhook: Webhook, tmp_path: Path, down_for: timedelta
) -> None:
    known, lasting = incident(0, kind="broker_lost"), incident(900)
    meanwhile = [incident(number, ended=number + 1) for number in range(100, 400)]
    delivery = delivery_to(WebhookSink(webhook.url), tmp_path)
    delivery.publish(lambda _: [known])
    webhook.status = 429  # it says that it has not accepted the notice
    known["ended_at"] = START
    gold = [known, lasting]
    for number in range(0, 300, 100):
        gold.extend(meanwhile[number : number + 100])
        assert delivery.publish(lambda _: gold).accepted == 0
    delivery.release()
    [file] = tmp_path.rglob("ledger-*.json")
    ledger = json.loads(file.read_text())
    since = datetime.fromisoformat(ledger["unavailable_since"]) - down_for
    file.write_text(json.dumps(ledger | {"unavailable_since": since.isoformat()}))
    webhook.status = 200
    webhook.bodies.clear()

    restarted = delivery_to(WebhookSink(webhook.url), tmp_path)
    while restarted.publish(lambda _: gold).accepted:
        pass

    notices = Counter(alert["labels"]["kind"] for body in webhook.bodies for alert in body["alerts"])
    if down_for < MISSED_AFTER:
        assert notices == {"broker_lost": 1, "broker_killed": 301}
    else:
        assert notices == {"broker_lost": 1, "broker_killed": 1, "notices_missed": 1}
        [summary] = [body["alerts"][0] for body in webhook.bodies if "missed" in body["alerts"][0]["labels"]["kind"]]
        assert "300 Kafka incidents began and ended" in summary["annotations"]["summary"]


def alertmanager(
    webhook: Webhook, resolve_timeout: float = 300.0, clock: Callable[[], float] = lambda: 0.0
) -> AlertmanagerSink:
    url = webhook.url.partition("/alerts")[0]
    return AlertmanagerSink(url, resolve_timeout=resolve_timeout, clock=clock)


def test_alertmanager_gets_alerts_of_its_api(webhook: Webhook) -> None:
    """Alertmanager ends a firing alert by its own clock, since it has no `endsAt`."""
    sink = alertmanager(webhook)
    attributes = {"min.insync.replicas": "1", "2nd": "x"}
    sink.send(IncidentNotice(NoticeStatus.FIRING, incident(10) | {"attributes": attributes}))
    sink.send(IncidentNotice(NoticeStatus.RESOLVED, incident(10, ended=60)))

    [[firing], [resolved]] = webhook.bodies
    assert [path for path, _ in webhook.requests] == ["/api/v2/alerts"] * 2
    assert firing["labels"] == resolved["labels"]
    assert firing["labels"]["severity"] == "critical"
    assert firing["startsAt"] == resolved["startsAt"] == "2026-11-21T14:00:10Z"
    assert (firing.get("endsAt"), resolved["endsAt"]) == (None, "2026-11-21T14:01:00Z")
    assert firing["annotations"]["min_insync_replicas"] == "1"
    assert firing["annotations"]["_2nd"] == "x"


def test_open_alerts_are_repeated_until_they_are_resolved(webhook: Webhook, tmp_path: Path) -> None:
    def alerts() -> list[list[tuple[str, bool]]]:
        """Return the kind of each alert of each request since the last call, and whether it has ended."""
        bodies = [*webhook.bodies]
        webhook.bodies.clear()
        return [[(alert["labels"]["kind"], "endsAt" in alert) for alert in body] for body in bodies]

    seconds = [0.0]

    def clock() -> float:
        return seconds[0]

    def publish(*rows: dict[str, Any]) -> Round:
        seconds[0] += 100.0  # a third of `resolve_timeout`
        return delivery.publish(lambda _: rows)

    delivery = delivery_to(alertmanager(webhook, clock=clock), tmp_path, clock=clock)
    both = [incident(10), incident(20, kind="group_stalled")]
    publish(*both)
    assert alerts() == [[("broker_killed", False), ("group_stalled", False)]]
    publish(*both)
    assert alerts() == [[("broker_killed", False), ("group_stalled", False)]]

    webhook.status = 503
    assert publish(*both).failed == 2
    webhook.status = 422  # for one alert: Alertmanager has accepted the others of the request
    assert publish(*both).failed == 0
    webhook.status = 200
    seconds[0] += 100.0
    with pytest.raises(ZeroDivisionError):  # a store that cannot be read does not end alerts
        delivery.publish(lambda _: [{} for _ in range(1 // 0)])
    # After refusals, requests stay small until some of them are accepted.
    assert alerts() == [[("broker_killed", False)], [("group_stalled", False)]]

    ended = [incident(10, ended=60), incident(20, kind="group_stalled", ended=60)]
    publish(*ended)
    publish(*ended)
    assert alerts()[2:] == [[("broker_killed", True)], [("group_stalled", True)]]


def test_restarted_job_repeats_open_alerts_at_once_and_then_in_time(webhook: Webhook, tmp_path: Path) -> None:
    first = delivery_to(alertmanager(webhook), tmp_path, clock=lambda: 0.0)
    assert first.publish(lambda _: [incident(10)]).repeat_s == pytest.approx(100.0)
    first.release()
    second = delivery_to(alertmanager(webhook), tmp_path, clock=lambda: 0.0)

    second.publish(lambda _: [incident(10)])
    second.publish(lambda _: [incident(10)])

    assert len(webhook.bodies) == 2
    assert delivery_to(WebhookSink(webhook.url), tmp_path).publish(lambda _: []).repeat_s == math.inf


def test_thread_of_a_sink_repeats_alerts_without_a_build_of_gold(webhook: Webhook, tmp_path: Path) -> None:
    delivery = delivery_to(alertmanager(webhook, 0.3), tmp_path)
    thread = SinkThread(delivery, lambda delivery, patience: delivery.publish(lambda _: [incident(10)], None, patience))
    thread.wake()

    eventually_sync(lambda: len(webhook.bodies) > 2, "the second repetition")
    thread.request_end()
    thread.join(60)


@pytest.mark.programs
def test_alertmanager_itself_fires_keeps_and_ends_alerts(webhook: Webhook, tmp_path: Path) -> None:
    """Alertmanager ends what is not repeated for eight seconds."""
    receiver = {"name": "test", "webhook_configs": [{"url": webhook.url, "max_alerts": 0}]}
    route = {"receiver": "test", "group_by": ["..."], "group_wait": "0s", "group_interval": "100ms"}
    config = {"global": {"resolve_timeout": "8s"}, "route": route, "receivers": [receiver]}
    (tmp_path / "alertmanager.yml").write_text(json.dumps(config))  # YAML, too
    [port] = free_ports(1)
    command = [
        shutil.which("prometheus-alertmanager") or "prometheus-alertmanager",
        f"--config.file={tmp_path}/alertmanager.yml",
        f"--storage.path={tmp_path}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    sink = AlertmanagerSink(f"http://127.0.0.1:{port}", resolve_timeout=1.0)
    delivery = delivery_to(sink, tmp_path)
    gold, times = [incident(10)], []

    def run_round(delivery: SinkDelivery, patience: int) -> Round:
        times.append(time.monotonic())
        return delivery.publish(lambda _: gold, None, patience)

    thread = SinkThread(delivery, run_round)

    def messages() -> list[tuple[str, str]]:
        return [(alert["status"], alert["labels"]["kind"]) for body in webhook.bodies for alert in body["alerts"]]

    with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            thread.wake()  # before it listens: the notice is repeated
            eventually_sync(messages, "a message about the alert", within=60)
            fired = times[-1]
            eventually_sync(lambda: times[-1] > fired + 10, "repetitions for more than a resolve_timeout", within=60)
            assert messages() == [("firing", "broker_killed")]

            gold[:] = [incident(10, ended=60)]
            thread.wake()
            eventually_sync(lambda: len(messages()) > 1, "the end of the alert", within=60)
            summary = summary_of([IncidentNotice(NoticeStatus.RESOLVED, incident(20, ended=30))], START)
            sink.send(summary)
            eventually_sync(lambda: len(messages()) > 3, "a message about missed incidents and its end", within=60)
        finally:
            thread.request_end()
            thread.join(60)
            server.terminate()
    assert messages() == [
        ("firing", "broker_killed"),
        ("resolved", "broker_killed"),
        ("firing", "notices_missed"),
        ("resolved", "notices_missed"),
    ]
