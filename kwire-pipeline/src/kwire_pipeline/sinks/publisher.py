"""Sends new and ended incidents to sinks, from one thread for each sink.

A round of a sink reads gold's newest incidents, compares them with the ledger, and sends the difference. Threads are
woken after each build of gold, so neither a slow sink nor a failing one delays gold or another sink.

While a sink accepts nothing, the time between rounds doubles up to `LONGEST_BACKOFF`. A sink that accepts others but
fails at a notice gets new notices at once.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_pipeline.sinks.delivery import FAILURES_IN_A_ROW, LONGEST_PAUSE, SETTLING, STRIKES, Round, SinkDelivery
from kwire_pipeline.sinks.ledger_owner import LedgerInUse
from kwire_pipeline.sinks.subscription import IncidentFilter, Subscription

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kwire_pipeline.pipeline import Pipeline
    from kwire_pipeline.sinks.job_metrics import JobMetrics
    from kwire_pipeline.sinks.ledger import Ledger
    from kwire_pipeline.sinks.sink import IncidentSink

__all__ = [
    "FAILURES_IN_A_ROW",
    "LONGEST_PAUSE",
    "SETTLING",
    "STRIKES",
    "IncidentPublisher",
    "Round",
    "SinkDelivery",
    "SinkThread",
    "read_incidents",
]

LONGEST_BEGINNING = timedelta(days=7)
"""Maximum time from the beginning of an incident to its first sign, which is the longest gap between polls, and from
the beginning to the end of an incident that no job has sent while it lasted. Chosen, not measured."""

FIRST_BACKOFF = 1.0
"""Seconds after the first round that failed."""

LONGEST_BACKOFF = 60.0
"""Maximum number of seconds between rounds that fail, unless the sink asks for more."""

STANDBY = 5.0
"""Seconds between attempts to own a ledger that another job owns."""

FLUSH = 15.0
"""Default number of seconds that `close` waits for sinks: longer than one exchange with a webhook."""

log = logging.getLogger(__name__)


class IncidentPublisher:
    """Sends sinks what they lack of gold's incidents.

    `wake` sends from threads, which `close` ends; `publish` sends in the thread of the caller. If another job sends the
    notices of a sink, this one waits, and takes over once the other one has ended.

    Args:
        pipeline: the pipeline.
        sinks: the sinks, with different names. A sink without a `Subscription` receives `TROUBLE`.
        metrics: counts incidents and notices.
        began_at: new sinks do not receive incidents that ended before [default: now].
    """

    def __init__(
        self,
        pipeline: Pipeline,
        sinks: Iterable[IncidentSink | Subscription],
        metrics: JobMetrics | None = None,
        began_at: datetime | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._metrics = metrics
        began_at = began_at or datetime.now(UTC)
        subscriptions = [sink if isinstance(sink, Subscription) else Subscription(sink) for sink in sinks]
        if metrics is not None:  # counts all incidents
            subscriptions.append(Subscription(metrics, IncidentFilter()))
        names = [subscription.sink.name for subscription in subscriptions]
        if len(names) != len(set(names)):
            raise ValueError(f"two sinks have one name: {', '.join(sorted(names))}")
        self._threads = [
            SinkThread(SinkDelivery(pipeline.out, subscription.sink, began_at, subscription.filter), self._run_round)
            for subscription in subscriptions
        ]
        for thread in self._threads:
            thread.open()

    def publish(self) -> int:
        """Send all pending notices now, and return the number of notices that the sinks accepted."""
        return sum(thread.publish().accepted for thread in self._threads)

    def wake(self) -> None:
        """Let the threads send what the sinks lack of gold's newest incidents."""
        for thread in self._threads:
            thread.wake()

    def close(self, timeout: float = FLUSH) -> None:
        """Send what the sinks lack, and end the threads.

        Notices that sinks have not accepted in time are sent by the next job.

        Args:
            timeout: seconds to wait for all sinks together.
        """
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.request_end()
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0.0))

    def _run_round(self, delivery: SinkDelivery, patience: int) -> Round:
        now = datetime.now(UTC)
        newest_polls: dict[str, datetime] = {}

        def is_settled(row: Mapping[str, Any]) -> bool:
            # A clock that was ahead, or is, must not hold back what its polls have shown.
            at = max(now, newest_polls.get(str(row["cluster_id"]), now))
            return bool(row["first_sign_at"] <= at - SETTLING)

        def read(ledger: Ledger) -> list[dict[str, Any]]:
            incidents = read_incidents(self._pipeline, ledger)
            newest_polls.update(self._pipeline.newest_polls())
            if self._metrics is not None and delivery.sink is self._metrics:
                self._metrics.set_open_incidents(filter(is_settled, incidents))
                self._metrics.set_store(newest_polls, self._pipeline.snapshot().sizes())
            return incidents

        try:
            return delivery.publish(read, is_settled, patience)
        finally:
            if self._metrics is not None:
                self._metrics.set_ledger(delivery.sink.name, delivery.ledger, delivery.pending)


class RoundPlan(NamedTuple):
    """The plan after a round: seconds until the next one, seconds of rest if gold changes, and the next backoff."""

    delay: float
    rest: float
    backoff: float


def plan(outcome: Round, backoff: float) -> RoundPlan:
    """RoundPlan the next round of a sink; `backoff` is the time that another failure costs."""
    longer = min(backoff * 2, LONGEST_BACKOFF) if outcome.failed else backoff
    if not outcome.failed and not outcome.pause:
        return RoundPlan(outcome.repeat_s, 0.0, FIRST_BACKOFF)
    if outcome.is_available and outcome.pause:  # it accepts notices at a rate of its own
        return RoundPlan(outcome.pause, outcome.pause, FIRST_BACKOFF)
    if outcome.is_available:  # a notice at which the sink fails delays neither new ones nor repetitions
        return RoundPlan(min(backoff, outcome.repeat_s), 0.0, longer)
    rest = max(outcome.pause, backoff if outcome.failed else 0.0)
    return RoundPlan(rest, rest, longer)


class SinkThread:
    """The thread of a sink. It begins with the first `wake`."""

    def __init__(self, delivery: SinkDelivery, run_round: Callable[[SinkDelivery, int], Round]) -> None:
        self._delivery = delivery
        self._run_round = run_round
        self._condition = threading.Condition()
        self._next_at = math.inf
        self._not_before = 0.0
        self._backoff = FIRST_BACKOFF
        self._is_ending = False
        self._owner = ""
        name = f"kwire-sink-{delivery.sink.name}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def open(self) -> None:
        """Own the ledger if no other job does, so that a new sink begins now."""
        try:
            self._delivery.open()
        except LedgerInUse as error:
            self._report_owner(error)

    def publish(self, patience: int = FAILURES_IN_A_ROW) -> Round:
        """Run a round, unless another job sends the notices."""
        try:
            outcome = self._run_round(self._delivery, patience)
        except LedgerInUse as error:
            self._report_owner(error)
            return Round(0, 0, STANDBY)
        self._owner = ""
        return outcome

    def wake(self) -> None:
        """Run a round as soon as the sink is not paused."""
        with self._condition:
            self._next_at = min(self._next_at, max(time.monotonic(), self._not_before))
            self._condition.notify()
            if self._thread.ident is None and not self._is_ending:
                self._thread.start()

    def request_end(self) -> None:
        """Let the thread run a last round and end."""
        with self._condition:
            self._is_ending = True
            self._condition.notify()

    def join(self, timeout: float) -> None:
        """Wait until the thread has ended."""
        if self._thread.ident is None:
            self._delivery.release()
            return
        self._thread.join(timeout)
        if self._thread.is_alive():
            log.warning("%s is slow: the next job sends it the rest", self._delivery.sink.name)

    def _run(self) -> None:
        while self._wait():
            self._plan(self._publish_or_log(FAILURES_IN_A_ROW))
        self._publish_or_log(patience=1)
        self._delivery.release()

    def _publish_or_log(self, patience: int) -> Round:
        """Run a round. The thread survives a store that cannot be read or a full disk, since alerts depend on it."""
        try:
            return self.publish(patience)
        except Exception:
            log.exception("incidents could not be sent to %s, which is tried again", self._delivery.sink.name)
            return Round(0, 1)

    def _wait(self) -> bool:
        """Wait for the next round; False if the thread must end."""
        with self._condition:
            while not self._is_ending and (left := self._next_at - time.monotonic()) > 0:
                self._condition.wait(min(left, threading.TIMEOUT_MAX))
            self._next_at = math.inf
            return not self._is_ending

    def _plan(self, outcome: Round) -> None:
        """Decide when the next round begins at the earliest."""
        with self._condition:
            now, planned = time.monotonic(), plan(outcome, self._backoff)
            self._backoff, self._not_before = planned.backoff, now + planned.rest
            self._next_at = max(min(self._next_at, now + planned.delay), self._not_before)

    def _report_owner(self, error: LedgerInUse) -> None:
        if error.owner != self._owner:
            self._owner = error.owner
            log.warning("%s: this job waits until it ends", error)


def read_incidents(pipeline: Pipeline, ledger: Ledger) -> list[dict[str, Any]]:
    """Return the rows of gold's newest incidents that a ledger needs, with times in UTC."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    table = pipeline.snapshot().dataset("incidents")
    if table is None:
        return []
    ended, id = ds.field("ended_at"), ds.field("incident_id")
    needed = ended.is_null() | (ended > ledger.ended_until) | (ds.field("first_sign_at") >= ledger.followed_since)
    needed |= id.isin(pa.array(sorted(ledger.unfinished), pa.string()))
    # An incident is stored under the day of its beginning, or `open`, which is greater than any day. Without a first
    # day, a round would open a file for each hour of the history.
    first_day = min(ledger.ended_until, ledger.followed_since) - LONGEST_BEGINNING
    needed = (ds.field("date") >= first_day.date().isoformat()) & needed
    names = [name for name in table.schema.names if name not in {"date", "hour"}]
    rows: list[dict[str, Any]] = table.to_table(columns=names, filter=needed).to_pylist()
    for row in rows:
        row["seen_at"] = dict(row["seen_at"] or ())
        row["attributes"] = dict(row["attributes"] or ())
    return rows
