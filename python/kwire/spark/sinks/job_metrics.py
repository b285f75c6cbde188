"""The metrics of a live pipeline in the text format of Prometheus."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kwire.spark.ingest_report import IngestReport


class JobMetrics:
    """Counts what a job ingests and builds, and which incidents last.

    Counters start with the job, except for that of incidents, which starts with all incidents of gold.
    """

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._rows = Counter("kwire_pipeline_rows", "Rows added to tables.", ["table"], registry=registry)
        self._late = Counter("kwire_pipeline_late_frames", "Frames that reopened an earlier day.", registry=registry)
        self._repeated = Counter("kwire_pipeline_repeated_frames", "Frames ingested before.", registry=registry)
        self._last_ingest = Gauge(
            "kwire_pipeline_last_ingest_timestamp_seconds", "Time of the last ingest.", registry=registry
        )
        self._last_gold = Gauge(
            "kwire_pipeline_last_gold_timestamp_seconds", "Time of the last build of gold.", registry=registry
        )
        self._gold_seconds = Gauge(
            "kwire_pipeline_gold_build_seconds", "Duration of the last build of gold.", registry=registry
        )
        labels = ["cluster_id", "kind"]
        self._new = Counter("kwire_pipeline_incidents", "Incidents that were new.", labels, registry=registry)
        self._open = Gauge("kwire_pipeline_open_incidents", "Incidents that last.", labels, registry=registry)
        self._seen: set[str] = set()

    def serve(self, host: str, port: int) -> tuple[int, Callable[[], None]]:
        """Serve the metrics over HTTP from a thread; port 0 is a free one.

        Returns:
            The port, and a function that stops the server.
        """
        server, thread = start_http_server(port, host, self._registry)

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return server.server_port, stop

    def add_report(self, report: IngestReport) -> None:
        """Count what an ingest did."""
        for table, rows in report.rows.items():
            self._rows.labels(table).inc(rows)
        self._late.inc(report.late)
        self._repeated.inc(report.repeated)
        self._last_ingest.set(time.time())

    def add_build(self, seconds: float) -> None:
        """Record the duration of a build of gold."""
        self._gold_seconds.set(seconds)
        self._last_gold.set(time.time())

    def set_incidents(self, incidents: Iterable[Mapping[str, Any]]) -> None:
        """Count the incidents of gold: those that last, and those that this job has not seen before."""
        self._open.clear()
        for incident in incidents:
            labels = str(incident["cluster_id"]), str(incident["kind"])
            if incident["ended_at"] is None:
                self._open.labels(*labels).inc()
            if incident["incident_id"] not in self._seen:
                self._seen.add(incident["incident_id"])
                self._new.labels(*labels).inc()
