"""`consumer_lag`: how far groups are behind the ends of the logs that they read, and the signals of stalled groups.

A group stalls on a partition if the log grows and the committed offset does not (`partition_lag`). Groups without
members count only if a commit of them was observed: others are abandoned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.gold import days
from kwire_pipeline.gold.diagnosis.signal import SignalKind
from kwire_pipeline.gold.partition_lag import Event, LagSample, PartitionLagHistory
from kwire_pipeline.gold.signals import signals_of
from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.in_process import aggregate, broadcast, select
from kwire_pipeline.tables import Column, ddl_schema

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from kwire_pipeline.gold.view import GoldBuild

TABLE = GoldTable(
    "consumer_lag",
    "The lag of groups by minute; in a minute without a row it equals the last row's.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("at", "timestamp", "the beginning of the minute", "UTC"),
        Column("group", "string", "the group's id"),
        Column("topic", "string", "the topic's name"),
        Column("partition", "int", "the partition's number, from 0"),
        Column("committed_offset", "bigint", "the last committed offset in the minute"),
        Column("log_end", "bigint", "the end of the log then"),
        Column("lag", "bigint", "the lag then", "records"),
        Column("max_lag", "bigint", "the largest lag in the minute", "records"),
        Column(
            "time_lag",
            "double",
            "how old the next record of the group was then, estimated from the growth of the log; null if it is "
            "older than the known log ends",
            "seconds",
        ),
    ),
)

SAVED = "group_lag"
"""The part of savepoints with the events from which the fold continues."""

_EVENTS = (
    "cluster_id string, topic string, partition int, at_us bigint, broker_id int, `group` string, `offset` bigint, "
    "gone boolean"
)
_FOLDED = (
    f"output string, {_EVENTS}, log_end bigint, lag bigint, time_lag bigint, not_before bigint, stalled boolean, "
    "has_committed boolean"
)
_MINUTE = 60_000_000
_SAMPLE, _STALL, _KEPT = "sample", "stall", "kept"


def plan(build: GoldBuild, start: datetime | None, stop: datetime, as_of: datetime | None) -> DataFrame | None:
    """Plan the table and the savepoint of a window, and return its signals; None if no group was ever polled."""
    if not build.files("silver/group_offsets") and not build.files(f"gold/_{SAVED}"):
        return None
    folded = build.computed_once(_fold(build, start, stop, as_of))
    build.replace(TABLE, by_minute(folded.where(f"output = '{_SAMPLE}'")), start)
    if as_of is not None:
        build.save(SAVED, as_of, folded.where(f"output = '{_KEPT}'").select(*ddl_schema(_EVENTS).names), _EVENTS)
    stalls = folded.where(f"output = '{_STALL}'")
    return _stall_signals(stalls, build.silver("groups"))


def _fold(build: GoldBuild, start: datetime | None, stop: datetime, as_of: datetime | None) -> DataFrame:
    commits = days.between(build.silver("group_offsets", start, stop), "at", start, stop)
    ends = days.between(build.silver("log_ends", start, stop), "at", start, stop)
    kept = build.saved(SAVED, start, _EVENTS) if start is not None and build.files(f"gold/_{SAVED}") else None
    return fold_offsets(commits, ends, kept, start, as_of)


def fold_offsets(
    commits: DataFrame,
    ends: DataFrame,
    kept: DataFrame | None = None,
    start: datetime | None = None,
    as_of: datetime | None = None,
) -> DataFrame:
    """Return samples, stalls, and kept events of all partitions, by `output`.

    Args:
        commits: rows of silver's `group_offsets`.
        ends: rows of silver's `log_ends`.
        kept: the events that the build before has kept; None without one.
        start: the beginning of the window; None from the beginning of the history.
        as_of: the time at which events are kept for the next build; None keeps none.
    """
    events = _events(commits, "`group`", "committed_offset")
    events = events.unionByName(_events(ends, "CAST(NULL AS string)", "log_end"))
    if kept is not None:
        events = events.unionByName(kept)
    fold = _Fold(microseconds(start), microseconds(as_of))
    return events.groupBy("cluster_id", "topic").applyInArrow(
        lambda table: fold.run(table),  # noqa: PLW0108  # Spark takes the `self` of a method for an argument
        _FOLDED,
    )


def _events(rows: DataFrame, group: str, offset: str) -> DataFrame:
    return select(
        rows,
        f"""cluster_id, topic, partition, unix_micros(at) AS at_us, broker_id, {group} AS `group`, {offset} AS `offset`,
        change = 'gone' AS gone""",
    )


@dataclass(frozen=True, slots=True)
class _Fold:
    """The fold of one topic in a worker. Results before `start` are of the window before; `as_of`: see `build`."""

    start: int | None
    as_of: int | None

    def run(self, table: pa.Table) -> pa.Table:
        import pyarrow as pa

        cluster_id, topic = table["cluster_id"][0].as_py(), table["topic"][0].as_py()
        rows = table.select(["partition", "at_us", "broker_id", "group", "offset", "gone"]).to_pylist()
        rows.sort(key=lambda row: (row["partition"], row["at_us"], row["group"] is not None, row["broker_id"]))
        by_partition: dict[int, list[Event]] = {}
        for row in rows:
            partition = row.pop("partition")
            by_partition.setdefault(partition, []).append(Event(row.pop("at_us"), **row))
        signals: list[dict[str, Any]] = []
        for partition, events in by_partition.items():
            key = {"cluster_id": cluster_id, "topic": topic, "partition": partition}
            signals += [{**key, **row} for row in self._of_partition(events)]
        return pa.Table.from_pylist(signals, schema=ddl_schema(_FOLDED))

    def _of_partition(self, events: list[Event]) -> list[dict[str, Any]]:
        lag = PartitionLagHistory()
        rows: list[dict[str, Any]] = []
        kept_events: list[Event] | None = None
        for event in events:
            if kept_events is None and self.as_of is not None and event.at >= self.as_of:
                kept_events = lag.kept_events()
            rows += [_row(change) for change in lag.apply(event) if self.start is None or change.at >= self.start]
        if self.as_of is not None:
            rows += [_kept_row(event) for event in (lag.kept_events() if kept_events is None else kept_events)]
        return rows


def _row(sample: Any) -> dict[str, Any]:
    row: dict[str, Any] = sample._asdict()
    row["at_us"] = row.pop("at")
    if isinstance(sample, LagSample):
        return {"output": _SAMPLE, "offset": row.pop("committed_offset"), **row}
    return {"output": _STALL, "broker_id": row.pop("reported_by"), **row}


def _kept_row(event: Event) -> dict[str, Any]:
    row = event._asdict()
    return {"output": _KEPT, "at_us": row.pop("at"), **row}


def by_minute(samples: DataFrame) -> DataFrame:
    """Return the rows of the table from samples, the last one of each minute."""
    grouped = aggregate(
        samples,
        f"cluster_id, timestamp_micros(at_us - at_us % {_MINUTE}) AS minute, group, topic, partition",
        """max_by(offset, at_us) AS committed_offset, max_by(log_end, at_us) AS log_end, max_by(lag, at_us) AS last_lag,
        max(lag) AS max_lag, max_by(time_lag, at_us) / 1e6 AS time_lag""",
    )
    return select(
        grouped,
        """cluster_id, minute AS at, group, topic, partition, committed_offset, log_end, last_lag AS lag, max_lag,
        time_lag""",
    )


def _stall_signals(stalls: DataFrame, groups: DataFrame) -> DataFrame:
    """Return the signals of groups that stalled or continued, one for each group and poll.

    Args:
        stalls: the rows of stalls.
        groups: the table of silver.
    """
    states = select(groups.where("change = 'set'"), "cluster_id, group, state, unix_micros(at) AS state_since")
    # The group state at the time of the stall: the newest one that was reported by then.
    by_partition = aggregate(
        stalls.join(broadcast(states), ["cluster_id", "group"], "left"),
        "cluster_id, at_us, group, stalled, broker_id, topic, partition",
        """max_by(
            CASE WHEN state_since <= at_us THEN state END, CASE WHEN state_since <= at_us THEN state_since END
        ) AS state,
        max(not_before) AS not_before, max(has_committed) AS has_committed""",
    )
    # A group without members that was never seen to commit was abandoned before polling began: it has not stalled.
    counted = by_partition.where("has_committed OR state IS NULL OR state NOT IN ('Empty', 'Dead')")
    summed = aggregate(
        counted,
        "cluster_id, at_us, group, stalled, broker_id",
        """min(not_before) AS not_before, CAST(count(*) AS int) AS partitions,
        sort_array(collect_set(topic)) AS topics, collect_set(xxhash64(topic, partition)) AS partition_hashes,
        max(state) AS state""",
    )
    return signals_of(
        summed,
        f"CASE WHEN stalled THEN '{SignalKind.GROUP_STALLED}' ELSE '{SignalKind.GROUP_CONTINUED}' END",
        at="timestamp_micros(at_us)",
        not_before="timestamp_micros(not_before)",
        reported_by="broker_id",
        **{name: name for name in ("partitions", "topics", "partition_hashes")},
        detail={"group": "`group`", "state": "state"},
    )
