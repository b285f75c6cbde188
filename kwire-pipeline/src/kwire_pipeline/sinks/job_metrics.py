"""The metrics of a live pipeline in the text format of Prometheus."""

from __future__ import annotations

import time
from collections import Counter as Counts
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from kwire_pipeline.ingest.ingest_report import IngestReport
    from kwire_pipeline.sinks.ledger import Ledger
    from kwire_pipeline.sinks.notice import IncidentNotice


class JobMetrics:
    """Counts the rows, builds, incidents, and notices of a job.

    Counters start with the job, except the counters of incidents and dead letters. These are in ledgers, so they
    continue after a restart: the metrics are a sink of incidents with a ledger, which counts each outage once.
    """

    name = "metrics"

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()

        def counter(name: str, doc: str, *labels: str) -> Counter:
            return Counter(f"kwire_pipeline_{name}", doc, labels, registry=registry)

        def gauge(name: str, doc: str, *labels: str) -> Gauge:
            return Gauge(f"kwire_pipeline_{name}", doc, labels, registry=registry)

        newest_poll = "Time of the newest ingested poll of a cluster, as of the last build."
        failed = "Notices that a sink lacks and has not accepted at the last attempt."
        owned = "1 if this job sends the notices of the sink, 0 if another one does."
        self._rows = counter("rows", "Rows added to tables.", "table")
        self._late = counter("late_frames", "Frames that reopened an earlier day.")
        self._repeated = counter("repeated_frames", "Frames ingested before.")
        self._last_ingest = gauge("last_ingest_timestamp_seconds", "Time of the last ingest.")
        self._last_gold = gauge("last_gold_timestamp_seconds", "Time of the last build of gold.")
        self._gold_seconds = gauge("gold_build_seconds", "Duration of the last build of gold.")
        self._failed_builds = counter("failed_builds", "Builds of gold that failed and are tried again.")
        self._newest_poll = gauge("newest_poll_timestamp_seconds", newest_poll, "cluster_id")
        self._bytes = gauge("table_bytes", "Size of the files of a table's newest version.", "table")
        self._pending = gauge("pending_notices", "Notices that a sink lacks, tried or not.", "sink")
        # Incidents have labels of few values: neither their topics nor their ids.
        self._new = counter("incidents", "Incidents that were new.", "cluster_id", "kind")
        self._open = gauge("open_incidents", "Incidents that last.", "cluster_id", "kind")
        self._dead = counter("dead_letters", "Notices that a sink refused for good.", "sink")
        self._failed = gauge("failed_notices", failed, "sink")
        self._owned = gauge("sends_notices", owned, "sink")
        self._open_labels: set[tuple[str, str]] = set()
        self._totals: dict[tuple[Counter, tuple[str, ...]], int] = {}
        """The totals of ledgers that counters show, by counter and labels."""

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

    def add_failed_build(self) -> None:
        """Count a build of gold that failed."""
        self._failed_builds.inc()

    def set_store(self, newest_polls: Mapping[str, datetime], sizes: Mapping[str, int]) -> None:
        """Show the age of the data and the size of the tables in bytes."""
        for cluster_id, at in newest_polls.items():
            self._newest_poll.labels(cluster_id).set(at.timestamp())
        for table, size in sizes.items():
            self._bytes.labels(table).set(size)

    def send(self, notice: IncidentNotice) -> None:
        """Accept a notice: the ledger counts it (`Ledger.totals`)."""

    def set_open_incidents(self, incidents: Iterable[Mapping[str, Any]]) -> None:
        """Show the incidents of gold that last."""
        lasting = Counts((str(row["cluster_id"]), str(row["kind"])) for row in incidents if row["ended_at"] is None)
        self._open_labels |= lasting.keys()
        for labels in self._open_labels:
            self._open.labels(*labels).set(lasting[labels])

    def set_ledger(self, sink: str, ledger: Ledger | None, pending: int = 0, failed: int = 0) -> None:
        """Show the figures of a sink's ledger, and the number of notices that the sink lacks, and has not accepted.

        The ledger is None if another job owns it.
        """
        self._pending.labels(sink).set(pending)
        self._failed.labels(sink).set(failed)
        self._owned.labels(sink).set(ledger is not None)
        if ledger is None:
            return
        self._raise(self._dead, ledger.dead_letter_count, sink)
        if sink == self.name:
            for labels, count in ledger.totals.items():
                self._raise(self._new, count, *labels)

    def _raise(self, counter: Counter, total: int, *labels: str) -> None:
        """Raise a counter to the total of a ledger, which falls only if the ledger was damaged."""
        shown = self._totals.get((counter, labels), 0)
        counter.labels(*labels).inc(max(total - shown, 0))
        self._totals[counter, labels] = total
