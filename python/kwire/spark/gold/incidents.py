"""`incidents`: one row for each thing that was done to a cluster or happened to it.

The thinking is done by `diagnosis`, in the executors, a cluster at a time, from `signals`. Rows lie under the hour in
which the incident began; those that last under that hour too, with ``ended_at`` null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.spark.gold.diagnosis import Signal, diagnose
from kwire.spark.gold.tables import Column, Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from kwire.spark.gold.diagnosis import Incident

TABLE = Table(
    "incidents",
    "What was done to a cluster, or happened to it: each thing once.",
    (
        Column("incident_id", "string", "twelve hexadecimal digits, the same however often gold is built"),
        Column("cluster_id", "string", "the cluster"),
        Column(
            "kind",
            "string",
            "topic_created, topic_deleted, topic_recreated, partitions_added, broker_killed, broker_paused, "
            "controlled_shutdown, broker_lost, broker_restarted, broker_resumed, broker_returned, reassignment, "
            "preferred_election, controller_moved, config_changed, replica_lagging, leaders_moved",
        ),
        Column("cause", "string", "why it is held for that, in words"),
        Column(
            "caused_by",
            "string",
            "the incident that brought it about; null for none: somebody did it, or it is an accident",
        ),
        Column("broker_id", "int", "the broker it is about; null for none"),
        Column("began_at", "timestamp", "the last time at which its first witness still told otherwise", "UTC"),
        Column("first_sign_at", "timestamp", "when it was seen first: it began between these two", "UTC"),
        Column("first_sign", "string", "what was seen then"),
        Column("seen_at", "map<string,timestamp>", "when each of its signs was seen first", "UTC"),
        Column(
            "ended_at",
            "timestamp",
            "when its last sign was gone: back and in sync, all moved, all told; null while it lasts",
            "UTC",
        ),
        Column("topics", "array<string>", "the topics affected, sorted, the first hundred"),
        Column("topic_count", "int", "how many topics were affected", "topics"),
        Column("partition_count", "int", "how many partitions were affected", "partitions"),
        Column("under_replicated", "int", "partitions that lost a replica over it", "partitions"),
        Column("offline", "int", "partitions left without a leader", "partitions"),
        Column("electing", "int", "partitions that had no leader while one was elected", "partitions"),
        Column("leaders_moved", "int", "partitions that got another leader", "partitions"),
        Column("attributes", "map<string,string>", "what else is known, by kind"),
    ),
)

TOPICS = 100
"""How many names of topics a row carries."""


def incidents(signals: DataFrame) -> DataFrame:
    """Rows of `TABLE` from all signals since the oldest incident of interest."""
    return signals.groupBy("cluster_id").applyInArrow(_diagnose, TABLE.ddl)


def _diagnose(seen: pa.Table) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in ("at", "not_before"):
        micros = pc.cast(pc.cast(seen.column(name), pa.timestamp("us", "UTC")), pa.int64())
        seen = seen.set_column(seen.schema.get_field_index(name), name, micros)
    cluster_id = seen.column("cluster_id")[0].as_py()
    found = diagnose(
        Signal(
            kind=row["kind"],
            at=row["at"],
            not_before=row["not_before"],
            reported_by=row["reported_by"],
            broker=row["broker"],
            other=row["other"],
            topic=row["topic"],
            partitions=row["partitions"],
            topics=tuple(row["topics"] or ()),
            detail=dict(row["detail"] or ()),
        )
        for row in seen.select(
            [name for name in seen.column_names if name not in {"cluster_id", "date", "hour"}]
        ).to_pylist()
    )
    return pa.Table.from_pylist([_row(incident, cluster_id) for incident in found], schema=_arrow())


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
        "seen_at": sorted(incident.seen_at.items(), key=lambda sign: (sign[1], sign[0])),
        "ended_at": incident.ended_at,
        "topics": sorted(incident.topics)[:TOPICS],
        "topic_count": len(incident.topics),
        "partition_count": incident.partitions,
        "under_replicated": incident.under_replicated,
        "offline": incident.offline,
        "electing": incident.electing,
        "leaders_moved": incident.leaders_moved,
        "attributes": sorted(incident.attributes.items()),
    }


def _arrow() -> pa.Schema:
    import pyarrow as pa

    at = pa.timestamp("us", "UTC")
    types = {
        "string": pa.string(),
        "int": pa.int32(),
        "timestamp": at,
        "array<string>": pa.list_(pa.string()),
        "map<string,timestamp>": pa.map_(pa.string(), at),
        "map<string,string>": pa.map_(pa.string(), pa.string()),
    }
    return pa.schema([(column.name, types[column.type]) for column in TABLE.columns])
