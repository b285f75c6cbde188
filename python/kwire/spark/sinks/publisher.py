"""Sends new and ended incidents to sinks after each build of gold."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kwire.errors import KwireError
from kwire.spark.sinks.ledger import Ledger
from kwire.spark.sinks.notice import TIMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.spark.pipeline import Pipeline
    from kwire.spark.sinks.job_metrics import JobMetrics
    from kwire.spark.sinks.notice import IncidentNotice

SETTLING = timedelta(seconds=5)
"""How old the first sign of an incident must be: by then, an outage has explained the leaders that moved with it."""

log = logging.getLogger(__name__)


class SinkFailed(KwireError, ConnectionError):
    """A sink did not accept a notice; it is sent again after the next build of gold."""

    def __init__(self, sink: str, reason: object) -> None:
        super().__init__(sink, reason)
        self.sink = sink
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.sink} did not accept an incident: {self.reason}"


class IncidentSink(Protocol):
    """Receives each incident once when it is new and once when it has ended."""

    @property
    def name(self) -> str:
        """The name of the sink's ledger, which the same sink must have after a restart."""

    def send(self, notice: IncidentNotice) -> None:
        """Deliver a notice.

        Raises:
            SinkFailed: it was not accepted.
        """


@runtime_checkable
class SearchableSink(Protocol):
    """A sink that can look up what it has received, so that a crash repeats nothing."""

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


class IncidentPublisher:
    """Compares gold's incidents with what sinks have received.

    Args:
        pipeline: the pipeline.
        sinks: the sinks, with different names.
        metrics: gets all incidents after each build.
    """

    def __init__(self, pipeline: Pipeline, sinks: Iterable[IncidentSink], metrics: JobMetrics | None = None) -> None:
        self._pipeline = pipeline
        self._metrics = metrics
        self._sinks = [(sink, Ledger(pipeline.out, sink.name)) for sink in sinks]
        names = [sink.name for sink, _ in self._sinks]
        if len(names) != len(set(names)):
            raise ValueError(f"two sinks have one name: {', '.join(sorted(names))}")
        if any(ledger.is_new for _, ledger in self._sinks):
            incidents = self._incidents()
            for _, ledger in self._sinks:
                if ledger.is_new:
                    ledger.start(incidents)

    def publish(self) -> int:
        """Send what the sinks have not received, and return the number of notices that they accepted.

        A sink that fails keeps neither the others nor the pipeline waiting: the failure is logged, and the rest of its
        notices are sent by the next call.
        """
        settled = datetime.now(UTC) - SETTLING
        incidents = [row for row in self._incidents() if row["first_sign_at"] <= settled]
        if self._metrics is not None:
            self._metrics.set_incidents(incidents)
        sent = 0
        for sink, ledger in self._sinks:
            try:
                sent += repeat_unconfirmed(sink, ledger)
                for notice in ledger.pending(incidents):
                    deliver(notice, sink, ledger)
                    sent += 1
            except SinkFailed as failure:
                log.warning("%s", failure)
        return sent

    def _incidents(self) -> Sequence[dict[str, Any]]:
        rows = [row.asDict() for row in self._pipeline.table("incidents").drop("date", "hour").collect()]
        for row in rows:
            for name in TIMES:
                row[name] = None if row[name] is None else row[name].astimezone(UTC)
            row["seen_at"] = {sign: at.astimezone(UTC) for sign, at in (row["seen_at"] or {}).items()}
        return rows


def repeat_unconfirmed(sink: IncidentSink, ledger: Ledger) -> int:
    """Send the notice again of which the ledger does not know whether the sink has received it.

    A process was killed while it sent the notice, or the sink failed. A sink that can look up the notice gets it once.

    Returns:
        The number of notices that the sink has received by it, 0 or 1.

    Raises:
        SinkFailed: the sink did not accept it.
    """
    if ledger.unconfirmed is None:
        return 0
    notice, position = ledger.unconfirmed
    if not (isinstance(sink, SearchableSink) and sink.has_received(notice, position)):
        sink.send(notice)
    ledger.add(notice)
    return 1


def deliver(notice: IncidentNotice, sink: IncidentSink, ledger: Ledger) -> None:
    """Send a notice.

    Raises:
        SinkFailed: the sink did not accept it.
    """
    ledger.begin(notice, sink.position() if isinstance(sink, SearchableSink) else None)
    sink.send(notice)
    ledger.add(notice)
