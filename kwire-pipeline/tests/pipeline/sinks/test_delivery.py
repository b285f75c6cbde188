"""The rounds of a delivery: flapping brokers, costs, the times of Alertmanager, and what follows a round."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire_pipeline.sinks import IncidentNotice, NoticeStatus, SinkFailed
from kwire_pipeline.sinks import ledger as ledger_module
from kwire_pipeline.sinks.delivery import (
    CHUNK,
    FAILURES_IN_A_ROW,
    LARGEST_BATCH,
    PROBED_AT_ONCE,
    Round,
    SinkDelivery,
)
from kwire_pipeline.sinks.notice import MISSED
from kwire_pipeline.sinks.payloads import LONGEST_TEXT, postable_alert
from kwire_pipeline.sinks.sink_thread import FIRST_BACKOFF, LONGEST_BACKOFF, RoundPlan, plan
from tests.pipeline.sinks.alerts import LONG_AGO, START, Gold, Recorder, delivery_to, incident

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def test_flapping_broker_is_one_alert(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    rows: list[dict[str, Any]] = []
    ids = set()
    for number in range(30):
        rows.append(incident(120 * number))
        gold.round(*rows)
        rows[-1] = rows[-1] | {"ended_at": rows[-1]["first_sign_at"] + timedelta(seconds=60)}
        gold.round(*rows)
        ids |= {notice.id for notice in gold.sink.notices}
    assert ids == {rows[0]["incident_id"]}
    assert len({notice.key for notice in gold.sink.notices}) == 60
    gold.sink.take()

    gold.restart()
    assert gold.publish(*rows) == []
    later = incident(120 * 30 + 3_600)  # an hour later it is another one
    gold.round(*rows, later)
    assert [notice.id for notice in gold.sink.notices] == [later["incident_id"]]


def test_other_incidents_and_other_brokers_do_not_flap(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    first = incident(0, ended=60)
    gold.publish(incident(0))
    gold.publish(first)
    other = incident(90) | {"broker_id": 3}
    stalled = incident(95, kind="group_stalled")

    gold.round(first, other, stalled)

    assert {notice.id for notice in gold.sink.notices} == {other["incident_id"], stalled["incident_id"]}


def test_former_incident_that_lasts_again_is_an_alert_of_its_own(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    for row in (incident(0), incident(0, ended=60)):
        gold.publish(row)
    gold.publish(incident(0, ended=60), incident(90))

    assert gold.publish(incident(0), incident(90)) == [("firing", "broker_killed")]
    assert gold.publish(incident(0, ended=200), incident(90, ended=200)) == [("resolved", "broker_killed")] * 2


def test_costs_follow_the_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger is written for chunks of a quarter of the alerts, so all writes are a few times the last one."""
    sizes: list[int] = []
    replace = ledger_module._replace

    def counted(path: Any, content: Any) -> None:
        sizes.append(len(content))
        replace(path, content)

    monkeypatch.setattr(ledger_module, "_replace", counted)
    sink = Recorder()
    delivery = SinkDelivery(str(tmp_path), sink, LONG_AGO, clock=lambda: 1.0)
    rows = [incident(number, kind=f"kind_{number}") for number in range(8 * CHUNK)]

    assert delivery.publish(lambda _: rows).accepted == len(rows)

    assert sum(sizes) <= 5 * sizes[-1]
    delivery.release()


def test_failures_of_a_day_cause_no_flood_afterward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notice that may have arrived must be sent again: the sink is tried with few different ones."""
    monkeypatch.setattr(ledger_module, "MISSED_AFTER", timedelta(0))
    monkeypatch.setattr(ledger_module, "_replace", lambda *_: None)
    gold = Gold(tmp_path)
    gold.sink.failures = dict.fromkeys(("group_stalled", MISSED), SinkFailed("sink", "HTTP status 500"))
    rows: list[dict[str, Any]] = []
    rounds, per_round = 80, 3
    for number in range(rounds):
        for row in rows[-per_round:]:
            row["ended_at"] = row["first_sign_at"] + timedelta(seconds=1)
        rows += [incident(number + part / 10, kind="group_stalled") for part in range(per_round)]
        assert gold.round(*rows).accepted == 0
    gold.sink.failures = {}
    while gold.round(*rows).accepted:
        pass

    firing = [notice for notice in gold.sink.notices if notice.status is NoticeStatus.FIRING]
    tried = math.isqrt(2 * PROBED_AT_ONCE * rounds * FAILURES_IN_A_ROW) + PROBED_AT_ONCE
    assert len(firing) <= per_round + tried
    assert len(gold.sink.notices) <= per_round + 2 * tried + 2
    missed = (notice for notice in gold.sink.notices if notice.incident["kind"] == MISSED)
    counted = sum(int(notice.incident["attributes"]["group_stalled"]) for notice in missed)
    assert counted + len(firing) == len(rows)


class BatchSink(Recorder):
    """A sink that takes several notices at once.

    Attributes:
        sizes: the number of notices of each attempt.
        failure: returns the error with which to answer notices, if any.
    """

    open_alerts, repeat_s = 0, 1e9

    def __init__(self, failure: Callable[[Sequence[IncidentNotice]], SinkFailed | None]) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.failure = failure

    def send_batch(self, notices: Sequence[IncidentNotice]) -> None:
        self.sizes.append(len(notices))
        if (failure := self.failure(notices)) is not None:
            raise failure
        self.notices.extend(notices)


@pytest.mark.parametrize(
    ("number", "several", "single"),
    [
        (10, SinkFailed("sink", "lost", retry_after=1.0), None),
        # Alertmanager refuses a batch with one wrong alert, and takes the others.
        (10, SinkFailed("sink", "HTTP status 400", is_final=True, retry_after=1.0), None),
        (2, SinkFailed("sink", "lost"), SinkFailed("sink", "refused", may_have_arrived=False)),
    ],
    ids=["round ends", "round ends after refusal", "no connection"],
)
def test_batch_that_may_have_arrived_is_sent_again_whatever_follows(
    tmp_path: Path, number: int, several: SinkFailed, single: SinkFailed | None
) -> None:
    """The sink may have all of it, although gold has withdrawn all incidents since."""
    sink = BatchSink(lambda notices: several if len(notices) > 1 else single)
    delivery = delivery_to(sink, tmp_path)
    rows = [incident(position, kind=f"kind_{position}") for position in range(number)]
    delivery.publish(lambda _: rows)
    sink.failure = lambda _: None

    for _ in range(2):
        delivery.publish(lambda _: [])

    assert sorted(sink.take()) == sorted((status, row["kind"]) for row in rows for status in ("firing", "resolved"))


def test_alert_that_is_refused_leaves_later_batches_large(tmp_path: Path) -> None:
    refused = SinkFailed("sink", "HTTP status 400", is_final=True)
    sink = BatchSink(lambda notices: refused if any(notice.id == "kind_7-7" for notice in notices) else None)
    delivery = delivery_to(sink, tmp_path)
    rows = [incident(number, kind=f"kind_{number}") for number in range(6 * LARGEST_BATCH)]
    delivery.publish(lambda _: rows[: 4 * LARGEST_BATCH])
    assert len(sink.notices) == 4 * LARGEST_BATCH - 1
    sink.sizes.clear()

    delivery.publish(lambda _: rows)

    assert max(sink.sizes) >= LARGEST_BATCH // 2
    assert len(sink.sizes) <= 5


def test_one_failing_notice_delays_no_other(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    gold.sink.failures["config_changed"] = SinkFailed("sink", "HTTP status 500")

    outcome = gold.round(incident(0, kind="config_changed"), incident(10))
    planned = plan(outcome, FIRST_BACKOFF)

    assert (outcome.accepted, outcome.failed, outcome.is_available) == (1, 1, True)
    assert planned == RoundPlan(FIRST_BACKOFF, 0.0, FIRST_BACKOFF)


@pytest.mark.parametrize(
    ("outcome", "planned"),
    [
        (Round(1, 0), RoundPlan(math.inf, 0.0, FIRST_BACKOFF)),
        (Round(1, 0, repeat_s=100.0), RoundPlan(100.0, 0.0, FIRST_BACKOFF)),
        (Round(0, 1), RoundPlan(8.0, 8.0, 16.0)),
        (Round(0, 1, pause=30.0), RoundPlan(30.0, 30.0, 16.0)),
        (Round(5, 1, pause=1.0, is_available=True), RoundPlan(1.0, 1.0, FIRST_BACKOFF)),
        (Round(5, 1, repeat_s=0.5, is_available=True), RoundPlan(0.5, 0.0, FIRST_BACKOFF)),
    ],
)
def test_next_round_is_planned(outcome: Round, planned: RoundPlan) -> None:
    assert plan(outcome, 8.0) == planned
    assert plan(Round(0, 1), LONGEST_BACKOFF).backoff == LONGEST_BACKOFF


@pytest.mark.parametrize(
    ("began", "ended"),
    [(0, 0), (0, -1), (540, None), (0, 540), (-(10**9) * 60, 0), (600, 540)],
)
def test_alertmanager_accepts_all_times(began: float, ended: float | None) -> None:
    """It refuses an alert that ends before it begins, and takes the year 1 for now."""
    now = START
    status = NoticeStatus.FIRING if ended is None else NoticeStatus.RESOLVED
    row = incident(began, ended=ended) | {"cause": "x" * 10_000, "attributes": {"": "y" * 10_000}}

    alert = postable_alert(IncidentNotice(status, row), now)

    begin = datetime.fromisoformat(alert["startsAt"])
    assert datetime(1970, 1, 1, tzinfo=UTC) <= begin <= now
    if ended is not None:
        assert begin <= datetime.fromisoformat(alert["endsAt"]) <= now
    assert max(map(len, alert["annotations"].values())) <= LONGEST_TEXT
    assert all(alert["annotations"])
