"""`incidents`: one row per event that an operator caused or that happened to a cluster.

`diagnosis` computes them from `signals` in the executors, one cluster at a time. A row is stored under the hour in
which the incident began, also while it lasts (`ended_at` is null).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.spark.gold.diagnosis import IncidentKind, Signal, SignalKind, diagnose
from kwire.spark.gold.tables import GoldTable
from kwire.spark.tables import Column

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from kwire.spark.gold.diagnosis import Incident

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


def incidents(signals: DataFrame) -> DataFrame:
    """Return the rows of `TABLE` from all signals since the beginning of the oldest incident of interest."""
    return signals.groupBy("cluster_id").applyInArrow(diagnose_cluster, TABLE.ddl)


def diagnose_cluster(signals: pa.Table) -> pa.Table:
    """Return the rows of `TABLE` from the signals of one cluster."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in ("at", "not_before"):
        micros = pc.cast(pc.cast(signals.column(name), pa.timestamp("us", "UTC")), pa.int64())
        signals = signals.set_column(signals.schema.get_field_index(name), name, micros)
    cluster_id = signals.column("cluster_id")[0].as_py()
    diagnosed = diagnose(
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
        )
        for row in signals.select(
            [name for name in signals.column_names if name not in {"cluster_id", "date", "hour"}]
        ).to_pylist()
    )
    return pa.Table.from_pylist([_row(incident, cluster_id) for incident in diagnosed], schema=TABLE.arrow)


def _row(incident: Incident, cluster_id: str) -> dict[str, Any]:
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
