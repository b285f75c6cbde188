"""Incidents, sinks, and gold for tests of the delivery of alerts."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyarrow as pa

from kwire_pipeline.gold.incidents import TABLE as INCIDENTS
from kwire_pipeline.sinks import IncidentNotice, IncidentSink, Ledger, SinkFailed
from kwire_pipeline.sinks.delivery import Round, SinkDelivery
from kwire_pipeline.sinks.job_metrics import JobMetrics
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.manifest import FileKind
from kwire_pipeline.store.record import StoreChange
from kwire_pipeline.store.table_files import Output, TableFile

START = datetime(2026, 11, 21, 14, tzinfo=UTC)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
DELIVERIES: list[SinkDelivery] = []
"""The deliveries of a test, whose ledgers are released at its end."""


def incident(first_sign: float, *, kind: str = "broker_killed", ended: float | None = None) -> dict[str, Any]:
    at = START + timedelta(seconds=first_sign)
    return {
        "incident_id": f"{kind}-{first_sign}",
        "cluster_id": "c",
        "kind": kind,
        "cause": "its process ended",
        "caused_by": None,
        "broker_id": 2,
        "began_at": at,
        "first_sign_at": at,
        "first_sign": "poll_failed",
        "seen_at": {"poll_failed": at},
        "ended_at": None if ended is None else START + timedelta(seconds=ended),
        "topics": [],
        "topic_count": 3,
        "partition_count": 7,
        "under_replicated": 7,
        "offline": 0,
        "electing": 0,
        "leaders_moved": 2,
        "attributes": {"failures": "refused"},
    }


def delivery_to(
    sink: IncidentSink, folder: Path, began_at: datetime = LONG_AGO, clock: Callable[[], float] = time.monotonic
) -> SinkDelivery:
    DELIVERIES.append(SinkDelivery(str(folder), sink, began_at, clock=clock))
    return DELIVERIES[-1]


class Recorder:
    """A sink in this process.

    Attributes:
        received: status and kind of each accepted notice.
        failures: the errors with which to answer notices about an incident, by kind.
    """

    name = "sink"

    def __init__(self) -> None:
        self.notices: list[IncidentNotice] = []
        self.failures: dict[str, SinkFailed] = {}

    def send(self, notice: IncidentNotice) -> None:
        if (failure := self.failures.get(notice.incident["kind"])) is not None:
            raise failure
        self.notices.append(notice)

    def take(self) -> list[tuple[str, str]]:
        """Return the status and kind of each notice since the last call."""
        taken = [(str(notice.status), notice.incident["kind"]) for notice in self.notices]
        self.notices.clear()
        return taken


class Gold:
    """Incidents that a test sets, and their delivery to a `Recorder` with a ledger in a folder."""

    def __init__(self, folder: Path, began_at: datetime = LONG_AGO) -> None:
        self.sink = Recorder()
        self._folder, self._began_at = folder, began_at
        self.delivery = delivery_to(self.sink, folder, began_at)

    def restart(self) -> None:
        self.delivery.release()
        self.delivery = delivery_to(self.sink, self._folder, self._began_at)

    def publish(self, *incidents: dict[str, Any]) -> list[tuple[str, str]]:
        """Run a round, and return the status and kind of each accepted notice."""
        self.round(*incidents)
        return self.sink.take()

    def round(self, *incidents: dict[str, Any]) -> Round:
        return self.delivery.publish(lambda _: incidents)

    @property
    def ledger(self) -> Ledger:
        return self.delivery.open()


def shown(metrics: JobMetrics) -> dict[str, float]:
    """Return the metrics of incidents and notices, as Prometheus reads them."""
    port, stop = metrics.serve("127.0.0.1", 0)
    with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        lines: list[str] = page.read().decode().splitlines()
    stop()
    samples = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in samples if not name.partition("{")[0].endswith("_created")}


def set_incidents(store: PipelineStore, *incidents: dict[str, Any]) -> None:
    """Replace gold's incidents."""
    store.create({INCIDENTS.folder: INCIDENTS.layout})
    change = StoreChange("gold", store.newest().number)
    change.removed[INCIDENTS.folder] = store.snapshot().files(INCIDENTS.folder)
    for row in incidents:
        date = "open" if row["ended_at"] is None else f"{row['began_at']:%Y-%m-%d}"
        partition = {"date": date, "hour": "0"}
        file = TableFile(Output(store.location), FileKind.SILVER, INCIDENTS.folder, partition, INCIDENTS.arrow)
        pairs = {name: list(row[name].items()) for name in ("seen_at", "attributes")}
        file.write(pa.Table.from_pylist([row | pairs], schema=INCIDENTS.arrow))
        change.added.setdefault(INCIDENTS.folder, []).append(file.close().file)
    store.commit(change)
