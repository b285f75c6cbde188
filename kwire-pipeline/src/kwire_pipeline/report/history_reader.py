"""Read the history of clusters from the gold tables and from silver's polls.

pyarrow filters and aggregates before rows become Python objects, so memory grows with the number of problems and
changes, not with the number of partitions. Times are microseconds since 1970, UTC.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kwire.errors import KwireError
from kwire.metadata.timestamps import microseconds
from kwire_pipeline.report.cluster_history import (
    POINTS,
    BrokerHistory,
    ClusterHistory,
    ConfigDrift,
    ConfigHistoryEntry,
    ReportedIncident,
)
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.errors import NotAStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from pyarrow.dataset import Dataset

    from kwire_pipeline.store.snapshot import Snapshot

__all__ = ["MissingGold", "latest_incidents", "read_histories"]


TIMESTAMP = pa.timestamp("us", "UTC")

METADATA = 3
"""The API key that the latencies of brokers are taken from; all dialects poll it."""

LONGEST_LISTS = 200
"""The most rows kept for a list on the page; the counts include all rows."""


class MissingGold(KwireError):
    """A folder lacks a table that a report needs.

    Attributes:
        folder: the folder that was read.
        missing: the missing table.
    """

    def __init__(self, folder: Path | str, missing: str) -> None:
        super().__init__(folder, missing)
        self.folder = folder
        self.missing = missing

    def __str__(self) -> str:
        return f"{self.folder} has no {self.missing}: expected the folder of a pipeline with a gold layer"


FLAGS = ("offline", "under_replicated", "electing", "moving")
"""Flags of gold's `intervals` that the chart shows over time."""

NOW_FLAGS = (*FLAGS, "under_min_isr", "not_preferred", "leaderless")


def read_histories(folder: Path | str, since: int | None = None, until: int | None = None) -> list[ClusterHistory]:
    """Read the histories of all clusters in a pipeline's folder, clusters with problems first.

    Args:
        folder: the pipeline's folder.
        since: start of the window; None for the first poll.
        until: end of the window; None for the last poll.

    Returns:
        The histories; an empty list if there are no polls.

    Raises:
        MissingGold: the folder has polls but no gold tables.
    """
    snapshot = _snapshot(folder)
    # Gold has no tables without polls.
    if snapshot.number == 0 or not (polls := _dataset(snapshot, "silver/polls")).count_rows():
        return []
    histories = []
    polled = polls.to_table(
        columns=["cluster_id", "broker_id", "polled_at", "kind", "api_key", "duration_us"],
        filter=_within("polled_at", since, until),
    )
    for cluster_id in _cluster_ids(polled):
        selected = polled.filter(pc.equal(polled["cluster_id"], cluster_id))
        times = pc.min_max(_micros(selected["polled_at"])).as_py()
        history = ClusterHistory(cluster_id, times["min"], times["max"])
        brokers = _read_polls(history, selected.filter(pc.equal(selected["api_key"], METADATA)))
        _read_intervals(history, brokers, snapshot)
        history.brokers = [brokers[broker] for broker in sorted(brokers) if broker >= 0]
        _read_incidents(history, snapshot)
        _read_leader_moves(history, snapshot)
        _read_isr_events(history, snapshot)
        _read_configs(history, snapshot)
        history.unreadable_responses = _rows(history, snapshot, "silver/bad_frames", "polled_at", []).num_rows
        history.poll_gaps = _read_poll_gaps(history, snapshot)
        histories.append(history)
    return sorted(
        histories, key=lambda history: (-history.now["offline"], -history.now["under_replicated"], history.cluster_id)
    )


def latest_incidents(
    folder: Path | str, cluster_id: str, since: datetime, known: int | None = None
) -> tuple[int, list[ReportedIncident]]:
    """Return the number of the newest commit, and the incidents of a cluster, latest first.

    Args:
        folder: the pipeline's folder.
        cluster_id: the cluster.
        since: incidents that ended earlier are left out.
        known: number of the commit that the caller has read; nothing is read again if it is the newest.

    Raises:
        MissingGold: the folder has no incidents.
    """
    snapshot = _snapshot(folder)
    if snapshot.number == known:
        return known, []
    dataset = _dataset(snapshot, "gold/incidents")
    ended = pc.field("ended_at")
    overlaps = ended.is_null() | (ended >= _timestamp(microseconds(since)))
    rows = dataset.to_table(filter=(pc.field("cluster_id") == cluster_id) & overlaps).to_pylist()
    return snapshot.number, sorted(map(_incident, rows), key=lambda incident: (-incident.began, incident.id))


# Polls


def _cluster_ids(polls: pa.Table) -> list[str]:
    """Return the ids of the clusters; unanswered polls count only if no poll has a cluster id."""
    cluster_ids: list[str] = sorted(pc.unique(polls["cluster_id"]).to_pylist())
    if cluster_ids[:1] == [""] and len(cluster_ids) > 1:
        unattributed = polls.filter(pc.equal(polls["cluster_id"], ""))
        if pc.all(pc.equal(unattributed["kind"], "error")).as_py():
            return cluster_ids[1:]
    return cluster_ids


def _read_polls(history: ClusterHistory, polls: pa.Table) -> dict[int, BrokerHistory]:
    brokers: defaultdict[int, BrokerHistory] = _BrokersById()
    micros = _micros(polls["polled_at"])
    bucket = pc.multiply(pc.divide(pc.subtract(micros, history.began), history.bucket), history.bucket)
    failed = pc.equal(polls["kind"], "error")
    table = pa.table(
        {
            "broker": polls["broker_id"],
            "at": micros,
            "bucket": pc.add(bucket, history.began),
            "ms": pc.divide(pc.cast(polls["duration_us"], pa.float64()), 1000.0),
            "failed": failed,
        }
    )
    answered = table.filter(pc.invert(failed))
    for row in answered.group_by(["broker", "bucket"]).aggregate([("ms", "max")]).sort_by("bucket").to_pylist():
        if row["ms_max"] is not None:
            brokers[row["broker"]].latency.append((row["bucket"], row["ms_max"]))
    medians = answered.group_by("broker").aggregate([("ms", "approximate_median"), ("ms", "max"), ("at", "count")])
    for row in medians.to_pylist():
        broker = brokers[row["broker"]]
        broker.median_ms, broker.max_ms = row["ms_approximate_median"], row["ms_max"]
        broker.polls = row["at_count"]
    for broker_id in pc.unique(table.filter(failed)["broker"]).to_pylist():
        rows = table.filter(pc.equal(table["broker"], broker_id)).sort_by("at")
        _set_unreachable(brokers[broker_id], rows["at"].to_pylist(), rows["failed"].to_pylist())
    return brokers


def _set_unreachable(broker: BrokerHistory, times: Sequence[int], failed: Sequence[bool]) -> None:
    """Set the periods without a response; a single failed poll does not count."""
    last, misses = times[0], 0
    for at, missed in zip(times, failed, strict=True):
        if missed:
            misses += 1
            continue
        if misses > 1:
            broker.unreachable.append((last, at))
        last, misses = at, 0
    if misses > 1:
        broker.unreachable.append((last, None))
    broker.failed = sum(failed)
    broker.polls = len(times)


def _read_poll_gaps(history: ClusterHistory, snapshot: Snapshot) -> list[tuple[int, int]]:
    """Return the times without polls of some broker that end in the window; gaps that overlap are one."""
    rows = _rows(history, snapshot, "silver/poll_gaps", "polled_at", ["last_polled_at", "polled_at"])
    gaps = zip(*(_micros(column).to_pylist() for column in rows.columns), strict=True)
    merged: list[tuple[int, int]] = []
    for began, ended in sorted(gaps):
        if merged and began <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(ended, merged[-1][1])
        else:
            merged.append((began, ended))
    return merged


class _BrokersById(defaultdict[int, BrokerHistory]):
    def __missing__(self, key: int) -> BrokerHistory:
        self[key] = broker = BrokerHistory(key)
        return broker


# States of partitions


def _read_intervals(history: ClusterHistory, brokers: dict[int, BrokerHistory], snapshot: Snapshot) -> None:
    """Read the states of partitions: those at the last poll, and how many were unhealthy over time."""
    dataset = _dataset(snapshot, "gold/intervals")
    end = _timestamp(history.ended)
    valid_to = pc.field("valid_to")
    begun = (pc.field("cluster_id") == history.cluster_id) & (pc.field("valid_from") <= end)
    columns = ["topic", "partition", "leader", "replicas", "valid_from", *NOW_FLAGS]
    _set_last_state(
        history, brokers, dataset.to_table(columns=columns, filter=begun & (valid_to.is_null() | (valid_to > end)))
    )
    in_window = begun & (valid_to.is_null() | (valid_to >= _timestamp(history.began)))
    for flag in FLAGS:
        rows = dataset.to_table(columns=["valid_from", "valid_to"], filter=in_window & pc.field(flag))
        history.partition_counts[flag] = _thinned(_counts_over_time(history, rows), history.bucket)


def _set_last_state(history: ClusterHistory, brokers: dict[int, BrokerHistory], states: pa.Table) -> None:
    """Set the counts and the unhealthy partitions of the last poll."""
    history.partitions = states.num_rows
    history.topics = len(pc.unique(states["topic"]))
    history.now = {flag: pc.sum(pc.cast(states[flag], pa.int64())).as_py() or 0 for flag in NOW_FLAGS}
    for counts in pc.value_counts(states["leader"]).to_pylist():
        if counts["values"] >= 0:
            brokers[counts["values"]].leaders = counts["counts"]
    for counts in pc.value_counts(pc.list_flatten(states["replicas"])).to_pylist():
        brokers[counts["values"]].replicas = counts["counts"]
    with_replicas = [broker for broker in brokers.values() if broker.replicas]
    for broker in with_replicas:
        broker.leaders_fair = sum(with_replica.leaders for with_replica in with_replicas) / len(with_replicas)
    unhealthy = states.filter(pc.or_(states["offline"], states["under_replicated"]))
    unhealthy = unhealthy.sort_by([("offline", "descending"), ("valid_from", "ascending"), ("topic", "ascending")])
    for row in unhealthy.slice(0, LONGEST_LISTS).to_pylist():
        flag = "offline" if row["offline"] else "under_replicated"
        history.unhealthy.append((row["topic"], row["partition"], flag, microseconds(row["valid_from"])))
    of_topics = unhealthy.group_by(["topic", "offline"]).aggregate([("partition", "list"), ("valid_from", "min")])
    for row in of_topics.to_pylist():
        flag = "offline" if row["offline"] else "under_replicated"
        history.unhealthy_topics[row["topic"], flag] = (
            sorted(row["partition_list"]),
            microseconds(row["valid_from_min"]),
        )


def _counts_over_time(history: ClusterHistory, rows: pa.Table) -> list[tuple[int, int]]:
    """Return how many intervals are valid, as steps `(at, count)`."""
    steps: Counter[int] = Counter()
    begins, ends = _micros(rows["valid_from"]).to_pylist(), _micros(rows["valid_to"]).to_pylist()
    for began, ended in zip(begins, ends, strict=True):
        steps[max(began, history.began)] += 1
        if ended is not None and ended <= history.ended:
            steps[ended] -= 1
    level, points = 0, []
    for at in sorted(steps):
        level += steps[at]
        points.append((at, level))
    return points


def _thinned(points: list[tuple[int, int]], bucket: int) -> list[tuple[int, int]]:
    """Keep the highest and the last point of each time bucket if there are more points than fit the chart."""
    if len(points) <= 2 * POINTS:
        return points
    kept: list[tuple[int, int]] = []
    group: list[tuple[int, int]] = []
    for point in points:
        if group and point[0] // bucket != group[0][0] // bucket:
            kept += sorted({max(group, key=lambda point: point[1]), group[-1]})
            group = []
        group.append(point)
    return kept + sorted({max(group, key=lambda point: point[1]), group[-1]})


# Events


def _read_incidents(history: ClusterHistory, snapshot: Snapshot) -> None:
    for incident in map(_incident, _rows(history, snapshot, "gold/incidents", "began_at", ends="ended_at").to_pylist()):
        ended_later = incident.ended is not None and incident.ended > history.ended
        history.incidents.append(replace(incident, ended=None) if ended_later else incident)
    history.incidents.sort(key=lambda incident: (incident.began, incident.id))


def _incident(row: Mapping[str, Any]) -> ReportedIncident:
    return ReportedIncident(
        row["incident_id"],
        row["kind"],
        row["cause"],
        row["broker_id"],
        microseconds(row["began_at"]),
        None if row["ended_at"] is None else microseconds(row["ended_at"]),
        tuple(row["topics"] or ()),
        row["topic_count"] or 0,
        row["partition_count"] or 0,
        row["under_replicated"] or 0,
        row["offline"] or 0,
        row["electing"] or 0,
        row["leaders_moved"] or 0,
        row["caused_by"],
        dict(row["attributes"] or ()),
    )


def _read_leader_moves(history: ClusterHistory, snapshot: Snapshot) -> None:
    table = _rows(history, snapshot, "gold/leader_moves", "at", ["topic", "partition", "reason", "at"])
    history.leader_moves = {
        row["values"]: row["counts"]
        for row in sorted(pc.value_counts(table["reason"]).to_pylist(), key=lambda row: -row["counts"])
    }
    bucket = pc.multiply(pc.divide(pc.subtract(_micros(table["at"]), history.began), history.bucket), history.bucket)
    times = pa.table({"reason": table["reason"], "bucket": pc.add(bucket, history.began)})
    counted = times.group_by(["reason", "bucket"]).aggregate([([], "count_all")]).sort_by("bucket")
    for row in counted.to_pylist():
        history.leader_moves_over_time.setdefault(row["reason"], []).append((row["bucket"], row["count_all"]))
    top, history.moved_partitions = _most_frequent(table, [([], "count_all")])
    history.most_moved = [(row["topic"], row["partition"], row["count_all"]) for row in top]
    history.moves_of_topics = _count_by_topic(table)


def _read_isr_events(history: ClusterHistory, snapshot: Snapshot) -> None:
    table = _rows(history, snapshot, "gold/isr_events", "at", ["topic", "partition", "moving", "events_in_hour"])
    table = table.filter(pc.invert(pc.fill_null(table["moving"], False)))
    top, history.churning_partitions = _most_frequent(table, [([], "count_all"), ("events_in_hour", "max")])
    history.isr_churn = [(row["topic"], row["partition"], row["count_all"], row["events_in_hour_max"]) for row in top]
    history.isr_changes_of_topics = _count_by_topic(table)


def _most_frequent(table: pa.Table, aggregates: list[tuple[Any, str]]) -> tuple[list[dict[str, Any]], int]:
    grouped = table.group_by(["topic", "partition"]).aggregate(aggregates)
    ordered = grouped.sort_by([("count_all", "descending"), ("topic", "ascending"), ("partition", "ascending")])
    return ordered.slice(0, LONGEST_LISTS).to_pylist(), grouped.num_rows


def _count_by_topic(table: pa.Table) -> dict[str, int]:
    return {row["values"]: row["counts"] for row in pc.value_counts(table["topic"]).to_pylist()}


def _read_configs(history: ClusterHistory, snapshot: Snapshot) -> None:
    changes = _rows(history, snapshot, "gold/config_changes", "at").to_pylist()
    own = [row for row in changes if row["origin"] == "own"]
    own.sort(key=lambda row: (row["at"], row["resource"], row["key"]))
    history.config_change_count = len(own)
    history.config_changes = [
        ConfigHistoryEntry(
            microseconds(row["at"]), row["resource_type"], row["resource"], row["key"], row["old_value"], row["value"]
        )
        for row in own[-LONGEST_LISTS:]
    ]
    drifted: defaultdict[tuple[str, str | None, str | None], list[str]] = defaultdict(list)
    for row in _rows(history, snapshot, "gold/config_drift", "valid_from", ends="valid_to").to_pylist():
        if row["valid_to"] is None:
            drifted[row["key"], row["value"], row["inherited_value"]].append(row["topic"])
    history.config_drift = [
        ConfigDrift(*key, len(topics), tuple(sorted(topics)[:LONGEST_LISTS]))
        for key, topics in sorted(drifted.items(), key=lambda drift: (-len(drift[1]), drift[0][0], drift[0][1] or ""))
    ]


# Tables


def _rows(
    history: ClusterHistory,
    snapshot: Snapshot,
    table: str,
    began: str,
    columns: list[str] | None = None,
    ends: str | None = None,
) -> pa.Table:
    """Read the rows in the window; with `ends`, the column of an end time, the rows that overlap it."""
    condition = _within(began, history.began if ends is None else None, history.ended, history.cluster_id)
    if ends is not None:
        condition &= pc.field(ends).is_null() | (pc.field(ends) >= _timestamp(history.began))
    return _dataset(snapshot, table).to_table(columns=columns, filter=condition)


def _dataset(snapshot: Snapshot, table: str) -> Dataset:
    dataset = snapshot.dataset(table)
    if dataset is None:
        raise MissingGold(snapshot.location.native, f"table {table}")
    return dataset


def _snapshot(folder: Path | str) -> Snapshot:
    try:
        return PipelineStore(str(folder), create=False).snapshot()
    except NotAStore:
        raise MissingGold(folder, "table gold/intervals") from None


def _within(column: str, since: int | None, until: int | None, cluster_id: str | None = None) -> pc.Expression:
    condition = pc.field(column).is_valid()
    if cluster_id is not None:
        condition &= pc.field("cluster_id") == cluster_id
    if since is not None:
        condition &= pc.field(column) >= _timestamp(since)
    if until is not None:
        condition &= pc.field(column) <= _timestamp(until)
    return condition


def _timestamp(micros: int) -> pa.Scalar:
    return pa.scalar(micros, TIMESTAMP)


def _micros(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(column, pa.int64())
