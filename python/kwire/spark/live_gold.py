"""Building gold at intervals while streams ingest, and publishing the incidents of each build."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire.spark.pipeline import Pipeline
    from kwire.spark.sinks import IncidentPublisher
    from kwire.spark.sinks.job_metrics import JobMetrics


class LiveGold:
    """Keeps gold up to date.

    Args:
        pipeline: the pipeline.
        every: seconds from the beginning of a build to that of the next one; a build that takes longer is followed by
            the next one at once.
        publisher: sends the incidents of each build.
        metrics: gets the duration of each build.
    """

    def __init__(
        self, pipeline: Pipeline, every: float, publisher: IncidentPublisher, metrics: JobMetrics | None = None
    ) -> None:
        self._pipeline = pipeline
        self._every = every
        self._publisher = publisher
        self._metrics = metrics
        self._next = time.monotonic() + every

    def build_if_due(self) -> None:
        """Build and publish if the interval has passed."""
        if time.monotonic() >= self._next:
            self.build()

    def build(self) -> int:
        """Build and publish now, and return the number of notices that sinks accepted."""
        started = time.monotonic()
        self._next = started + self._every
        self._pipeline.gold()
        if self._metrics is not None:
            self._metrics.add_build(time.monotonic() - started)
        return self._publisher.publish()
