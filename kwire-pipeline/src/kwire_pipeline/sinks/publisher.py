"""Sends new and ended incidents of gold to sinks, from one thread for each sink (`sink_thread`)."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kwire_pipeline.sinks.delivery import SETTLING, SinkDelivery
from kwire_pipeline.sinks.sink_thread import SinkThread
from kwire_pipeline.sinks.subscription import IncidentFilter, Subscription

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_pipeline.pipeline import Pipeline
    from kwire_pipeline.sinks.delivery import Round
    from kwire_pipeline.sinks.job_metrics import JobMetrics
    from kwire_pipeline.sinks.ledger import Ledger
    from kwire_pipeline.sinks.sink import IncidentSink

LONGEST_BEGINNING = timedelta(days=7)
"""Maximum time from the beginning of an incident to its first sign, which is the longest gap between polls, and from
the beginning to the end of an incident that no job has sent while it lasted. Chosen, not measured."""

FLUSH = 15.0
"""Default number of seconds that `close` waits for sinks: longer than one exchange with a webhook."""


class IncidentPublisher:
    """Sends sinks what they lack of gold's incidents.

    `wake` sends from threads, which `close` ends. If another job sends the notices of a sink, this one waits, and takes
    over once the other one has ended.

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
                self._metrics.set_ledger(delivery.sink.name, delivery.ledger, delivery.pending, delivery.failed)


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
