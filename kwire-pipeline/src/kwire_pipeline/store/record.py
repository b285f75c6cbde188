"""Records of a store: the progress after each commit, and the change that led to it.

A record is one JSON file. It is decided when the table `ingests` refers to it (`kwire_pipeline.store.commits`).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


LAYOUT = 2
"""The version of the layout of a store. It grows when an older kwire would misread what a newer one writes."""

REOPENING = "reopening ingest"
"""The kind of an ingest with late frames, which replaces rows of silver."""

INGESTS, RECORDS, STATE, LATE = "ingests", "_commits", "_state", "_late"
"""Folders of a store (`kwire_pipeline.store.commits`)."""

DESIRED_CONFIGS = "desired_configs"
"""The table of gold that users write; a build computes all others from silver."""


POLLER = "\0"
"""Separates the poller in a `reporter_key`; no cluster id or endpoint contains it."""


def reporter_key(cluster_id: str, broker_id: int, endpoint: str, poller_id: str | None) -> str:
    """Return the key of a broker as one poller sees it: its id, or its endpoint while the id is not known."""
    broker = f"{cluster_id}/{broker_id}" if broker_id >= 0 else f"{cluster_id}/{endpoint}"
    return broker if poller_id is None else f"{broker}{POLLER}{poller_id}"


def commit_number(path: str) -> int:
    """Return the number of the commit in the path of a record."""
    return int(path.removeprefix(f"{RECORDS}/").partition("-")[0])


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a table.

    Attributes:
        path: relative to the folder of the table.
        partition: the values of the partition columns.
        rows: number of rows.
        size: in bytes.
        first, last: the range of the first timestamp column in microseconds since 1970; None without values.
        statistics: the JSON of `minValues`, `maxValues`, and `nullCount` as Delta writes them; empty for files that a
            table lists.
    """

    path: str
    partition: dict[str, str]
    rows: int
    size: int
    first: int | None = None
    last: int | None = None
    statistics: str = ""


@dataclass
class StoreChange:
    """The change of one commit. Tables are named by their folders, such as `silver/polls`.

    Attributes:
        kind: 'ingest', `REOPENING`, 'gold', 'desired', 'optimize', 'expire', or 'repair'.
        base: the number of the record that the change continues.
        reporters, clusters, captures, streams: new entries of `StoreProgress`.
        gold: the new `StoreProgress.gold`; None keeps it.
        added, removed: files by table.
        replaced_topics: topics by cluster whose reports about partitions late frames have removed; None if unknown.
        oldest: the time of the oldest poll that was added, in microseconds; None without polls.
        rows: added rows by table, for `ingests`.
        data: True if rows change; False if files are only merged.
    """

    kind: str
    base: int
    reporters: dict[str, dict[str, Any]] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    captures: dict[str, dict[str, Any]] = field(default_factory=dict)
    streams: dict[str, int] = field(default_factory=dict)
    gold: dict[str, Any] | None = None
    added: dict[str, list[DataFile]] = field(default_factory=dict)
    removed: dict[str, list[DataFile]] = field(default_factory=dict)
    replaced_topics: dict[str, list[str]] | None = None
    oldest: int | None = None
    rows: dict[str, int] = field(default_factory=dict)
    data: bool = True

    @property
    def tables(self) -> list[str]:
        """The tables whose files change."""
        return sorted({name for name, files in (*self.added.items(), *self.removed.items()) if files})

    def is_empty(self, progress: StoreProgress) -> bool:
        """Return whether the change leaves everything as it is."""
        return (
            not self.tables
            and self.reporters.items() <= progress.reporters.items()
            and self.clusters.items() <= progress.clusters.items()
            and self.captures.items() <= progress.captures.items()
            and self.streams.items() <= progress.streams.items()
            and self.gold in (None, progress.gold)
        )

    def conflicts_with(self, other: StoreChange) -> bool:
        """Return whether this change depends on something that the other one, committed since `base`, has changed."""
        return (
            not self.reporters.keys().isdisjoint(other.reporters)
            or not self.captures.keys().isdisjoint(other.captures)
            or not self.streams.keys().isdisjoint(other.streams)
            or (self.gold is not None and other.gold is not None)
            or not set(self._removed_paths()).isdisjoint(other._removed_paths())
        )

    def _removed_paths(self) -> Iterator[tuple[str, str]]:
        return ((name, file.path) for name, files in self.removed.items() for file in files)


class Pin(NamedTuple):
    """A table as a commit left it (`kwire_pipeline.store.table_version`).

    Attributes:
        version: the Delta version that the commit expected to make.
        number: the last commit of the store that changed the table; 0 before the first.
        rows: number of rows; None if unknown.
    """

    version: int
    number: int
    rows: int | None


@dataclass
class StoreProgress:
    """The state of the store after a commit.

    Attributes:
        reporters: by `reporter_key`, the time of the `last` frame in microseconds, the file of the `state`, and the
            states to start again from (`starts`, each a `ResumePoint`).
        clusters: cluster ids by broker and endpoint.
        captures: by folder, the next `row`, the `fingerprint` of the capture, and the `spans` of rows that are bronze
            in place.
        streams: the last batch by the id of the query.
        gold: the progress of gold (`kwire_pipeline.gold.savepoint`).
        versions: the Delta version by table.
        commits: the number of the last commit that changed a table, by table.
        totals: the number of rows by table.
        replaced_topics: by commit that is not in gold, `StoreChange.replaced_topics`, if they are known.
    """

    reporters: dict[str, dict[str, Any]] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    captures: dict[str, dict[str, Any]] = field(default_factory=dict)
    streams: dict[str, int] = field(default_factory=dict)
    gold: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    commits: dict[str, int] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    replaced_topics: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    @property
    def pins(self) -> dict[str, Pin]:
        """The tables as the commit left them."""
        return {
            name: Pin(version, self.commits.get(name, 0), self.totals.get(name))
            for name, version in self.versions.items()
        }

    def after(self, number: int, change: StoreChange, versions: dict[str, int]) -> StoreProgress:
        """Return the progress after a change by a commit; `versions` has the Delta versions of the changed tables."""
        totals = dict(self.totals)
        for name in change.tables:
            if name in totals:
                totals[name] += sum(file.rows for file in change.added.get(name, ()))
                totals[name] -= sum(file.rows for file in change.removed.get(name, ()))
        gold = self.gold if change.gold is None else change.gold
        replaced = {at: topics for at, topics in self.replaced_topics.items() if int(at) > gold.get("commit", 0)}
        if change.replaced_topics is not None:
            replaced[str(number)] = change.replaced_topics
        return StoreProgress(
            self.reporters | change.reporters,
            self.clusters | change.clusters,
            self.captures | change.captures,
            self.streams | change.streams,
            gold,
            self.versions | versions,
            self.commits | dict.fromkeys(change.tables, number),
            totals,
            replaced,
        )

    def states(self) -> set[str]:
        """Return the files of the states of brokers."""
        used = {known["state"] for known in self.reporters.values()}
        used.update(point["state"] for known in self.reporters.values() for point in known["starts"])
        return used - {""}


@dataclass
class CommitRecord:
    """A commit: its number, the progress after it, its change, and files that later commits no longer need.

    `bases` has the Delta versions that the change continues, by table.
    """

    number: int = 0
    progress: StoreProgress = field(default_factory=StoreProgress)
    change: StoreChange = field(default_factory=lambda: StoreChange("create", -1))
    released: list[str] = field(default_factory=list)
    layout: int = LAYOUT
    bases: dict[str, int] = field(default_factory=dict)

    def dump(self) -> bytes:
        """Return the record as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def of(cls, values: dict[str, Any]) -> CommitRecord:
        """Return a record from its parsed JSON, which has the layout of this version."""
        change = values["change"]
        for side in ("added", "removed"):
            change[side] = {name: [DataFile(**file) for file in files] for name, files in change[side].items()}
        return cls(
            values["number"],
            StoreProgress(**values["progress"]),
            StoreChange(**change),
            values["released"],
            values["layout"],
            values.get("bases", {}),
        )
