"""The fold in the executors: from reports of brokers and earlier agreed states to new agreed states.

`consensus` has the rules for one partition. This module decides which partitions are folded, with what they continue,
and what is kept for later windows. A task has one bucket: a group of topics of one cluster.

**Rows.** All rows have the columns of `transitions.INPUT`; their role says what they are:

| role | from | meaning |
|---|---|---|
| `AGREED` | savepoint | the agreed state of a partition when the window begins |
| `LAST_REPORT` | savepoint | the last report of one broker about a partition before the window |
| `OBSERVATION` | silver | a change that a broker reports in the window |
| `TOPIC` | silver's configs | a topic with a changed config |
| `UNCHANGED` | output only | the agreed state of a partition that was not folded |

**The saved rows** of an hour are those of the first savepoint of that day and of all later ones up to the hour. The
first one has all partitions, in one file per bucket, which the task reads itself, with filters; the later ones have the
partitions that changed, and come as rows with their hour in `as_of`. For each broker and partition the newest row
counts (`_newest`).

**Which partitions are folded.** A partition is folded if

1. a broker reports a change of it in the window, or
2. its last reports differ (`differ`): then a change of the voters alone may change its state, or
3. a config of its topic changed, since `intervals` has columns from configs, or
4. everything is built again.

The agreed state of any other partition cannot change: all brokers report the same, so every vote has the same result.
Of these partitions only the columns `key` and `differ` are read.

**Invariants.**

- A folded partition has all its rows in the task: its agreed state, the last report of every broker, and its changes.
- The result of folding window after window equals folding all of them at once. Therefore a state that continues from
  before the window is in the result again (`carried`), and events are derived only from states that are not carried.
- Reports at or after `as_of` are not kept: the next window starts there and reads them from silver.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_pipeline.gold.consensus import NEVER, AgreedState, ObservationColumns, Role, Voters, fold_partitions
from kwire_pipeline.gold.transitions import BUCKET_OF_TOPIC, FIRST_BUCKET, GROUPS, INPUT, TYPES, ddl
from kwire_pipeline.in_process import select
from kwire_pipeline.tables import ddl_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from kwire.storage.location import Location


class FoldTask(NamedTuple):
    """Folds one bucket of a cluster.

    Attributes:
        location: the folder of the store.
        first_saved: the files of the first savepoint of the day, by bucket, relative to `location`.
        everything: True to fold all partitions.
        as_of: the time of the savepoint, in microseconds; None writes none.
        keeps_all: True to save all partitions; otherwise only folded ones are saved.
    """

    location: Location
    first_saved: dict[int, list[str]]
    everything: bool
    as_of: int | None
    keeps_all: bool

    def run(self, key: tuple[pa.Scalar, ...], rows: pa.Table, periods: pa.Table) -> pa.Table:
        """Fold a bucket."""
        import pyarrow as pa
        import pyarrow.compute as pc

        cluster_id, bucket = (part.as_py() for part in key)
        if rows.num_rows == 0 and bucket not in self.first_saved:
            return _schema(TYPES).empty_table()  # most buckets of a small cluster have no topic
        role = rows["role"]
        changed = rows.filter(pc.equal(role, int(Role.OBSERVATION)))
        topics = rows.filter(pc.equal(role, int(Role.TOPIC)))["topic"]
        later = rows.filter(pc.less(role, int(Role.OBSERVATION)))

        # 1. Select the partitions, by key. The first savepoint of the day is large: unless all of it is needed anyway,
        #    read only the keys whose reports differ, and the rest only if any partition is folded.
        reads_all = self.everything or self.keeps_all or len(topics) > 0
        first = self._first_saved(cluster_id, bucket) if reads_all else None
        selected = [changed["key"], later.filter(later["differ"])["key"], self._differing(cluster_id, bucket, first)]
        keys = pa.chunked_array([chunk for column in selected for chunk in column.chunks], pa.int64()).unique()
        if first is None and len(keys):
            first = self._first_saved(cluster_id, bucket)
        if first is None:
            return _schema(TYPES).empty_table()

        # 2. Divide the saved rows into partitions to fold and the rest.
        saved = _newest(pa.concat_tables([first, _selected(later, [*INPUT, "as_of"])]))
        is_folded = pc.or_(pc.is_in(saved["key"], keys), pc.is_in(saved["topic"], topics.combine_chunks()))
        if self.everything:
            folded, rest = saved, saved.slice(0, 0)
        else:
            folded, rest = saved.filter(is_folded), saved.filter(pc.invert(is_folded))

        # 3. Fold. `fold_partitions` expects the rows of a partition together, by role and then by time. A broker that
        #    reports a recreated topic reports the old one as absent (`present` false) first.
        folded = pa.concat_tables([folded, _selected(changed, [*INPUT])]).sort_by(
            [(name, "ascending") for name in ("topic", "partition", "role", "at", "broker_id", "present")]
        )
        states = self._fold(folded, periods)

        # 4. Return the agreed states and, at the end of a complete hour, what later windows continue from.
        parts = [_agreed(states, folded, _partitions_before(states, folded, rest))]
        if self.as_of is not None:
            parts.append(_reports_to_keep(folded, self.as_of))
            if self.keeps_all:
                parts.append(_unchanged(rest))
        return pa.concat_tables(parts)

    def _fold(self, rows: pa.Table, periods: pa.Table) -> list[AgreedState]:
        times = rows["at"].to_pylist()
        end = max(periods["end"].to_pylist(), default=max(times, default=0))
        voted_until = max((at for at in periods["voted_until"].to_pylist() if at is not None), default=NEVER)
        bounds = (periods[name].to_pylist() for name in ("broker_id", "start", "stop"))
        return fold_partitions(_columns(rows), Voters(zip(*bounds, strict=True), end, voted_until), end)

    def _first_saved(self, cluster_id: str, bucket: int) -> pa.Table:
        """Return the rows of the first savepoint of the day, with an empty column `as_of`."""
        import pyarrow as pa

        schema = _schema(INPUT)
        tables = self._read(cluster_id, bucket, schema.names, [])
        rows = pa.concat_tables([schema.empty_table(), *(table.cast(schema) for table in tables)])
        return rows.append_column("as_of", pa.repeat("", rows.num_rows))

    def _differing(self, cluster_id: str, bucket: int, first: pa.Table | None) -> pa.ChunkedArray:
        """Return the keys of partitions about which the reports in the first savepoint differ."""
        import pyarrow as pa

        if first is not None:
            return first.filter(first["differ"])["key"]
        tables = self._read(cluster_id, bucket, ["key"], [("differ", "=", True)])
        return pa.chunked_array([chunk for table in tables for chunk in table["key"].chunks], pa.int64())

    def _read(
        self, cluster_id: str, bucket: int, columns: list[str], also: list[tuple[str, str, Any]]
    ) -> list[pa.Table]:
        import pyarrow.parquet as pq

        paths = self.first_saved.get(bucket, ())
        files = self.location.files() if paths else None
        filters = [("cluster_id", "=", cluster_id), *also]
        return [
            pq.read_table(path, columns=columns, filters=filters, filesystem=files, partitioning=None) for path in paths
        ]


def _newest(rows: pa.Table) -> pa.Table:
    """Return the newest of several states of the same partitions: one agreed state, and one report of each broker."""
    import pyarrow as pa

    if rows.num_rows == 0:
        return rows.drop_columns(["as_of"])
    # Agreed states have no broker. A broker reports a partition that is replaced as absent and present at one time.
    order = rows.sort_by([("as_of", "ascending"), ("at", "ascending"), ("present", "ascending")])
    order = order.append_column("row", pa.array(range(order.num_rows), pa.int64()))
    last = order.group_by(["role", "broker_id", "topic", "partition"], use_threads=False).aggregate([("row", "max")])
    return order.take(last["row_max"]).drop_columns(["row", "as_of"])


def _selected(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    schema = _schema({name: INPUT.get(name, "string") for name in names})
    return rows.select(list(names)).cast(schema) if rows.num_rows else pa.Table.from_batches([], schema)


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
    """The agreed states to resume from."""

    __slots__ = ("rows",)

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows

    def __getitem__(self, row: int) -> AgreedState:
        [agreed] = self.rows.slice(row, 1).to_pylist()
        last_leader = agreed["last_leader"]
        return AgreedState(
            row,
            agreed["at"],
            first_reported_at=agreed["first_reported_at"],
            reported_by=agreed["reported_by"],
            reports=[(report["broker_id"], report["at"]) for report in agreed["reports"]],
            last_leader=last_leader,
            previous_leader=last_leader,
            topic_id=agreed["topic_id"],
            adding=tuple(agreed["adding"]),
            electing=agreed["electing"],
            out_of_sync=tuple(agreed["out_of_sync"]),
            expanded=agreed["expanded"],
            known=agreed["known"],
            known_id=agreed["known_id"],
            carried=True,
        )


def _columns(rows: pa.Table) -> ObservationColumns:
    return ObservationColumns(
        topic=rows["topic"].to_pylist(),
        partition=rows["partition"].to_pylist(),
        role=rows["role"].to_pylist(),
        at=rows["at"].to_pylist(),
        broker_id=rows["broker_id"].to_pylist(),
        present=rows["present"].to_pylist(),
        topic_id=rows["topic_id"].to_pylist(),
        leader=rows["leader"].to_pylist(),
        epoch=rows["leader_epoch"].to_pylist(),
        replicas=_Lists(rows["replicas"]),
        isr=_Lists(rows["isr"]),
        offline=_Lists(rows["offline"]),
        fingerprint=rows["fingerprint"].to_pylist(),
        agreed=_AgreedStates(rows),
    )


def _partitions_before(states: list[AgreedState], folded: pa.Table, rest: pa.Table) -> Counter[tuple[str, str]]:
    """Return the number of partitions before the window by topic and topic id, of the topics that were folded."""
    import pyarrow.compute as pc

    topics, present = folded["topic"], folded["present"]
    counts: Counter[tuple[str, str]] = Counter(
        (topics[state.row].as_py(), state.topic_id)
        for state in states
        if state.carried and state.topic_id is not None and present[state.row].as_py()
    )
    of_topics = pc.is_in(rest["topic"], topics.unique())
    others = rest.filter(pc.and_(of_topics, pc.and_(pc.equal(rest["role"], int(Role.AGREED)), rest["present"])))
    summed = others.select(["topic", "topic_id"]).group_by(["topic", "topic_id"], use_threads=False)
    for row in summed.aggregate([([], "count_all")]).to_pylist():
        if row["topic_id"] is not None:
            counts[row["topic"], row["topic_id"]] += row["count_all"]
    return counts


def _agreed(states: Sequence[AgreedState], rows: pa.Table, before: Counter[tuple[str, str]]) -> pa.Table:
    """Return the states as a table: columns of the reported state are taken from the input by row number."""
    import pyarrow as pa

    schema = _schema(TYPES)
    now = rows.take(pa.array([state.row for state in states], pa.int64()))
    previous = [state.previous_row if state.previous_row >= 0 else None for state in states]
    earlier = rows.take(pa.array(previous, pa.int64()))
    topics = now["topic"].to_pylist()
    columns: dict[str, Any] = {
        "role": pa.array([int(Role.AGREED)] * len(states), pa.int32()),
        "broker_id": pa.array([-1] * len(states), pa.int32()),
        "reports": _reports(states),
        "differ": pa.array([False] * len(states), pa.bool_()),
    }
    for name, attribute in (("partitions_before", "topic_id"), ("was_partitions_before", "was_topic_id")):
        ids = (getattr(state, attribute) for state in states)
        counts = [before.get((topic, id)) for topic, id in zip(topics, ids, strict=True)]
        columns[name] = pa.array(counts, pa.int64())
    for name in schema.names:
        if name in columns:
            continue
        if name in _COLUMNS_BEFORE:
            columns[name] = earlier[_COLUMNS_BEFORE[name]]
        elif name in _ATTRIBUTES:
            columns[name] = pa.array([getattr(state, name) for state in states], schema.field(name).type)
        else:
            columns[name] = now[name]
    return pa.table(columns).select(schema.names).cast(schema)


def _reports(states: Sequence[AgreedState]) -> pa.Array:
    import pyarrow as pa

    offsets = [0, *accumulate(len(state.reports) for state in states)]
    brokers = pa.array([broker for state in states for broker, _ in state.reports], pa.int32())
    times = pa.array([at for state in states for _, at in state.reports], pa.int64())
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([brokers, times], ["broker_id", "at"]))


def _reports_to_keep(rows: pa.Table, as_of: int) -> pa.Table:
    """Return the last report of each broker before a time, with `differ` set where they contradict one another."""
    import pyarrow as pa
    import pyarrow.compute as pc

    role = rows["role"]
    of_brokers = pc.or_(pc.equal(role, int(Role.LAST_REPORT)), pc.equal(role, int(Role.OBSERVATION)))
    reports = rows.filter(pc.and_(of_brokers, pc.less(rows["at"], as_of)))
    if reports.num_rows == 0:
        return _schema(TYPES).empty_table()
    kept = pa.array([int(Role.LAST_REPORT)] * reports.num_rows, pa.int32())
    reports = reports.set_column(reports.schema.get_field_index("role"), "role", kept)
    last = _newest(reports.append_column("as_of", pa.repeat("", reports.num_rows)))
    summed = last.group_by(["key"], use_threads=False).aggregate(
        [("fingerprint", "count_distinct"), ("topic_id", "count_distinct")]
    )
    several = pc.or_(
        pc.greater(summed["fingerprint_count_distinct"], 1), pc.greater(summed["topic_id_count_distinct"], 1)
    )
    differ = pc.is_in(last["key"], summed.filter(several)["key"].combine_chunks())
    return _as_result(last.set_column(last.schema.get_field_index("differ"), "differ", differ))


def _unchanged(rest: pa.Table) -> pa.Table:
    """Return the rows of partitions that were not folded, as rows to keep."""
    import pyarrow as pa
    import pyarrow.compute as pc

    agreed = pc.equal(rest["role"], int(Role.AGREED))
    role = pc.if_else(agreed, pa.scalar(int(Role.UNCHANGED), pa.int32()), rest["role"])
    return _as_result(rest.set_column(rest.schema.get_field_index("role"), "role", role))


def _as_result(rows: pa.Table) -> pa.Table:
    """Return rows of `INPUT` as rows of `TYPES`."""
    import pyarrow as pa

    schema = _schema(TYPES)
    columns = {name: rows[name] for name in rows.column_names if name in TYPES} | {"since": rows["at"]}
    nulls = {field.name: pa.nulls(rows.num_rows, field.type) for field in schema if field.name not in columns}
    return pa.table(columns | nulls).select(schema.names).cast(schema)


def _schema(types: dict[str, str]) -> pa.Schema:
    return ddl_schema(ddl(types))


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


def fold(rows: DataFrame, periods: DataFrame, task: FoldTask) -> DataFrame:
    """Return the agreed states of the partitions that changed, and the rows to save (`TYPES`).

    Args:
        rows: the changes in the window, and the rows that were saved before it after the first savepoint of that day,
            with the columns of `INPUT` and the time `as_of` of the savepoints.
        periods: the voting periods of the brokers.
        task: reads the first savepoint of the day, and folds.
    """
    left = select(rows, f"*, {BUCKET_OF_TOPIC} AS bucket")
    right = select(periods, f"*, explode(sequence({FIRST_BUCKET}, {FIRST_BUCKET} + {GROUPS - 1})) AS bucket")
    grouped = left.groupBy("cluster_id", "bucket").cogroup(right.groupBy("cluster_id", "bucket"))
    return grouped.applyInArrow(
        lambda key, rows, periods: task.run(key, rows, periods),  # noqa: PLW0108  # Spark takes the `self` of a method for an argument
        ddl(TYPES),
    )
