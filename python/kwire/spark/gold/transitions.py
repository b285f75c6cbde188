"""Silver's partitions, told by many, made one history: every state that was believed, with the one before it.

The rules are in `belief`; here they are run in the executors, a group of topics of a cluster at a time.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f

from kwire.spark.gold.consensus import CARRIED, VIEW, WORD, Belief, Electorate, Rows, believe

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

GROUPS = 16
"""Into how many groups the topics of a cluster are cut: what one executor holds at once is a group's day."""

CARRY = (
    "struct<first_reported_at:bigint,reported_by:int,reports:array<struct<broker_id:int,at:bigint>>,last_leader:int,"
    "adding:array<int>,electing:boolean,ailing:array<int>,grown:boolean,known:boolean,known_id:string>"
)

TOLD = "array<struct<broker_id:int,at:bigint>>"

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
    "reports": TOLD,
    "last_leader": "int",
    "previous_leader": "int",
    "adding": "array<int>",
    "was_adding": "array<int>",
    "electing": "boolean",
    "was_electing": "boolean",
    "ailing": "array<int>",
    "was_ailing": "array<int>",
    "grown": "boolean",
    "was_grown": "boolean",
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
"""One row a state that was believed of a partition (``present``) or its absence (not); times in microseconds."""


def words(partitions: DataFrame) -> DataFrame:
    """Rows of silver's `partitions`, each with its fingerprint."""
    return partitions.select(
        "cluster_id",
        f.lit(WORD).alias("role"),
        f.unix_micros("at").alias("at"),
        "broker_id",
        *STATE,
        (f.col("change") == "set").alias("present"),
        f.lit(None).cast(CARRY).alias("carry"),
    )


def carried(transitions: DataFrame) -> DataFrame:
    """The last rows of an earlier walk, as its continuation wants them."""
    return transitions.select(
        "cluster_id",
        f.lit(CARRIED).alias("role"),
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
            "ailing",
            "grown",
            "known",
            "known_id",
        )
        .cast(CARRY)
        .alias("carry"),
    )


def views(words: DataFrame) -> DataFrame:
    """What each broker told last of each partition."""
    last = f.max_by(f.struct(*words.columns), f.struct("at", "present"))
    kept = words.groupBy("cluster_id", "broker_id", "topic", "partition").agg(last.alias("last")).select("last.*")
    return kept.withColumn("role", f.lit(VIEW))


def walk(words: DataFrame, periods: DataFrame) -> DataFrame:
    """The history of each partition (`SCHEMA`) from words, views and carried states."""
    group = f.pmod(f.xxhash64("topic"), f.lit(GROUPS)).cast("int")
    # Spark hashes the elements of arrays one after the other: without their sizes, ISR [1, 2] with replica 3 offline
    # would be the same as ISR [1, 2, 3].
    lists = [f.col("replicas"), f.sort_array("isr"), f.sort_array("offline")]
    sized = [part for values in lists for part in (f.size(values), values)]
    state = f.xxhash64("topic_id", "leader", "leader_epoch", "error_code", *sized)
    # An absence is an absence, whatever was there before.
    left = words.withColumn("state", f.when(f.col("present"), state).otherwise(0)).withColumn("group", group)
    right = periods.withColumn("group", f.explode(f.sequence(f.lit(0), f.lit(GROUPS - 1))))
    grouped = left.groupBy("cluster_id", "group").cogroup(right.groupBy("cluster_id", "group"))
    return grouped.applyInArrow(_walk_group, SCHEMA)


class _Lists:
    """A column of lists, each made a Python list only when it is looked at."""

    __slots__ = ("offsets", "values")

    def __init__(self, column: pa.ChunkedArray) -> None:
        lists = column.combine_chunks()
        self.offsets: list[int] = lists.offsets.to_pylist()
        self.values: list[int] = lists.values.to_pylist()

    def __getitem__(self, row: int) -> list[int]:
        return self.values[self.offsets[row] : self.offsets[row + 1]]


def _walk_group(told: pa.Table, answering: pa.Table) -> pa.Table:
    import pyarrow as pa

    of = {
        "string": pa.string(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "boolean": pa.bool_(),
        "array<int>": pa.list_(pa.int32()),
        TOLD: pa.list_(pa.struct([("broker_id", pa.int32()), ("at", pa.int64())])),
    }
    schema = pa.schema([(name, of[type]) for name, type in TYPES.items()])
    if told.num_rows == 0:
        return schema.empty_table()
    told = told.sort_by([(name, "ascending") for name in ("topic", "partition", "role", "at", "broker_id", "present")])
    ends = answering.column("end").to_pylist()
    end = max(ends, default=told.column("at").to_pylist()[-1])
    electorate = Electorate(
        zip(*(answering.column(name).to_pylist() for name in ("broker_id", "start", "stop")), strict=True), end
    )
    rows = Rows(
        topic=told.column("topic").to_pylist(),
        partition=told.column("partition").to_pylist(),
        role=told.column("role").to_pylist(),
        at=told.column("at").to_pylist(),
        broker_id=told.column("broker_id").to_pylist(),
        present=told.column("present").to_pylist(),
        topic_id=told.column("topic_id").to_pylist(),
        leader=told.column("leader").to_pylist(),
        epoch=told.column("leader_epoch").to_pylist(),
        replicas=_Lists(told.column("replicas")),
        isr=_Lists(told.column("isr")),
        offline=_Lists(told.column("offline")),
        state=told.column("state").to_pylist(),
        carried=_Carried(told),
    )
    beliefs = believe(rows, electorate, end)
    now = told.take(pa.array([belief.row for belief in beliefs], pa.int64()))
    before = told.take(pa.array([belief.before if belief.before >= 0 else None for belief in beliefs], pa.int64()))
    columns: dict[str, Any] = {}
    for name in schema.names:
        if name.startswith("was_") and (kept := _WAS.get(name)) is not None:
            columns[name] = before.column(kept)
        elif name == "reports":
            columns[name] = _told(beliefs)
        elif name in _OF_BELIEF:
            columns[name] = pa.array(_OF_BELIEF[name](beliefs), schema.field(name).type)
        else:
            columns[name] = now.column(name)
    return pa.table(columns).select(schema.names).cast(schema)


_WAS = {
    "was_present": "present",
    "was_topic_id": "topic_id",
    "was_leader": "leader",
    "was_epoch": "leader_epoch",
    "was_replicas": "replicas",
    "was_isr": "isr",
    "was_offline": "offline",
}

_ATTRIBUTES = [
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
    "ailing",
    "was_ailing",
    "grown",
    "was_grown",
    "known",
    "known_id",
    "was_known",
    "was_known_id",
    "carried",
]

_OF_BELIEF: dict[str, Any] = {
    name: (lambda beliefs, name=name: [getattr(belief, name) for belief in beliefs]) for name in _ATTRIBUTES
}


def _told(beliefs: Sequence[Belief]) -> pa.Array:
    import pyarrow as pa

    offsets = [0, *accumulate(len(belief.told) for belief in beliefs)]
    brokers = pa.array([broker for belief in beliefs for broker, _ in belief.told], pa.int32())
    times = pa.array([at for belief in beliefs for _, at in belief.told], pa.int64())
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([brokers, times], ["broker_id", "at"]))


class _Carried:
    """The beliefs in the rows that carry one."""

    __slots__ = ("at", "carry")

    def __init__(self, told: pa.Table) -> None:
        self.at = told.column("at")
        self.carry = told.column("carry")

    def __getitem__(self, row: int) -> Belief:
        carry = self.carry[row].as_py()
        last_leader = carry["last_leader"]
        return Belief(
            row,
            self.at[row].as_py(),
            first_reported_at=carry["first_reported_at"],
            reported_by=carry["reported_by"],
            told=[(telling["broker_id"], telling["at"]) for telling in carry["reports"]],
            last_leader=last_leader,
            previous_leader=last_leader,
            adding=tuple(carry["adding"]),
            electing=carry["electing"],
            ailing=tuple(carry["ailing"]),
            grown=carry["grown"],
            known=carry["known"],
            known_id=carry["known_id"],
            carried=True,
        )
