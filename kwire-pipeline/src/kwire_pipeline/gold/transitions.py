"""Agreed states as a table: one row per state of a partition, with fields of the state before it.

`consensus` has the rules, and `fold_task` runs them in the executors, on one group of topics of a cluster at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.consensus import Role
from kwire_pipeline.in_process import select, with_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


FILED_AT = "filed_at"
"""A column with the time under which a row is stored: events are stored under the hour in which the brokers agreed."""

GROUPS = 16
"""Number of groups of topics per cluster. An executor holds one group of one build window at a time."""

CLUSTER_GROUPS = 16
"""Number of groups of clusters. A bucket is a group of topics of a group of clusters."""

REPORTS_TYPE = "array<struct<broker_id:int,at:bigint>>"

STATE = {
    "topic": "string",
    "topic_id": "string",
    "partition": "int",
    "leader": "int",
    "leader_epoch": "int",
    "replicas": "array<int>",
    "isr": "array<int>",
    "offline": "array<int>",
    "error_code": "int",
}

RESUMED = {
    "first_reported_at": "bigint",
    "reported_by": "int",
    "reports": REPORTS_TYPE,
    "last_leader": "int",
    "adding": "array<int>",
    "electing": "boolean",
    "out_of_sync": "array<int>",
    "expanded": "boolean",
    "known": "boolean",
    "known_id": "string",
}
"""Columns with which an incremental fold resumes; null in report rows."""

INPUT = {
    "cluster_id": "string",
    "role": "int",
    "at": "bigint",
    "broker_id": "int",
    **STATE,
    "present": "boolean",
    **RESUMED,
    "fingerprint": "bigint",
    "key": "bigint",
    "differ": "boolean",
}
"""Reports of brokers and agreed states. `key` is a hash of topic and partition; `differ` is set in kept reports.

`differ` says whether the last reports about the partition differ: then a change of the voters can change its state.
"""

TYPES = {
    "cluster_id": "string",
    "role": "int",
    "broker_id": "int",
    **STATE,
    "present": "boolean",
    "since": "bigint",
    "until": "bigint",
    "first_reported_at": "bigint",
    "reported_by": "int",
    "reports": REPORTS_TYPE,
    "last_leader": "int",
    "previous_leader": "int",
    "adding": "array<int>",
    "was_adding": "array<int>",
    "electing": "boolean",
    "was_electing": "boolean",
    "out_of_sync": "array<int>",
    "was_out_of_sync": "array<int>",
    "expanded": "boolean",
    "was_expanded": "boolean",
    "known": "boolean",
    "known_id": "string",
    "was_known": "boolean",
    "was_known_id": "string",
    "carried": "boolean",
    "was_present": "boolean",
    "was_topic_id": "string",
    "was_leader": "int",
    "was_epoch": "int",
    "was_replicas": "array<int>",
    "was_isr": "array<int>",
    "was_offline": "array<int>",
    "partitions_before": "bigint",
    "was_partitions_before": "bigint",
    "fingerprint": "bigint",
    "key": "bigint",
    "differ": "boolean",
}
"""The result of a fold. Times are microseconds; `present` is false where the partition is absent.

Rows with `Role.AGREED` are the agreed states of the partitions that were folded. `partitions_before` is the number of
partitions of the topic id before the window, `was_partitions_before` the number for the previous topic id; null for
none. Rows with other roles are kept for later windows: `Role.LAST_REPORT`, and `Role.UNCHANGED` for partitions that
were not folded.
"""


def ddl(types: dict[str, str]) -> str:
    """Return columns as Spark's DDL."""
    return ", ".join(f"`{name}` {type}" for name, type in types.items())


FINGERPRINT = (
    "leader, leader_epoch, error_code, size(replicas), replicas,"
    " size(isr), sort_array(isr), size(offline), sort_array(offline)"
)
"""Arguments of the hash of a reported state. `xxhash64` concatenates the elements of arrays: without the sizes, ISR
[1, 2] with replica 3 offline would have the hash of ISR [1, 2, 3]."""


def observations(partitions: DataFrame) -> DataFrame:
    """Return the rows of silver's `partitions` as input of `fold` (`INPUT`)."""
    # All absences are equal, whatever the state before.
    return _input(
        select(
            partitions,
            f"""cluster_id, {int(Role.OBSERVATION)} AS role, unix_micros(at) AS at, broker_id, {", ".join(STATE)},
            change = 'set' AS present, CASE WHEN change = 'set' THEN xxhash64({FINGERPRINT}) ELSE 0 END AS fingerprint,
            xxhash64(topic, partition) AS key""",
        )
    )


def changed_topics(topics: DataFrame) -> DataFrame:
    """Return topics (`cluster_id`, `topic`) as input of `fold`, so that all their partitions are folded."""
    return _input(select(topics, f"*, {int(Role.TOPIC)} AS role, 0 AS at"))


def _input(rows: DataFrame) -> DataFrame:
    present_columns = set(rows.columns)
    return rows.selectExpr(
        *(f"CAST({name if name in present_columns else 'NULL'} AS {type}) AS {name}" for name, type in INPUT.items())
    )


FIRST_BUCKET = f"CAST(pmod(xxhash64(cluster_id), {CLUSTER_GROUPS}) * {GROUPS} AS int)"
"""The first bucket of a row's cluster."""

BUCKET_OF_TOPIC = f"CAST({FIRST_BUCKET} + pmod(xxhash64(topic), {GROUPS}) AS int)"
"""The bucket of a row, from its cluster and topic."""

IS_SAME_TOPIC = "(present AND was_present AND coalesce(topic_id = was_topic_id, true))"
"""True if a state and the one before it are of one topic. A missing topic id equals any."""


def to_keep(folded: DataFrame, as_of: int) -> DataFrame:
    """Return the rows that later windows need (`INPUT`), from the result of a `fold` with that `as_of`."""
    rows = folded.where(f"role <> {int(Role.AGREED)} OR (since < {as_of} AND (until IS NULL OR until >= {as_of}))")
    rows = with_columns(
        rows,
        role=f"CASE WHEN role = {int(Role.UNCHANGED)} THEN {int(Role.AGREED)} ELSE role END",
        at="since",
        reports=f"filter(reports, report -> report.at < {as_of})",
    )
    return rows.select(*INPUT)


def last_reports(observations: DataFrame) -> DataFrame:
    """Return each broker's last report about each partition."""
    numbered = select(
        observations,
        """*, row_number() OVER (
            PARTITION BY cluster_id, broker_id, topic, partition ORDER BY at DESC, present DESC
        ) AS newness""",
    )
    return numbered.where("newness = 1").drop("newness")
