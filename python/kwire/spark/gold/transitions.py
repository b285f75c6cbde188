"""Agreed states as a table: one row per state of a partition, with fields of the state before it.

`consensus` has the rules. This module runs them in the executors, on one group of topics of a cluster at a time.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f

from kwire.spark.gold.consensus import AgreedState, ObservationColumns, Role, Voters, fold_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame

GROUPS = 16
"""Number of groups of topics per cluster. An executor holds one group of one build window at a time."""

AGREED_TYPE = (
    "struct<first_reported_at:bigint,reported_by:int,reports:array<struct<broker_id:int,at:bigint>>,last_leader:int,"
    "adding:array<int>,electing:boolean,out_of_sync:array<int>,expanded:boolean,known:boolean,known_id:string>"
)

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

TYPES = {
    "cluster_id": "string",
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
}
SCHEMA = ", ".join(f"{name} {type}" for name, type in TYPES.items())
"""One row per agreed state of a partition; `present` is false where the partition is absent. Times are microseconds."""


def observations(partitions: DataFrame) -> DataFrame:
    """Return the rows of silver's `partitions` as input of `agreed_states`."""
    return partitions.select(
        "cluster_id",
        f.lit(int(Role.OBSERVATION)).alias("role"),
        f.unix_micros("at").alias("at"),
        "broker_id",
        *STATE,
        (f.col("change") == "set").alias("present"),
        f.lit(None).cast(AGREED_TYPE).alias("agreed"),
    )


def is_same_topic() -> Expression:
    """Return whether a state and the one before it are of one topic. A missing topic id equals any."""
    one_id = f.coalesce(f.col("topic_id") == f.col("was_topic_id"), f.lit(True))
    return f.col("present") & f.col("was_present") & one_id


def to_resume(transitions: DataFrame) -> DataFrame:
    """Return agreed states as input of `agreed_states` for the window that follows."""
    return transitions.select(
        "cluster_id",
        f.lit(int(Role.AGREED)).alias("role"),
        f.col("since").alias("at"),
        f.lit(-1).alias("broker_id"),
        *STATE,
        "present",
        f.struct(
            "first_reported_at",
            "reported_by",
            "reports",
            "last_leader",
            "adding",
            "electing",
            "out_of_sync",
            "expanded",
            "known",
            "known_id",
        )
        .cast(AGREED_TYPE)
        .alias("agreed"),
    )


def last_reports(observations: DataFrame) -> DataFrame:
    """Return each broker's last report about each partition."""
    last = f.max_by(f.struct(*observations.columns), f.struct("at", "present"))
    kept = observations.groupBy("cluster_id", "broker_id", "topic", "partition").agg(last.alias("last"))
    return kept.select("last.*").withColumn("role", f.lit(int(Role.LAST_REPORT)))


def agreed_states(observations: DataFrame, periods: DataFrame) -> DataFrame:
    """Return the agreed states of each partition (`SCHEMA`).

    Args:
        observations: the changes in the window and, for a window that continues an earlier one, the last reports and
            the agreed states before it.
        periods: the voting periods of the brokers.
    """
    group = f.pmod(f.xxhash64("topic"), f.lit(GROUPS)).cast("int")
    # xxhash64 concatenates the elements of arrays. Without the sizes, ISR [1, 2] with replica 3 offline would have the
    # hash of ISR [1, 2, 3].
    lists = [f.col("replicas"), f.sort_array("isr"), f.sort_array("offline")]
    sized = [part for values in lists for part in (f.size(values), values)]
    state = f.xxhash64("leader", "leader_epoch", "error_code", *sized)
    # All absences are equal, whatever the state before.
    fingerprint = f.when(f.col("present"), state).otherwise(0)
    left = observations.withColumn("fingerprint", fingerprint).withColumn("group", group)
    right = periods.withColumn("group", f.explode(f.sequence(f.lit(0), f.lit(GROUPS - 1))))
    grouped = left.groupBy("cluster_id", "group").cogroup(right.groupBy("cluster_id", "group"))
    return grouped.applyInArrow(_fold_group, SCHEMA)


class _Lists:
    """A column of lists; a Python list is created only for the rows that are read."""

    __slots__ = ("offsets", "values")

    def __init__(self, column: pa.ChunkedArray) -> None:
        lists = column.combine_chunks()
        self.offsets: list[int] = lists.offsets.to_pylist()
        self.values: list[int] = lists.values.to_pylist()

    def __getitem__(self, row: int) -> list[int]:
        return self.values[self.offsets[row] : self.offsets[row + 1]]


class _AgreedStates:
    """The column of agreed states to resume from."""

    __slots__ = ("at", "column", "topic_id")

    def __init__(self, rows: pa.Table) -> None:
        self.at = rows.column("at")
        self.column = rows.column("agreed")
        self.topic_id = rows.column("topic_id")

    def __getitem__(self, row: int) -> AgreedState:
        agreed = self.column[row].as_py()
        last_leader = agreed["last_leader"]
        return AgreedState(
            row,
            self.at[row].as_py(),
            first_reported_at=agreed["first_reported_at"],
            reported_by=agreed["reported_by"],
            reports=[(report["broker_id"], report["at"]) for report in agreed["reports"]],
            last_leader=last_leader,
            previous_leader=last_leader,
            topic_id=self.topic_id[row].as_py(),
            adding=tuple(agreed["adding"]),
            electing=agreed["electing"],
            out_of_sync=tuple(agreed["out_of_sync"]),
            expanded=agreed["expanded"],
            known=agreed["known"],
            known_id=agreed["known_id"],
            carried=True,
        )


def _fold_group(rows: pa.Table, periods: pa.Table) -> pa.Table:
    schema = _arrow_schema()
    if rows.num_rows == 0:
        return schema.empty_table()
    order = ("topic", "partition", "role", "at", "broker_id", "present")
    rows = rows.sort_by([(name, "ascending") for name in order])
    end = max(periods.column("end").to_pylist(), default=rows.column("at").to_pylist()[-1])
    bounds = (periods.column(name).to_pylist() for name in ("broker_id", "start", "stop"))
    states = fold_partitions(_columns(rows), Voters(zip(*bounds, strict=True), end), end)
    return _to_arrow(states, rows, schema)


def _columns(rows: pa.Table) -> ObservationColumns:
    return ObservationColumns(
        topic=rows.column("topic").to_pylist(),
        partition=rows.column("partition").to_pylist(),
        role=rows.column("role").to_pylist(),
        at=rows.column("at").to_pylist(),
        broker_id=rows.column("broker_id").to_pylist(),
        present=rows.column("present").to_pylist(),
        topic_id=rows.column("topic_id").to_pylist(),
        leader=rows.column("leader").to_pylist(),
        epoch=rows.column("leader_epoch").to_pylist(),
        replicas=_Lists(rows.column("replicas")),
        isr=_Lists(rows.column("isr")),
        offline=_Lists(rows.column("offline")),
        fingerprint=rows.column("fingerprint").to_pylist(),
        agreed=_AgreedStates(rows),
    )


def _to_arrow(states: Sequence[AgreedState], rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the states as a table: columns of the reported state are taken from the input by row number."""
    import pyarrow as pa

    now = rows.take(pa.array([state.row for state in states], pa.int64()))
    previous = [state.previous_row if state.previous_row >= 0 else None for state in states]
    before = rows.take(pa.array(previous, pa.int64()))
    columns: dict[str, Any] = {}
    for name in schema.names:
        if name in _COLUMNS_BEFORE:
            columns[name] = before.column(_COLUMNS_BEFORE[name])
        elif name == "reports":
            columns[name] = _reports(states)
        elif name in _ATTRIBUTES:
            columns[name] = pa.array([getattr(state, name) for state in states], schema.field(name).type)
        else:
            columns[name] = now.column(name)
    return pa.table(columns).select(schema.names).cast(schema)


def _reports(states: Sequence[AgreedState]) -> pa.Array:
    import pyarrow as pa

    offsets = [0, *accumulate(len(state.reports) for state in states)]
    brokers = pa.array([broker for state in states for broker, _ in state.reports], pa.int32())
    times = pa.array([at for state in states for _, at in state.reports], pa.int64())
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([brokers, times], ["broker_id", "at"]))


def _arrow_schema() -> pa.Schema:
    import pyarrow as pa

    types = {
        "string": pa.string(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "boolean": pa.bool_(),
        "array<int>": pa.list_(pa.int32()),
        REPORTS_TYPE: pa.list_(pa.struct([("broker_id", pa.int32()), ("at", pa.int64())])),
    }
    return pa.schema([(name, types[type]) for name, type in TYPES.items()])


_COLUMNS_BEFORE = {
    "was_present": "present",
    "was_leader": "leader",
    "was_epoch": "leader_epoch",
    "was_replicas": "replicas",
    "was_isr": "isr",
    "was_offline": "offline",
}
"""Columns of the state before, by the input column that they come from."""

_ATTRIBUTES = frozenset(
    {
        "topic_id",
        "was_topic_id",
        "since",
        "until",
        "first_reported_at",
        "reported_by",
        "last_leader",
        "previous_leader",
        "adding",
        "was_adding",
        "electing",
        "was_electing",
        "out_of_sync",
        "was_out_of_sync",
        "expanded",
        "was_expanded",
        "known",
        "known_id",
        "was_known",
        "was_known_id",
        "carried",
    }
)
"""Columns that are attributes of `AgreedState`."""
