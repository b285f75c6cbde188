"""Files that executors write into the folders of tables, and the manifest that lists them.

A file is complete when the manifest entry that names it leaves the task. Names are random, so a task that Spark retries
or runs twice does no harm: the driver commits only the files in the manifest that it receives, and `vacuum` deletes the
others. Rows are written in groups, so memory is bounded by one group per table.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire_pipeline.store.record import DataFile


class FileKind(StrEnum):
    """Kinds of written files."""

    SILVER = "silver"
    GOLD = "gold"
    REWRITTEN = "rewritten"
    """The rows of a file of silver that stay when late frames replace the others."""
    BRONZE = "bronze"
    LATE = "late"
    """Rows that are not newer than what their broker reported last."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file with rows of a table. `table` is the folder of the table."""

    kind: FileKind
    table: str
    file: DataFile


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """A state of a broker, from which its later polls can be ingested again.

    It describes the polls until `after`, and the next one is at `until`, in microseconds since 1970. `state` is its
    file; empty before the first poll.
    """

    after: int
    until: int
    state: str

    @property
    def begins_day(self) -> bool:
        """True if the next poll is the first one of a day."""
        return self.after < 0 or date_of(self.after) < date_of(self.until)


class ReporterPolls(NamedTuple):
    """The outcome of polls of a broker.

    Attributes:
        responded: True if any has a response.
        failed: number of failures after the last response.
        failing_since: time of the first of these failures in microseconds since 1970; None without one.
    """

    responded: bool
    failed: int
    failing_since: int | None = None

    def followed_by(self, later: ReporterPolls) -> ReporterPolls:
        """Return the outcome of these polls and later ones."""
        if later.responded:
            return later
        return ReporterPolls(self.responded, self.failed + later.failed, self.failing_since or later.failing_since)


@dataclass(frozen=True, slots=True)
class ReporterProgress:
    """Progress of the ingest of a broker's frames.

    `key` is the `reporter_key`, `state` the file of the state, `last` the time of the last frame in microseconds,
    `starts` the states to start again from, `address` the broker and endpoint of `cluster`, and `polls` the outcome of
    new polls. `aside` has the times of polls that are kept aside (`clock_faults`); `outside` describes the new ones.
    """

    key: str
    state: str
    last: int
    starts: list[ResumePoint]
    address: str
    cluster: str
    polls: ReporterPolls
    aside: list[int]
    outside: list[str]


@dataclass(frozen=True, slots=True)
class DamagedSegment:
    """A segment of a capture that cannot be read."""

    first_row: int
    reason: str


@dataclass(frozen=True, slots=True)
class Hole:
    """Rows of a capture that no segment has, from `first` to before `stop`."""

    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class CaptureProgress:
    """Progress of the ingest of a capture: the rows from `first` to before `stop`.

    `in_place` is false if the rows must be ingested one by one like rows of a table. `fingerprint` identifies the
    capture.
    """

    folder: str
    first: int
    stop: int
    fingerprint: str
    in_place: bool
    damaged: list[DamagedSegment] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class UntimedRows:
    """The number of rows without a poll time."""

    rows: int


@dataclass(frozen=True, slots=True)
class UnreadRows:
    """Rows of a capture that no segment has; `reason` names them."""

    reason: str


ManifestEntry = WrittenFile | ReporterProgress | CaptureProgress | UntimedRows | UnreadRows

MANIFEST = "entry binary"
"""The schema of a manifest; each row is an entry."""


def manifest(entries: list[ManifestEntry]) -> pa.RecordBatch:
    """Return the entries as Arrow, for Spark to hand to the driver."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array(map(pickle.dumps, entries), pa.binary())], names=["entry"])


def entries_of(table: pa.Table) -> list[ManifestEntry]:
    """Return the entries of a manifest."""
    return [pickle.loads(entry) for entry in table["entry"].to_pylist()]  # noqa: S301  # of our own tasks


def date_of(at: int) -> str:
    """Return the date in UTC of a time in microseconds since 1970."""
    return datetime.fromtimestamp(at // 1_000_000, UTC).date().isoformat()
