"""Random receivers with limits of their own: what is open in gold is open there, and stays open while it lasts.

A receiver behaves as Alertmanager does (an alert without an end ends after `resolve_timeout` unless it is repeated),
and is a stranger with limits: it is slow, limits the size of a body, the number of its alerts, or the rate of requests,
refuses some alerts, loses its memory, or has a wrong clock. Time is virtual: a request takes as long as the receiver
says. At times, the receiver is not reached, or a proxy answers for it.
"""

from __future__ import annotations

import json
import logging
import math
import os
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from kwire_pipeline.sinks.sink import SinkFailed
from kwire_pipeline.sinks.sink_thread import FIRST_BACKOFF, LONGEST_BACKOFF, plan
from kwire_pipeline.sinks.webhook import AlertmanagerSink, HttpAnswer
from tests.cluster.repetitions import random_times, rounds
from tests.pipeline.sinks.alerts import START, delivery_to, incident

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kwire_pipeline.sinks import Ledger
    from kwire_pipeline.sinks.delivery import Round

OUTAGES = ("lost", 500, 503, 429, 401, 404, 302, "html")
"""Answers while the receiver is not reached."""

BUILD_S = 10.0
"""Seconds between two builds of gold."""


class Time:
    """A clock that advances at each wait."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)


class Receiver:
    """Alertmanager behind a proxy, with random limits.

    Attributes:
        is_refused: returns whether the receiver refuses an incident by its number.
        outage: the answer to all requests, one of `OUTAGES`; None while the receiver is reached.
        accepted: the ids of the alerts that it has accepted since the last outage.
    """

    def __init__(self, random: Random, time: Time) -> None:
        self._time = time
        self.resolve_timeout = random.choice((60.0, 300.0))
        self.delay = random.choice((0.0, 0.01, 0.5, 2.0))
        self.delay_per_alert = random.choice((0.0, 0.0, 0.01, 0.1))
        self.largest_body = random.choice((math.inf, math.inf, 100_000, 4096, 900))
        self.too_large = random.choice((413, 413, 400, 500, "lost"))
        self.most_alerts = random.choice((math.inf, math.inf, 20, 5, 1))
        self.too_many = random.choice((400, 413, 422, 503))
        self.requests_per_s = random.choice((math.inf, math.inf, 5.0, 0.5))
        self.asks_to_wait = random.choice((True, False))
        self.refused_every = random.choice((0, 0, 3, 7))
        self.refusal = random.choice((400, 422, 500, "lost"))
        self.takes_others = self.refusal == 400
        self.skew = timedelta(seconds=random.choice((0, 0, 0, -3600, 3600, 40)))
        self.alerts: dict[str, tuple[datetime, datetime]] = {}
        self._tokens, self._filled_at = 5.0, time.seconds
        self.posts = 0
        self.outage: int | str | None = None
        self.accepted: set[str] = set()

    def is_refused(self, number: int) -> bool:
        return bool(self.refused_every) and number % self.refused_every == 0

    @property
    def now(self) -> datetime:
        return self._time.now() + self.skew

    def open(self) -> set[str]:
        """Return the ids of the alerts that fire."""
        return {id for id, (_, end) in self.alerts.items() if end > self.now}

    def post(self, body: bytes) -> HttpAnswer:
        self.posts += 1
        alerts = json.loads(body)
        if self.outage is not None:
            self.accepted.clear()
            self._time.seconds += self.delay
            return self._answer(self.outage)
        self._time.seconds += self.delay + self.delay_per_alert * len(alerts)
        self._tokens = min(5.0, self._tokens + (self._time.seconds - self._filled_at) * min(self.requests_per_s, 1e9))
        self._filled_at = self._time.seconds
        if self._tokens < 1 and self.requests_per_s < math.inf:
            return self._answer(429, "3" if self.asks_to_wait else None)
        self._tokens -= 1
        if len(body) > self.largest_body:
            return self._answer(self.too_large)
        if len(alerts) > self.most_alerts:
            return self._answer(self.too_many)
        refused = [alert for alert in alerts if self.is_refused(int(alert["labels"]["broker_id"]))]
        if refused and not self.takes_others:
            return self._answer(self.refusal)
        status = 400 if refused else 200
        for alert in alerts:
            if alert in refused:
                continue
            begin = datetime.fromisoformat(alert["startsAt"])
            end = self.now + timedelta(seconds=self.resolve_timeout)
            if "endsAt" in alert:
                end = datetime.fromisoformat(alert["endsAt"])
            if end < begin:
                status = 400
                continue
            self.alerts[alert["labels"]["incident_id"]] = begin, end
            self.accepted.add(alert["labels"]["incident_id"])
        return self._answer(status)

    def _answer(self, status: int | str, retry_after: str | None = None) -> HttpAnswer:
        date = format_datetime(self.now.astimezone(UTC), usegmt=True)
        if status == "html":
            return HttpAnswer(200, None, None, "text/html; charset=utf-8")
        if isinstance(status, str):
            raise SinkFailed("receiver", "connection lost")
        return HttpAnswer(status, retry_after, date)

    def is_fast_enough(self, open_alerts: int) -> bool:
        """Return whether it can take all repetitions in time, whatever the limits."""
        a_request = 1 if self.largest_body == 900 else min(5 if self.largest_body == 4096 else 64, self.most_alerts)
        a_post = max(self.delay + self.delay_per_alert * a_request, 1 / self.requests_per_s)
        return 3 * a_post * (open_alerts / max(a_request // 2, 1) + 10) < self.resolve_timeout / 3


class Sink(AlertmanagerSink):
    """Alertmanager in this process."""

    def __init__(self, receiver: Receiver, time: Time) -> None:
        super().__init__(
            "http://receiver", resolve_timeout=receiver.resolve_timeout, clock=time.monotonic, now=time.now, name="am"
        )
        self._receiver = receiver

    def _exchange(self, body: bytes, _: dict[str, str]) -> HttpAnswer:
        return self._receiver.post(body)


class History:
    """A random history of incidents, and the rounds of a job that sends them."""

    def __init__(self, folder: Path, random: Random) -> None:
        self.random, self.time = random, Time()
        self.receiver = Receiver(random, self.time)
        self.rows: dict[str, dict[str, Any]] = {}
        self.delivery = delivery_to(Sink(self.receiver, self.time), folder, clock=self.time.monotonic)
        self._backoff = FIRST_BACKOFF
        self._build_at = self.time.seconds
        self._number = 0

    def read(self, _: Ledger) -> list[dict[str, Any]]:
        return list(self.rows.values())

    def change(self) -> None:
        """Change gold, sometimes by a burst."""
        for _ in range(self.random.choice((0, 1, 1, 2, 5, 40))):
            self._number += 1
            row = incident(self.time.seconds, kind=self.random.choice(("broker_killed", "group_stalled")))
            row |= {"incident_id": f"i{self._number:06}", "broker_id": self._number}
            row["cause"] = "x" * self.random.choice((10, 10, 200, 2_000))
            self.rows[row["incident_id"]] = row
        for row in self.open_rows():
            if self.random.random() < 0.3:
                row["ended_at"] = self.time.now()

    def open_rows(self) -> list[dict[str, Any]]:
        return [row for row in self.rows.values() if row["ended_at"] is None]

    def wait(self, seconds: float) -> Iterator[None]:
        """Run the rounds of the next seconds, as `SinkThread` plans them."""
        until = self.time.seconds + seconds
        while self.time.seconds < until:
            outcome = self.delivery.publish(self.read)
            yield
            self.time.seconds = max(min(self._next_round(outcome), until), self.time.seconds)

    def _next_round(self, outcome: Round) -> float:
        planned = plan(outcome, self._backoff)
        self._backoff = planned.backoff
        return self.time.seconds + max(min(planned.delay, BUILD_S), planned.rest)

    def expected(self) -> set[str]:
        """Return the ids of the alerts that must be open at the receiver."""
        return {row["incident_id"] for row in self.open_rows() if not self.receiver.is_refused(row["broker_id"])}

    def received(self) -> set[str]:
        return self.receiver.open() - self._refused()

    def is_settled(self) -> bool:
        """Return whether the receiver has what is open, and no notice but refused ones is left to send.

        A `firing` notice that may have arrived is sent again with the same bytes, also after its incident has ended.
        The receiver has that alert open until `resolved` follows, although it may have been right before by chance.
        """
        pending = self.delivery.open().pending(self.rows.values())
        return self.received() == self.expected() and {notice.id for notice in pending} <= self._refused()

    def _refused(self) -> set[str]:
        return {id for id, row in self.rows.items() if self.receiver.is_refused(row["broker_id"])}


@pytest.mark.parametrize("number", rounds(12))
def test_open_there_is_open_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    caplog.set_level(logging.CRITICAL, "kwire_pipeline.sinks")
    random = random_times(f"receivers {number}")
    history = History(tmp_path, random)
    receiver = history.receiver
    was_open: set[str] = set()
    for _ in range(random.choice((3, 6, 10))):
        history.change()
        if random.random() < 0.2:
            receiver.alerts.clear()  # it is started again, without a memory
            was_open.clear()
        receiver.outage = random.choice(OUTAGES) if random.random() < 0.15 else None
        for _ in history.wait(random.choice((1, 10, 100, 400))):
            # An outage may outlast any alert, until the first request that is answered again.
            was_open &= history.expected() & receiver.accepted
            if receiver.is_fast_enough(len(history.open_rows())):
                assert was_open <= receiver.open(), "alerts have ended there while their incidents last"
            was_open |= receiver.open() & history.expected() & receiver.accepted
    receiver.outage = None
    for _ in history.wait(20_000):
        if history.is_settled():
            break
    assert history.is_settled()
    posts, failing = receiver.posts, history.delivery.open().alert_counts["unconfirmed"]
    for _ in history.wait(3 * receiver.resolve_timeout):
        if receiver.is_fast_enough(len(history.open_rows())):
            assert history.received() == history.expected()
    assert history.received() == history.expected()
    rounds_of_repetition = 3 * 3 + 2
    alerts = len(history.open_rows()) + failing
    assert receiver.posts - posts <= rounds_of_repetition * (12 + 3 * alerts)


def test_failed_repetition_is_not_always_the_last_of_a_burst(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In this history, each burst used up the allowance of the receiver before the repetition that had failed."""
    monkeypatch.setitem(globals(), "random_times", lambda _: Random("77cc receivers 664"))

    test_open_there_is_open_here(tmp_path, monkeypatch, caplog, 664)


NO_LIMITS = {
    "resolve_timeout": 300.0,
    "delay": 0.01,
    "delay_per_alert": 0.0,
    "largest_body": math.inf,
    "most_alerts": math.inf,
    "requests_per_s": math.inf,
    "refused_every": 0,
    "skew": timedelta(0),
}


@pytest.mark.parametrize(
    ("alerts", "limits"),
    [
        # Divisions of a batch use up the allowance before one is small enough.
        (36, {"most_alerts": 1, "too_many": 422, "requests_per_s": 0.5, "asks_to_wait": False}),
        # The first answer that says the time of the receiver is a refusal for good.
        (1, {"largest_body": 900, "too_large": "lost", "skew": timedelta(hours=-1)}),
    ],
    ids=["number and rate", "size and clock"],
)
def test_receiver_with_two_limits_has_all_alerts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alerts: int, limits: dict[str, Any]
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    history = History(tmp_path, random_times("two limits"))
    vars(history.receiver).update(NO_LIMITS | limits)
    history.delivery.sink = Sink(history.receiver, history.time)
    for number in range(alerts):
        row = incident(history.time.seconds) | {"incident_id": f"i{number:06}", "broker_id": number}
        history.rows[row["incident_id"]] = row | {"cause": "x" * 2_000}

    for _ in history.wait(2_000):
        pass
    for _ in history.wait(1_000):
        assert history.received() == history.expected()


@pytest.mark.parametrize("delay_per_alert", [0.5, 3.0])
def test_slow_receiver_keeps_each_alert_of_a_large_burst(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delay_per_alert: float
) -> None:
    """All alerts together take many times as long as an alert lasts there without a repetition."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    history = History(tmp_path, random_times("large burst"))
    receiver, alerts = history.receiver, 1_000
    vars(receiver).update(NO_LIMITS | {"delay": 0.0, "delay_per_alert": delay_per_alert})
    history.delivery.sink = Sink(receiver, history.time)
    for number in range(alerts):
        row = incident(history.time.seconds) | {"incident_id": f"i{number:06}", "broker_id": number}
        history.rows[row["incident_id"]] = row

    was_open: set[str] = set()
    for _ in history.wait(3 * alerts * delay_per_alert):
        assert was_open <= receiver.open(), "alerts have ended there while their incidents last"
        was_open |= receiver.open()
    assert len(was_open) == alerts
    assert receiver.posts <= 3 * alerts / 32


@pytest.mark.parametrize("outage_s", [600, 20_000])
@pytest.mark.parametrize("outage", ["lost", 429])
@pytest.mark.parametrize("failing", [3, 12])
def test_failing_alerts_do_not_delay_alerts_of_a_long_outage(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    outage_s: float,
    outage: str | int,
    failing: int,
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    caplog.set_level(logging.CRITICAL, "kwire_pipeline.sinks")
    history = History(tmp_path, random_times("long outage"))
    receiver = history.receiver
    vars(receiver).update(NO_LIMITS | {"refusal": 500, "takes_others": False})
    history.delivery.sink = Sink(receiver, history.time)
    refused = range(200, 200 + failing)
    monkeypatch.setattr(receiver, "is_refused", refused.__contains__)

    def begin(number: int) -> dict[str, Any]:
        row = incident(history.time.seconds) | {"incident_id": f"i{number:06}", "broker_id": number}
        return history.rows.setdefault(row["incident_id"], row)

    ended = begin(1)
    for _ in history.wait(20):
        pass
    receiver.outage = outage
    begin(2)
    for _ in history.wait(outage_s / 2):
        pass
    ended["ended_at"] = history.time.now()
    for _ in history.wait(outage_s / 2 - 130):
        pass
    for number in refused:
        begin(number)
    for _ in history.wait(130):
        pass
    receiver.outage, returned_at = None, history.time.seconds
    for _ in history.wait(outage_s):
        if history.is_settled():
            break
    assert history.is_settled()
    assert history.time.seconds - returned_at <= 3 * LONGEST_BACKOFF
