"""Random histories of gold, with a receiver and a job that fail at random: what is open in both is the same.

A history changes gold as diagnosis does: incidents begin, end, last again, are classified again, merged, absorbed by
another one, or withdrawn. The receiver refuses, loses, repeats, and delays notices, and the job is killed before and
after each write of its ledger and each exchange. Then the faults end, and the job runs until nothing is pending.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from kwire_pipeline.sinks import ledger as ledger_module
from kwire_pipeline.sinks.delivery import SinkDelivery
from kwire_pipeline.sinks.ledger import STRIKES
from kwire_pipeline.sinks.notice import OUTAGE_KINDS
from kwire_pipeline.sinks.webhook import WebhookSink
from tests.cluster.repetitions import random_times, rounds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

    from kwire_pipeline.sinks import Ledger

START = datetime(2026, 11, 21, 14, tzinfo=UTC)
STEPS = 30
BROKERS = (1, 2, 3)
REFUSED_BROKER, FAILING_BROKER = 8, 9
"""Brokers with incidents that the receiver always refuses, or at which it fails after it has taken them."""

ANSWERS = (
    *[200] * 12,
    500,
    503,
    503,
    429,
    429,
    401,
    "lost",
    "lost after",
    "500 after",
    "500 after",
    "held",
    "held after",
)
"""Statuses, or faults: `after` means that the notice is taken first, and `held` that no answer is sent."""


class Killed(BaseException):
    """The process of the job ends here."""


class FaultyReceiver:
    """A webhook that takes each notice once, by its idempotency key, and knows which alerts are open.

    Attributes:
        open: the labels of open alerts by fingerprint.
        taken: the content of each notice by its key, in order.
        has_faults: False to answer each notice with 200, except for those of the brokers that always fail.
    """

    def __init__(self, random: Random) -> None:
        self.open: dict[str, dict[str, str]] = {}
        self.taken: dict[str, bytes] = {}
        self.has_faults = True
        self._random = random
        self._lock = threading.Lock()

        def receive(request: BaseHTTPRequestHandler) -> None:
            content = request.rfile.read(int(request.headers["Content-Length"]))
            answer = self._answer(request.headers["Idempotency-Key"], content)
            if isinstance(answer, int):
                request.send_response(answer)
                request.end_headers()
            elif answer == "held":
                request.rfile.read()  # until the client gives up

        def log_nothing(*_: object) -> None:
            pass

        handler = type("Handler", (BaseHTTPRequestHandler,), {"do_POST": receive, "log_message": log_nothing})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, key: str, content: bytes) -> int | str:
        with self._lock:
            alert = json.loads(content)["alerts"][0]
            if alert["labels"].get("broker_id") == str(REFUSED_BROKER):
                return 422
            is_failing = alert["labels"].get("broker_id") == str(FAILING_BROKER)
            answer = self._random.choice(ANSWERS) if self.has_faults else 200
            fault, _, after = str(answer).partition(" ")
            if answer == 200 or after or is_failing:
                assert self.taken.setdefault(key, content) == content
                if alert["status"] == "firing":
                    self.open.setdefault(alert["fingerprint"], alert["labels"])
                else:
                    self.open.pop(alert["fingerprint"], None)
            return 500 if is_failing else int(fault) if fault.isdigit() else fault


class RandomGold:
    """Incidents of a cluster, changed at random as gold changes them."""

    def __init__(self, random: Random) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self._random = random
        self._seconds = 0.0
        self._number = 0

    def read(self, ledger: Ledger) -> list[dict[str, Any]]:
        """Return the rows that a ledger needs, as `read_incidents` does."""
        return [
            row
            for id, row in self.rows.items()
            if row["ended_at"] is None
            or row["ended_at"] > ledger.ended_until
            or row["first_sign_at"] >= ledger.followed_since
            or id in ledger.unfinished
        ]

    def step(self) -> None:
        """Change gold."""
        self._seconds += self._random.choice((1, 10, 100, 1e5))
        lasting = [row for row in self.rows.values() if row["ended_at"] is None]
        ended = [row for row in self.rows.values() if row["ended_at"] is not None]
        change = self._random.choice(
            ("begin",) * 4 + ("end", "end", "classify", "merge", "absorb", "withdraw", "reopen")
        )
        if change == "begin" or not lasting:
            self._begin()
        elif change == "reopen":
            if recent := [row for row in ended if row["ended_at"] > self._now - timedelta(days=1)]:
                self._random.choice(recent)["ended_at"] = None
        elif change == "absorb":
            first = min(row["first_sign_at"] for row in lasting)
            for row in self._random.sample(lasting, min(2, len(lasting))):
                del self.rows[row["incident_id"]]
            self._add("cluster_unreachable", None, first)
        elif change == "merge":
            self._merge(self._random.choice(lasting))
        else:
            row = self._random.choice(lasting[-2:])  # mostly one with a notice on its way
            if change == "end":
                row["ended_at"] = self._now
            elif change == "withdraw":
                del self.rows[row["incident_id"]]
            elif row["kind"] in OUTAGE_KINDS:
                self._classify(row)

    @property
    def _now(self) -> datetime:
        return START + timedelta(seconds=self._seconds)

    def _begin(self) -> None:
        broker = self._random.choice((*BROKERS, *BROKERS, None, REFUSED_BROKER, FAILING_BROKER))
        kinds = ["leaders_moved", "config_changed"] if broker is None else [*sorted(OUTAGE_KINDS), "replica_lagging"]
        row = self._add(self._random.choice(kinds), broker, self._now)
        if self._random.random() < 0.3:
            row["ended_at"] = self._now + timedelta(seconds=1)

    def _classify(self, row: dict[str, Any]) -> None:
        """Give an outage another kind, and thus another id."""
        del self.rows[row["incident_id"]]
        moved = timedelta(seconds=self._random.uniform(-20, 20))
        new = self._add(self._random.choice(sorted(OUTAGE_KINDS)), row["broker_id"], row["first_sign_at"] + moved)
        new["ended_at"] = self._random.choice((None, self._now))

    def _merge(self, row: dict[str, Any]) -> None:
        """Make one incident of two of the same broker."""
        other = self._add(row["kind"], row["broker_id"], row["first_sign_at"] + timedelta(seconds=5))
        self._random.choice((self._classify, lambda _: None))(other)
        del self.rows[row["incident_id"]]

    def _add(self, kind: str, broker: int | None, at: datetime) -> dict[str, Any]:
        self._number += 1
        row: dict[str, Any] = {
            "incident_id": f"{self._number:012}",
            "caused_by": None,
            "cluster_id": "c",
            "kind": kind,
            "cause": "",
            "broker_id": broker,
            "began_at": at,
            "first_sign_at": at,
            "seen_at": {},
            "ended_at": None,
            "topics": [f"t{self._number % 3}"] if broker is None else [],
            "attributes": {},
        } | dict.fromkeys(
            ("topic_count", "partition_count", "under_replicated", "offline", "electing", "leaders_moved"), 0
        )
        self.rows[row["incident_id"]] = row
        return row


class DyingJob:
    """A job that may be killed at any write, and is started again."""

    def __init__(self, out: Path, url: str, gold: RandomGold, random: Random) -> None:
        self.deliveries = 0
        self.can_die = True
        self._out = str(out)
        self._url = url
        self._gold = gold
        self._random = random
        self._delivery = self._started()

    def _started(self) -> SinkDelivery:
        job = self

        class Sink(WebhookSink):
            def send(self, notice: Any) -> None:
                with job.dangerous():
                    super().send(notice)

        self.deliveries += 1
        return SinkDelivery(self._out, Sink(self._url, timeout=0.2), START)

    @contextmanager
    def dangerous(self) -> Iterator[None]:
        """Kill the job before or after a block, or let it live."""
        chance = self._random.random() if self.can_die else 1.0
        if chance < 0.04:
            raise Killed
        yield
        if chance < 0.12:
            raise Killed

    def publish(self) -> Ledger:
        """Run a round; if the job is killed, start another one."""
        try:
            self._delivery.publish(self._gold.read)
        except Killed:
            self._restart()
        while True:
            try:
                return self._delivery.open()
            except Killed:
                self._restart()

    def _restart(self) -> None:
        self._delivery.release()  # as the system does
        self._delivery = self._started()

    def close(self) -> None:
        self._delivery.release()


def subjects(alerts: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Return the brokers and kinds of alerts or incidents, without the kinds of outages, which may change."""
    kinds = [(str(alert.get("broker_id")), alert["kind"]) for alert in alerts]
    return Counter((broker, "outage" if kind in OUTAGE_KINDS else kind) for broker, kind in kinds)


@pytest.mark.parametrize("number", rounds(20))
def test_open_alerts_of_receiver_are_open_incidents_of_gold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    random = random_times(f"alerts {number}")
    receiver, gold = FaultyReceiver(random), RandomGold(random)
    job = DyingJob(tmp_path, receiver.url, gold, random)
    replace = ledger_module._replace

    def dangerous_replace(path: Path, content: bytes) -> None:
        with job.dangerous():
            replace(path, content)

    monkeypatch.setattr(ledger_module, "_replace", dangerous_replace)
    if number % 2:  # each failed round makes the next one begin with a summary
        monkeypatch.setattr(ledger_module, "MISSED_AFTER", timedelta(0))
    monkeypatch.setattr(os, "fsync", lambda _: None)  # a kill loses nothing that was written, unlike a power failure
    try:
        for _ in range(STEPS):
            gold.step()
            if random.random() < 0.7:
                job.publish()
            if random.random() < 0.1:
                assert_quiescent(job, receiver, gold)
        assert_quiescent(job, receiver, gold)
        assert job.deliveries > 1
    finally:
        job.close()
        receiver.close()


def assert_quiescent(job: DyingJob, receiver: FaultyReceiver, gold: RandomGold) -> None:
    """End the faults, let the job send everything, and compare."""
    job.can_die = receiver.has_faults = False
    pending: list[Any] = []
    for _ in range(200):
        ledger = job.publish()
        pending = ledger.pending(gold.read(ledger))
        if all(notice.incident["broker_id"] == FAILING_BROKER for notice in pending):
            break
    else:
        raise AssertionError(pending)

    always_failing = {str(REFUSED_BROKER), str(FAILING_BROKER)}
    lasting = [row for row in gold.rows.values() if row["ended_at"] is None]
    healthy = [row for row in lasting if str(row["broker_id"]) not in always_failing]
    received = [labels for labels in receiver.open.values() if labels.get("broker_id") not in always_failing]
    assert subjects(received) == subjects(healthy)
    for letter in ledger.dead_letters:
        assert str(letter.notice["broker_id"]) in always_failing
        assert letter.attempts >= STRIKES or letter.reason == "HTTP status 422"
    assert_alternating(receiver)
    job.can_die = receiver.has_faults = True


def assert_alternating(receiver: FaultyReceiver) -> None:
    """Each alert fires, ends, fires again, and so on; it may begin with its end."""
    statuses: dict[str, list[str]] = {}
    for content in receiver.taken.values():
        [alert] = json.loads(content)["alerts"]
        statuses.setdefault(alert["fingerprint"], []).append(alert["status"])
    for history in statuses.values():
        assert all(first != second for first, second in pairwise(history)), history
