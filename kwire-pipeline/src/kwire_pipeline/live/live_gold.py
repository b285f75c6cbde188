"""Building gold at intervals while streams ingest, and waking the publisher after each build.

A broker that begins to fail does not wait for the interval: gold is built as soon as the incident can be sent.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from kwire_pipeline.live.backoff import TEMPORARY, Backoff
from kwire_pipeline.sinks.delivery import SETTLING
from kwire_pipeline.store.manifest import ReporterPolls

if TYPE_CHECKING:
    from kwire_pipeline.ingest.ingest_report import IngestReport
    from kwire_pipeline.pipeline import Pipeline
    from kwire_pipeline.sinks import IncidentPublisher
    from kwire_pipeline.sinks.job_metrics import JobMetrics

CONFIRMED = 2
"""Failed polls in a row after which an outage is an incident."""
SHORTEST_BUILD = 0.75
"""Expected duration of a build, of the last one's: one that ends before an incident can be sent needs another one.
Chosen, not measured."""


class LiveGold:
    """Keeps gold up to date.

    Args:
        pipeline: the pipeline.
        every: seconds between the beginnings of two builds; a build that takes longer is followed by
            the next one at once.
        publisher: sends the incidents of each build.
        metrics: gets the report of each ingest, and the duration of each build.
    """

    def __init__(
        self, pipeline: Pipeline, every: float, publisher: IncidentPublisher, metrics: JobMetrics | None = None
    ) -> None:
        self._pipeline = pipeline
        self._every = every
        self._publisher = publisher
        self._metrics = metrics
        self._next = time.monotonic() + every
        self._seconds = 0.0
        self._sendable_at = 0.0
        self._polls: dict[str, ReporterPolls] = {}
        self._lock = threading.Lock()
        self._backoff = Backoff("the build of gold")

    def add_report(self, report: IngestReport) -> None:
        """Take note of an ingest: if a broker has just failed to respond twice, the next build is due earlier.

        That build ends when the incident is old enough to be sent. Streams may call this from their threads.
        """
        if self._metrics is not None:
            self._metrics.add_report(report)
        with self._lock:
            for key, polls in report.polls.items():
                before = self._polls.get(key, ReporterPolls(True, 0))
                self._polls[key] = now = before.followed_by(polls)
                if now.failed >= CONFIRMED and (polls.responded or before.failed < CONFIRMED):
                    age = max(time.time() - now.failing_since / 1e6, 0.0) if now.failing_since is not None else 0.0
                    self._sendable_at = time.monotonic() + SETTLING.total_seconds() - age
                    self._next = min(self._next, self._build_before_sending())

    def _build_before_sending(self) -> float:
        return self._sendable_at - SHORTEST_BUILD * self._seconds

    def seconds_left(self) -> float:
        """Return the seconds until the next build is due; 0.0 if it is."""
        with self._lock:
            return max(self._next - time.monotonic(), 0.0)

    def build_if_due(self) -> None:
        """Build if that is due, and wake the publisher. A build that fails is repeated after a pause.

        Raises:
            Exception: the error of a build that another attempt cannot cure (`Backoff.pause_after`).
        """
        if self.seconds_left():
            return
        try:
            self.build()
        except TEMPORARY as error:
            if self._metrics is not None:
                self._metrics.add_failed_build()
            pause = self._backoff.pause_after(error)
            with self._lock:
                self._next = time.monotonic() + pause
        else:
            self._backoff.reset()

    def build(self) -> None:
        """Build now, and wake the publisher."""
        started = time.monotonic()
        with self._lock:
            self._next = started + self._every
        self._pipeline.gold()
        with self._lock:
            ended = time.monotonic()
            self._seconds = ended - started
            if ended < self._sendable_at:  # faster than expected: the next build sends the incident
                self._next = min(self._next, self._build_before_sending())
        if self._metrics is not None:
            self._metrics.add_build(self._seconds)
        self._publisher.wake()

    def close(self) -> None:
        """Send what sinks have not received yet, and end the threads of the publisher."""
        self._publisher.close()
