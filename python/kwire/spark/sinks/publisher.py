"""Sends new and ended incidents to sinks, from one thread for each sink.

A round of a sink reads gold's newest incidents, compares them with the ledger, and sends the difference. Threads are
woken after each build of gold, so neither a slow sink nor a failing one delays gold or another sink.

| outcome of sending a notice | next |
|---|---|
| accepted | the next notice |
| `SinkFailed`, final | dead letter; the next notice |
| `SinkFailed`, not final | the next notice; this one is repeated in the next round, after all others |
| the third such failure in a row, or a pause that the sink asked for | the round ends |
| `STRIKES` rounds failed at this notice, but others were accepted | dead letter |

While a sink accepts nothing, its notices wait without becoming dead letters, and the time between rounds doubles up to
`LONGEST_BACKOFF`.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from kwire.spark.sinks.ledger import Ledger
from kwire.spark.sinks.ledger_owner import LedgerInUse, OwnershipRequest
from kwire.spark.sinks.sink import SinkFailed
from kwire.spark.sinks.subscription import IncidentFilter, Subscription

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kwire.spark.pipeline import Pipeline
    from kwire.spark.sinks.job_metrics import JobMetrics
    from kwire.spark.sinks.ledger_owner import LedgerOwner
    from kwire.spark.sinks.notice import IncidentNotice
    from kwire.spark.sinks.sink import IncidentSink

SETTLING = timedelta(seconds=5)
"""Minimum age of the first sign of a new incident: by then, an outage has explained the leaders that moved with it."""

FAILURES_IN_A_ROW = 3
"""Number of consecutive failures that end a round, so that an unavailable sink costs three timeouts and not one for
each notice. Chosen, not measured."""

STRIKES = 8
"""Number of rounds after which a notice that fails while others are accepted is a dead letter: about four minutes
of backoff. Chosen, not measured."""

LONGEST_BEGINNING = timedelta(days=7)
"""Maximum time from the beginning of an incident to its first sign, which is the longest gap between polls, and from
the beginning to the end of an incident that no job has sent while it lasted. Chosen, not measured."""

FIRST_BACKOFF = 1.0
"""Seconds after the first round that failed."""

LONGEST_BACKOFF = 60.0
"""Maximum number of seconds between rounds that fail, unless the sink asks for more."""

LONGEST_PAUSE = 600.0
"""Maximum number of seconds of a pause that a sink asks for (Retry-After)."""

STANDBY = 5.0
"""Seconds between attempts to own a ledger that another job owns."""

FLUSH = 15.0
"""Default number of seconds that `close` waits for sinks: longer than one exchange with a webhook."""

log = logging.getLogger(__name__)


@runtime_checkable
class SearchableSink(Protocol):
    """A sink that can look up received notices, so that a crash repeats nothing."""

    def position(self) -> Any:
        """Return where the sink keeps the notices that it receives from now on, as a value of JSON.

        Raises:
            SinkFailed: that cannot be found out now.
        """

    def has_received(self, notice: IncidentNotice, position: Any) -> bool:
        """Return whether the sink has received a notice since it had a position.

        Raises:
            SinkFailed: that cannot be found out now.
        """


@runtime_checkable
class RepeatingSink(Protocol):
    """A sink that forgets open alerts unless they are repeated."""

    @property
    def repeat_s(self) -> float:
        """Seconds between repetitions."""

    def repeat(self, notices: Sequence[IncidentNotice]) -> None:
        """Deliver the `firing` notices of open alerts again.

        Raises:
            SinkFailed: they were not accepted.
        """


class Round(NamedTuple):
    """The outcome of a round.

    Attributes:
        accepted: number of notices that the sink accepted.
        failed: number of notices that are to be repeated, and 1 if open alerts are.
        pause: seconds in which the sink wants no notices.
        repeat_s: seconds until open alerts must be repeated.
    """

    accepted: int
    failed: int
    pause: float = 0.0
    repeat_s: float = math.inf


class SinkDelivery:
    """The delivery of notices to one sink.

    Args:
        out: the folder of the pipeline.
        sink: the sink.
        began_at: incidents that ended before are not sent to a new sink.
        filter: the incidents that are sent [default: all].

    Attributes:
        pending: number of notices that the sink lacks after the last round.
    """

    def __init__(self, out: str, sink: IncidentSink, began_at: datetime, filter: IncidentFilter | None = None) -> None:
        self.sink = sink
        self.pending = 0
        self._filter = filter or IncidentFilter()
        self._out = out
        self._began_at = began_at
        self._request = OwnershipRequest(out, sink.name)
        self._owner: LedgerOwner | None = None
        self._ledger: Ledger | None = None
        self._lock = threading.Lock()
        self._repeated_at = -math.inf

    @property
    def ledger(self) -> Ledger | None:
        """The ledger, or None if another process owns it."""
        return self._ledger

    def open(self) -> Ledger:
        """Own the ledger, and return it.

        Raises:
            LedgerInUse: another process owns it.
        """
        if self._owner is not None and not self._owner.is_valid:
            self.release()
        if self._ledger is None:
            owner = self._request.acquire()
            try:
                ledger = Ledger(self._out, self.sink.name, owner.generation)
                if ledger.is_new:
                    ledger.start(self._began_at)
            except BaseException:
                owner.release()
                raise
            self._owner, self._ledger = owner, ledger
        return self._ledger

    def release(self) -> None:
        """Let another process own the ledger."""
        owner, self._owner, self._ledger = self._owner, None, None
        if owner is not None:
            owner.release()

    def publish(
        self,
        read: Callable[[Ledger], Iterable[dict[str, Any]]],
        settled: datetime | None = None,
        patience: int = FAILURES_IN_A_ROW,
    ) -> Round:
        """Send what the sink lacks.

        Args:
            read: reads the incidents that a ledger needs (`Ledger.pending`).
            settled: the latest first sign of a new incident that is sent [default: any].
            patience: number of consecutive failures that end the round.

        Raises:
            LedgerInUse: another process sends the notices of this sink.
        """
        with self._lock:
            ledger = self.open()
            # Before gold is read: a store that cannot be read must not end alerts.
            repetition = self._repeat(ledger)
            accepted, failures_in_a_row = 0, int(repetition is not None)
            pause = 0.0 if repetition is None else min(repetition.retry_after, LONGEST_PAUSE)
            failed: list[tuple[IncidentNotice, str]] = []
            pending = ledger.pending(read(ledger), settled, self._filter.accepts)
            self.pending = len(pending)
            for notice in pending:
                if self._owner is None or not self._owner.is_valid or failures_in_a_row == patience or pause:
                    break
                try:
                    self._deliver(notice, ledger)
                except SinkFailed as failure:
                    log.warning("%s", failure)
                    if failure.is_final:
                        ledger.bury(notice, str(failure.reason))
                        self.pending -= 1
                        continue
                    failed.append((notice, str(failure.reason)))
                    failures_in_a_row += 1
                    pause = min(failure.retry_after, LONGEST_PAUSE)
                else:
                    accepted += 1
                    failures_in_a_row = 0
                    self.pending -= 1
            if accepted:  # so the sink is available, and it is the notices at which it failed
                for notice, reason in failed:
                    if ledger.strike(notice) >= STRIKES:
                        ledger.bury(notice, reason)
            ledger.end_round(accepted=accepted, failed=len(failed) + (repetition is not None))
            repeat_s = self.sink.repeat_s if isinstance(self.sink, RepeatingSink) else math.inf
            return Round(accepted, len(failed) + (repetition is not None), pause, repeat_s)

    def _repeat(self, ledger: Ledger) -> SinkFailed | None:
        """Repeat open alerts if that is due, and return the failure if it must be tried again."""
        sink, now = self.sink, time.monotonic()
        if not isinstance(sink, RepeatingSink) or now < self._repeated_at + sink.repeat_s:
            return None
        if self._owner is None or not self._owner.is_valid:  # its next owner may have resolved them
            return None
        if notices := ledger.firing:
            try:
                sink.repeat(notices)
            except SinkFailed as failure:
                log.warning("%s", failure)
                if not failure.is_final:
                    return failure
        self._repeated_at = now
        return None

    def _deliver(self, notice: IncidentNotice, ledger: Ledger) -> None:
        """Send a notice, unless the sink can look up that it has received it before.

        Raises:
            SinkFailed: the sink did not accept it.
        """
        sink, earlier, position = self.sink, ledger.sending(notice), None
        if isinstance(sink, SearchableSink):
            if earlier is None:
                position = sink.position()
            elif earlier.may_have_arrived and sink.has_received(notice, earlier.position):
                ledger.confirm(notice)
                return
        ledger.begin(notice, position)
        try:
            sink.send(notice)
        except SinkFailed as failure:
            ledger.fail(notice, may_have_arrived=failure.may_have_arrived)
            raise
        except Exception as error:
            ledger.fail(notice, may_have_arrived=True)
            raise SinkFailed(sink.name, repr(error)) from error
        ledger.confirm(notice)


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
        settled = datetime.now(UTC) - SETTLING

        def read(ledger: Ledger) -> list[dict[str, Any]]:
            incidents = read_incidents(self._pipeline, ledger)
            if self._metrics is not None and delivery.sink is self._metrics:
                self._metrics.set_open_incidents(row for row in incidents if row["first_sign_at"] <= settled)
                self._metrics.set_store(self._pipeline.newest_polls(), self._pipeline.snapshot().sizes())
            return incidents

        try:
            return delivery.publish(read, settled, patience)
        finally:
            if self._metrics is not None:
                self._metrics.set_ledger(delivery.sink.name, delivery.ledger, delivery.pending)


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
            if not outcome.failed and not outcome.pause:
                self._backoff, self._not_before = FIRST_BACKOFF, 0.0
                self._next_at = min(self._next_at, time.monotonic() + outcome.repeat_s)
                return
            self._not_before = time.monotonic() + max(outcome.pause, self._backoff if outcome.failed else 0.0)
            self._next_at = self._not_before
            if outcome.failed:
                self._backoff = min(self._backoff * 2, LONGEST_BACKOFF)

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
