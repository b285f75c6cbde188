"""What a page is made of, read out of gold and out of silver's polls: per cluster, a `ClusterStory`.

Rules of this file: pyarrow alone reads, and filters and adds up before a row becomes a Python object, so that memory
follows what was wrong and what changed, not the number of partitions. Times are microseconds since 1970, UTC.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["BrokerStory", "ClusterStory", "ConfigChange", "Drift", "Incident", "NoGold", "read"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MOMENT = pa.timestamp("us", "UTC")

METADATA = 3
"""The API that all dialects are polled with."""

POINTS = 400
"""How finely a time axis is divided: as many points as a wide screen can show."""

LONGEST_LISTS = 200
"""How many incidents, changes of settings and the like are kept to be listed; all are counted."""


class NoGold(KwireError):
    """There is nothing to report in a folder. ``folder``; ``missing``: what it should have."""

    def __init__(self, folder: Path, missing: str) -> None:
        super().__init__(folder, missing)
        self.folder = folder
        self.missing = missing

    def __str__(self) -> str:
        return f"{self.folder} has no {self.missing}: it is not the folder of a pipeline whose gold was built"


@dataclass(frozen=True, slots=True)
class Incident:
    """A row of gold's ``incidents``. ``ended``: None while it lasts; ``consequence``: another one brought it about."""

    id: str
    kind: str
    cause: str
    broker: int | None
    began: int
    ended: int | None
    topics: tuple[str, ...]
    topic_count: int
    partitions: int
    under_replicated: int
    offline: int
    electing: int
    leaders_moved: int
    caused_by: str | None
    attributes: dict[str, str]


@dataclass(slots=True)
class BrokerStory:
    """One broker. Counts are of the end; ``leaders_fair``: how many of them an equal share would be.

    ``latency``: by bucket of time, the longest answer in milliseconds. ``silences``: from the last answer to the next
    (None: still silent). ``median_ms``, ``worst_ms``: None where no duration was recorded.
    """

    id: int
    leaders: int = 0
    replicas: int = 0
    leaders_fair: float = 0.0
    polls: int = 0
    failed: int = 0
    median_ms: float | None = None
    worst_ms: float | None = None
    latency: list[tuple[int, float]] = field(default_factory=list)
    silences: list[tuple[int, int | None]] = field(default_factory=list)

    @property
    def silent_since(self) -> int | None:
        return self.silences[-1][0] if self.silences and self.silences[-1][1] is None else None


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """Somebody set something. ``was`` and ``value``: None for unset."""

    at: int
    resource_type: str
    resource: str
    key: str
    was: str | None
    value: str | None


@dataclass(frozen=True, slots=True)
class Drift:
    """A setting of their own that topics have. ``topics``: the first of ``count`` topics."""

    key: str
    value: str | None
    usual: str | None
    count: int
    topics: tuple[str, ...]


@dataclass(slots=True)
class ClusterStory:
    """A cluster from the first poll to the last.

    ``health``: by flag, when how many partitions had it, as steps ``(at, count)``. ``now``: counts of the end, by flag.
    ``moves``: leader moves by reason; ``move_times``: by bucket of time. ``movers``, ``churn``: the partitions with the
    most moves and ISR changes, ``(topic, partition, times)``, with how many there are in all.
    """

    cluster_id: str
    began: int
    ended: int
    brokers: list[BrokerStory] = field(default_factory=list)
    topics: int = 0
    partitions: int = 0
    now: dict[str, int] = field(default_factory=dict)
    health: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    troubled: list[tuple[str, int, str, int]] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)
    moves: dict[str, int] = field(default_factory=dict)
    move_times: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    movers: list[tuple[str, int, int]] = field(default_factory=list)
    moved_partitions: int = 0
    churn: list[tuple[str, int, int, int]] = field(default_factory=list)
    churning_partitions: int = 0
    config_changes: list[ConfigChange] = field(default_factory=list)
    config_change_count: int = 0
    drift: list[Drift] = field(default_factory=list)
    unreadable: int = 0

    @property
    def bucket(self) -> int:
        """Microseconds of a point on the time axis: whole seconds."""
        return max(1, -(-(self.ended - self.began) // (POINTS * 1_000_000))) * 1_000_000


FLAGS = ("offline", "under_replicated", "electing", "moving")
"""Of an interval, and what the page shows over time."""

NOW_FLAGS = (*FLAGS, "under_min_isr", "not_preferred", "leaderless")


def read(folder: Path, since: int | None = None, until: int | None = None) -> list[ClusterStory]:
    """The clusters in a pipeline's folder, those in trouble first; none where there are no polls. Raises `NoGold`.

    ``since``, ``until``: of what time to tell; all for None.
    """
    polls = _table(folder, "silver", "polls")
    if polls is not None and not polls.count_rows():
        return []  # of which no gold is made
    for name in ("intervals", "incidents"):
        if not (folder / "gold" / name).is_dir():
            raise NoGold(folder, f"table gold/{name}")
    if polls is None:
        raise NoGold(folder, "table silver/polls")
    stories = []
    polled = polls.to_table(
        columns=["cluster_id", "broker_id", "polled_at", "kind", "api_key", "duration_us"],
        filter=_within("polled_at", since, until),
    )
    for cluster_id in _clusters(polled):
        mine = polled.filter(pc.equal(polled["cluster_id"], cluster_id))
        times = pc.min_max(_micros(mine["polled_at"])).as_py()
        story = ClusterStory(cluster_id, times["min"], times["max"])
        brokers = _brokers(story, mine.filter(pc.equal(mine["api_key"], METADATA)))
        _states(story, brokers, folder)
        story.brokers = [brokers[each] for each in sorted(brokers) if each >= 0]
        _incidents(story, folder)
        _leader_moves(story, folder)
        _isr_events(story, folder)
        _configs(story, folder)
        bad = _table(folder, "silver", "bad_frames")
        if bad is not None:
            story.unreadable = bad.count_rows(filter=_within("polled_at", story.began, story.ended, cluster_id))
        stories.append(story)
    return sorted(stories, key=lambda each: (-each.now["offline"], -each.now["under_replicated"], each.cluster_id))


# Polls


def _clusters(polls: pa.Table) -> list[str]:
    """Their ids. Silence of a broker that never told its cluster is none where others did."""
    found: list[str] = sorted(pc.unique(polls["cluster_id"]).to_pylist())
    if found[:1] == [""] and len(found) > 1:
        nameless = polls.filter(pc.equal(polls["cluster_id"], ""))
        if pc.all(pc.equal(nameless["kind"], "error")).as_py():
            return found[1:]
    return found


def _brokers(story: ClusterStory, polls: pa.Table) -> dict[int, BrokerStory]:
    brokers: defaultdict[int, BrokerStory] = _Brokers()
    micros = _micros(polls["polled_at"])
    bucket = pc.multiply(pc.divide(pc.subtract(micros, story.began), story.bucket), story.bucket)
    failed = pc.equal(polls["kind"], "error")
    table = pa.table(
        {
            "broker": polls["broker_id"],
            "at": micros,
            "bucket": pc.add(bucket, story.began),
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
        broker.median_ms, broker.worst_ms = row["ms_approximate_median"], row["ms_max"]
        broker.polls = row["at_count"]
    for broker_id in pc.unique(table.filter(failed)["broker"]).to_pylist():
        rows = table.filter(pc.equal(table["broker"], broker_id)).sort_by("at")
        _silences(brokers[broker_id], rows["at"].to_pylist(), rows["failed"].to_pylist())
    return brokers


def _silences(broker: BrokerStory, times: Sequence[int], failed: Sequence[bool]) -> None:
    """From the last answer to the next; a single poll that failed is none."""
    last, misses = times[0], 0
    for at, missed in zip(times, failed, strict=True):
        if missed:
            misses += 1
            continue
        if misses > 1:
            broker.silences.append((last, at))
        last, misses = at, 0
    if misses > 1:
        broker.silences.append((last, None))
    broker.failed = sum(failed)
    broker.polls = len(times)


class _Brokers(defaultdict[int, BrokerStory]):
    def __missing__(self, key: int) -> BrokerStory:
        self[key] = made = BrokerStory(key)
        return made


# States of partitions


def _states(story: ClusterStory, brokers: dict[int, BrokerStory], folder: Path) -> None:
    dataset = _table(folder, "gold", "intervals")
    assert dataset is not None, "read() has looked"
    end = _timestamp(story.ended)
    mine = pc.field("cluster_id") == story.cluster_id
    begun = pc.field("valid_from") <= end
    columns = ["topic", "partition", "leader", "replicas", "valid_from", *NOW_FLAGS]
    at_end = dataset.to_table(
        columns=columns, filter=mine & begun & (pc.field("valid_to").is_null() | (pc.field("valid_to") > end))
    )
    story.partitions = at_end.num_rows
    story.topics = len(pc.unique(at_end["topic"]))
    story.now = {flag: pc.sum(pc.cast(at_end[flag], pa.int64())).as_py() or 0 for flag in NOW_FLAGS}
    for counts in pc.value_counts(at_end["leader"]).to_pylist():
        if counts["values"] >= 0:
            brokers[counts["values"]].leaders = counts["counts"]
    for counts in pc.value_counts(pc.list_flatten(at_end["replicas"])).to_pylist():
        brokers[counts["values"]].replicas = counts["counts"]
    holders = [each for each in brokers.values() if each.replicas]
    for broker in holders:
        broker.leaders_fair = sum(each.leaders for each in holders) / len(holders)
    troubled = at_end.filter(pc.or_(at_end["offline"], at_end["under_replicated"]))
    troubled = troubled.sort_by([("offline", "descending"), ("valid_from", "ascending"), ("topic", "ascending")])
    for row in troubled.slice(0, LONGEST_LISTS).to_pylist():
        what = "offline" if row["offline"] else "under_replicated"
        story.troubled.append((row["topic"], row["partition"], what, micros_of(row["valid_from"])))

    lasted = pc.field("valid_to").is_null() | (pc.field("valid_to") >= _timestamp(story.began))
    for flag in FLAGS:
        steps: Counter[int] = Counter()
        rows = dataset.to_table(columns=["valid_from", "valid_to"], filter=mine & begun & lasted & pc.field(flag))
        for from_, to in zip(
            _micros(rows["valid_from"]).to_pylist(), _micros(rows["valid_to"]).to_pylist(), strict=True
        ):
            steps[max(from_, story.began)] += 1
            if to is not None and to <= story.ended:
                steps[to] -= 1
        story.health[flag] = _thinned(_added_up(steps), story.bucket)


def _added_up(steps: Counter[int]) -> list[tuple[int, int]]:
    level, points = 0, []
    for at in sorted(steps):
        level += steps[at]
        points.append((at, level))
    return points


def _thinned(points: list[tuple[int, int]], bucket: int) -> list[tuple[int, int]]:
    """When there are more than fit: of each bucket the highest, and the last, which goes on."""
    if len(points) <= 2 * POINTS:
        return points
    kept: list[tuple[int, int]] = []
    group: list[tuple[int, int]] = []
    for point in points:
        if group and point[0] // bucket != group[0][0] // bucket:
            kept += sorted({max(group, key=lambda each: each[1]), group[-1]})
            group = []
        group.append(point)
    return kept + sorted({max(group, key=lambda each: each[1]), group[-1]})


# Events


def _incidents(story: ClusterStory, folder: Path) -> None:
    for row in _rows(story, folder, "incidents", "began_at", ends="ended_at"):
        ended = None if row["ended_at"] is None else micros_of(row["ended_at"])
        story.incidents.append(
            Incident(
                row["incident_id"],
                row["kind"],
                row["cause"],
                row["broker_id"],
                micros_of(row["began_at"]),
                None if ended is None or ended > story.ended else ended,
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
        )
    story.incidents.sort(key=lambda each: (each.began, each.id))


def _leader_moves(story: ClusterStory, folder: Path) -> None:
    table = _events(story, folder, "leader_moves", ["topic", "partition", "reason", "at"])
    if table is None:
        return
    story.moves = {
        row["values"]: row["counts"]
        for row in sorted(pc.value_counts(table["reason"]).to_pylist(), key=lambda row: -row["counts"])
    }
    bucket = pc.multiply(pc.divide(pc.subtract(_micros(table["at"]), story.began), story.bucket), story.bucket)
    times = pa.table({"reason": table["reason"], "bucket": pc.add(bucket, story.began)})
    counted = times.group_by(["reason", "bucket"]).aggregate([([], "count_all")]).sort_by("bucket")
    for row in counted.to_pylist():
        story.move_times.setdefault(row["reason"], []).append((row["bucket"], row["count_all"]))
    top, story.moved_partitions = _most(table, [([], "count_all")])
    story.movers = [(row["topic"], row["partition"], row["count_all"]) for row in top]


def _isr_events(story: ClusterStory, folder: Path) -> None:
    table = _events(story, folder, "isr_events", ["topic", "partition", "moving", "events_in_hour", "at"])
    if table is None:
        return
    table = table.filter(pc.invert(pc.fill_null(table["moving"], False)))
    top, story.churning_partitions = _most(table, [([], "count_all"), ("events_in_hour", "max")])
    story.churn = [(row["topic"], row["partition"], row["count_all"], row["events_in_hour_max"]) for row in top]


def _most(table: pa.Table, wanted: list[tuple[Any, str]]) -> tuple[list[dict[str, Any]], int]:
    grouped = table.group_by(["topic", "partition"]).aggregate(wanted)
    ordered = grouped.sort_by([("count_all", "descending"), ("topic", "ascending"), ("partition", "ascending")])
    return ordered.slice(0, LONGEST_LISTS).to_pylist(), grouped.num_rows


def _configs(story: ClusterStory, folder: Path) -> None:
    own = [row for row in _rows(story, folder, "config_changes", "at") if row["origin"] == "own"]
    own.sort(key=lambda row: (row["at"], row["resource"], row["key"]))
    story.config_change_count = len(own)
    story.config_changes = [
        ConfigChange(
            micros_of(row["at"]), row["resource_type"], row["resource"], row["key"], row["old_value"], row["value"]
        )
        for row in own[-LONGEST_LISTS:]
    ]
    drifted: defaultdict[tuple[str, str | None, str | None], list[str]] = defaultdict(list)
    for row in _rows(story, folder, "config_drift", "valid_from", ends="valid_to"):
        if row["valid_to"] is None:
            drifted[row["key"], row["value"], row["inherited_value"]].append(row["topic"])
    story.drift = [
        Drift(*key, len(topics), tuple(sorted(topics)[:LONGEST_LISTS]))
        for key, topics in sorted(drifted.items(), key=lambda each: (-len(each[1]), each[0][0], each[0][1] or ""))
    ]


# Tables


def _events(story: ClusterStory, folder: Path, name: str, columns: list[str]) -> pa.Table | None:
    dataset = _table(folder, "gold", name)
    if dataset is None:
        return None
    return dataset.to_table(columns=columns, filter=_within("at", story.began, story.ended, story.cluster_id))


def _rows(
    story: ClusterStory, folder: Path, name: str, began: str, ends: str | None = None
) -> Iterable[dict[str, Any]]:
    """Rows of the story's time: events, or what lasted into it where ``ends`` names a column."""
    dataset = _table(folder, "gold", name)
    if dataset is None:
        return []
    wanted = _within(began, story.began if ends is None else None, story.ended, story.cluster_id)
    if ends is not None:
        wanted &= pc.field(ends).is_null() | (pc.field(ends) >= _timestamp(story.began))
    rows: list[dict[str, Any]] = dataset.to_table(filter=wanted).to_pylist()
    return rows


def _table(folder: Path, layer: str, name: str) -> pyarrow.dataset.Dataset | None:
    where = folder / layer / name
    files = sorted(where.rglob("*.parquet"))
    if not files:
        return None
    found = pyarrow.dataset.dataset(files, format="parquet")
    # Spark's own files (INT96) do not say that they are in UTC; all are.
    in_utc = [each.with_type(MOMENT) if pa.types.is_timestamp(each.type) else each for each in found.schema]
    return pyarrow.dataset.dataset(files, format="parquet", schema=pa.schema(in_utc))


def _within(column: str, since: int | None, until: int | None, cluster_id: str | None = None) -> pc.Expression:
    wanted = pc.field(column).is_valid()
    if cluster_id is not None:
        wanted &= pc.field("cluster_id") == cluster_id
    if since is not None:
        wanted &= pc.field(column) >= _timestamp(since)
    if until is not None:
        wanted &= pc.field(column) <= _timestamp(until)
    return wanted


def _timestamp(micros: int) -> pa.Scalar:
    return pa.scalar(micros, MOMENT)


def _micros(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(column, pa.int64())


def micros_of(moment: datetime) -> int:
    """Since 1970, exactly: ``datetime.timestamp`` is a float."""
    return (moment - EPOCH) // timedelta(microseconds=1)
