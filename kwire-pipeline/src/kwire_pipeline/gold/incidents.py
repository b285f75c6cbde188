"""`incidents`: one row per event that an operator caused or that happened to a cluster.

`diagnosis` computes them from `signals` in the executors, one cluster at a time. A row is stored under the hour in
which the incident began, also while it lasts (`ended_at` is null).

A build diagnoses each cluster from its cut on (`diagnosis.summary`), so the age of an incident with a summary costs
nothing. A cluster in which nothing lasts is diagnosed from the beginning of the window. The part `SAVED` of savepoints
has the cut and the summary of each other cluster. A build writes the files of three kinds of rows: incidents since the
cut, incidents that the summary continues, which stay under the hour in which they are stored, and other rows of these
files, which stay the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.gold import days, signals
from kwire_pipeline.gold.diagnosis import IncidentKind, Signal, SignalKind, examine
from kwire_pipeline.gold.diagnosis.summary import HOUR, cut, summarize
from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.gold.transitions import FILED_AT
from kwire_pipeline.in_process import time_literal, with_columns
from kwire_pipeline.tables import Column, ddl_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from kwire_pipeline.gold.diagnosis import Diagnosis, Incident
    from kwire_pipeline.gold.view import GoldBuild
    from kwire_pipeline.store.record import DataFile

TABLE = GoldTable(
    "incidents",
    "What operators did to a cluster and what happened to it, each event once.",
    (
        Column("incident_id", "string", "twelve hexadecimal digits; a rebuild gives the same id"),
        Column("cluster_id", "string", "the cluster"),
        Column(
            "kind",
            "string",
            ", ".join(IncidentKind),
        ),
        Column("cause", "string", "why the signals are classified so, as a sentence"),
        Column(
            "caused_by",
            "string",
            "the incident that caused this one; null if an operator or an accident did",
        ),
        Column("broker_id", "int", "the affected broker; null if no single broker is"),
        Column(
            "began_at", "timestamp", "when the broker that reported the first sign last reported the opposite", "UTC"
        ),
        Column(
            "first_sign_at", "timestamp", "when the first sign was reported: the incident began between the two", "UTC"
        ),
        Column("first_sign", "string", "the first sign"),
        Column("seen_at", "map<string,timestamp>", "when each sign was reported first", "UTC"),
        Column(
            "ended_at",
            "timestamp",
            "when the last sign ended, such as a broker that is in sync again; null while it lasts",
            "UTC",
        ),
        Column("topics", "array<string>", "the first hundred affected topics, sorted"),
        Column("topic_count", "int", "number of affected topics", "topics"),
        Column("partition_count", "int", "number of affected partitions", "partitions"),
        Column("under_replicated", "int", "partitions that became under-replicated", "partitions"),
        Column("offline", "int", "partitions left without a leader", "partitions"),
        Column("electing", "int", "partitions without a leader during an election", "partitions"),
        Column("leaders_moved", "int", "partitions with a new leader", "partitions"),
        Column("attributes", "map<string,string>", "further facts, depending on the kind"),
    ),
    time="began_at",
)

LISTED_TOPICS = 100
"""Maximum number of topics in a row."""


SAVED = "lasting_incidents"
"""The part of savepoints with the cut and the summary of each cluster in which an incident lasts."""

SUMMARY = f"{signals.TABLE.ddl}, `{FILED_AT}` timestamp, `cut` timestamp, `incident_id` string"
"""Signals of a summary, with the cut, the incident that a signal continues, and the hour under which that is stored."""


def _struct(ddl: str) -> str:
    fields = (column.replace(" ", ":") for column in ddl.replace("`", "").split(", "))
    return f"struct<{','.join(fields)}>"


_RESULT = f"incident {_struct(f'{TABLE.ddl}, {FILED_AT} timestamp')}, summary {_struct(SUMMARY)}"
"""A row has one of the two."""


def plan(build: GoldBuild, start: datetime | None, as_of: datetime | None, new_signals: DataFrame) -> None:
    """Plan the table and the savepoint of a window.

    Args:
        build: the build.
        start: the beginning of the window; None is the beginning of the history.
        as_of: the hour of the savepoint; None writes none.
        new_signals: the signals of the window, with the column `FILED_AT`.
    """
    hour = f"date_trunc('hour', {FILED_AT})"
    if start is not None:
        hour = f"greatest({hour}, {time_literal(start)})"
    rows = with_columns(new_signals, **{FILED_AT: hour})
    stored: list[DataFile] = []
    kept: list[DataFile] = []
    if start is not None:
        summary = build.saved_rows(SAVED, start, ("cut", FILED_AT)).to_pylist()
        first = min([start, *(row["cut"] for row in summary)])
        hours = {(f"{row[FILED_AT]:%Y-%m-%d}", row[FILED_AT].hour) for row in summary if row[FILED_AT] is not None}
        for file in build.files(TABLE.folder):
            is_continued = (file.partition["date"], int(file.partition["hour"])) in hours
            if days.is_before(file, first) and not is_continued:
                kept.append(file)
            elif days.is_before(file, start):
                stored.append(file)
        earlier = build.files(signals.TABLE.folder)
        earlier = [file for file in earlier if days.is_before(file, start) and not days.is_before(file, first)]
        rows = rows.unionByName(build.filed(signals.TABLE, earlier))
    rows = with_columns(rows, cut="CAST(NULL AS timestamp)", incident_id="CAST(NULL AS string)")
    if start is not None:
        rows = rows.unionByName(build.saved(SAVED, start, SUMMARY))
    task = DiagnosisTask(microseconds(start) or 0, microseconds(as_of))
    grouped = rows.groupBy("cluster_id").cogroup(build.filed(TABLE, stored).groupBy("cluster_id"))
    results = grouped.applyInArrow(
        lambda signals, stored: task.run(signals, stored),  # noqa: PLW0108  # Spark takes the `self` of a method for an argument
        _RESULT,
    )
    results = build.computed_once(results)
    build.replace(TABLE, results.where("incident IS NOT NULL").select("incident.*"), None, keep_equal=True, kept=kept)
    if as_of is not None:
        summaries = results.where("summary IS NOT NULL").select("summary.*").coalesce(1)
        build.save(SAVED, as_of, summaries, SUMMARY)


def oldest_lasting(build: GoldBuild, as_of: datetime) -> datetime:
    """Return the first hour, of a cut or an incident, that a build from `as_of` on needs. Its savepoint is written."""
    rows = build.saved_rows(SAVED, as_of, ("cut", FILED_AT))
    hours: list[datetime] = [hour for name in rows.column_names for hour in rows[name].to_pylist() if hour is not None]
    return min([as_of, *hours])


class DiagnosisTask(NamedTuple):
    """Diagnoses a cluster. Times are microseconds since 1970.

    Attributes:
        since: the cut of clusters that have no summary.
        as_of: the time of the savepoint; None writes none.
    """

    since: int
    as_of: int | None

    def run(self, signals: pa.Table, stored: pa.Table) -> pa.Table:
        """Return the rows of the files that are written again, and the summary.

        Args:
            signals: the signals since the first cut of any cluster, and the summary.
            stored: the rows of these files.
        """
        import pyarrow as pa

        cluster_id = (signals if signals.num_rows else stored)["cluster_id"][0].as_py()
        # A side without rows has no columns on Spark.
        continued = _micros(signals.select(["cut", FILED_AT, "incident_id"])).to_pylist() if signals.num_rows else []
        since: int = max((row["cut"] for row in continued if row["cut"] is not None), default=self.since)
        hours: dict[str, int] = {
            row["incident_id"]: row[FILED_AT] for row in continued if row["incident_id"] is not None
        }
        read = read_signals(signals) if signals.num_rows else []
        diagnosis = examine(signal for signal in read if signal.filed_at >= since or not signal.filed_at)

        def hour_of(incident: Incident) -> int:
            return hours.get(incident.id(cluster_id), max(incident.began_at // HOUR * HOUR, since))

        earlier = _micros(stored).to_pylist() if stored.num_rows else []
        rows = [row for row in earlier if row[FILED_AT] < since and row["incident_id"] not in hours]
        rows += [row_of(incident, cluster_id) | {FILED_AT: hour_of(incident)} for incident in diagnosis.incidents]
        summary = [] if self.as_of is None else list(self._summary(diagnosis, since, cluster_id, hour_of))
        results = [{"incident": row} for row in rows] + [{"summary": row} for row in summary]
        return pa.Table.from_pylist(results, schema=ddl_schema(_RESULT))

    def _summary(
        self, diagnosis: Diagnosis, since: int, cluster_id: str, hour_of: Callable[[Incident], int]
    ) -> Iterator[dict[str, Any]]:
        assert self.as_of is not None
        at = cut(diagnosis, self.as_of, since)
        for signal, incident in summarize(diagnosis, at) if at < self.as_of else ():
            row = {name: getattr(signal, name) for name in signals.TABLE.names if name != "cluster_id"}
            row |= {"cluster_id": cluster_id, "cut": at, "detail": sorted(signal.detail.items())}
            if incident is not None:
                row |= {"incident_id": incident.id(cluster_id), FILED_AT: hour_of(incident)}
            yield row


def read_signals(table: pa.Table) -> list[Signal]:
    """Return rows of `signals` as signals. Signals of a summary have the hour 0."""
    rows = _micros(table).to_pylist()
    return [
        Signal(
            kind=SignalKind(row["kind"]),
            at=row["at"],
            not_before=row["not_before"],
            reported_by=row["reported_by"],
            broker_id=row["broker_id"],
            other_broker_id=row["other_broker_id"],
            topic=row["topic"],
            partitions=row["partitions"],
            partition_hashes=row["partition_hashes"] or (),
            topics=tuple(row["topics"] or ()),
            detail=dict(row["detail"] or ()),
            filed_at=0 if row.get("cut") else row.get(FILED_AT, 0),
        )
        for row in rows
    ]


def _micros(table: pa.Table) -> pa.Table:
    """Return a table with times as microseconds since 1970, which Python reads faster."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for index, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            micros = pc.cast(pc.cast(table.column(index), pa.timestamp("us", "UTC")), pa.int64())
            table = table.set_column(index, field.name, micros)
    return table


def row_of(incident: Incident, cluster_id: str) -> dict[str, Any]:
    """Return the row of an incident, with times in microseconds."""
    return {
        "incident_id": incident.id(cluster_id),
        "cluster_id": cluster_id,
        "kind": incident.kind,
        "cause": incident.cause,
        "caused_by": incident.caused_by.id(cluster_id) if incident.caused_by else None,
        "broker_id": incident.broker_id,
        "began_at": incident.began_at,
        "first_sign_at": incident.first_sign_at,
        "first_sign": incident.first_sign,
        "seen_at": incident.signs_by_time(),
        "ended_at": incident.ended_at,
        "topics": sorted(incident.topics)[:LISTED_TOPICS],
        "topic_count": len(incident.topics),
        "partition_count": incident.partitions.count,
        "under_replicated": incident.under_replicated.count,
        "offline": incident.offline.count,
        "electing": incident.electing.count,
        "leaders_moved": incident.leaders_moved.count,
        "attributes": sorted(incident.attributes.items()),
    }
