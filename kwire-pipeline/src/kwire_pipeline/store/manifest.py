"""Files that executors write into the folders of tables, and the manifest that lists them.

A file is complete when the manifest entry that names it leaves the task. Names are random, so a task that Spark retries
or runs twice does no harm: the driver commits only the files in the manifest that it receives, and `vacuum` deletes the
others. Rows are written in groups, so memory is bounded by one group per table.
"""

from __future__ import annotations

import builtins
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from kwire_pipeline.store.record import DataFile
from kwire_pipeline.tables import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa


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


@dataclass(frozen=True, slots=True)
class ReporterProgress:
    """Progress of the ingest of a broker's frames.

    `key` is the `reporter_key`, `state` the file of the state, `last` the time of the last frame in microseconds,
    `starts` the states to start again from, and `address` the broker and endpoint of `cluster`.
    `responded` is true if any new poll has a response; `failed_polls` is the number of failures after the last one, and
    `failing_since` the time of the first of them in microseconds since 1970. `aside` has the times of polls that are
    kept aside (`clock_faults`), and `outside` describes the new ones.
    """

    key: str
    state: str
    last: int
    starts: list[ResumePoint]
    address: str
    cluster: str
    responded: bool
    failed_polls: int
    failing_since: int | None = None
    aside: list[int] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DamagedSegment:
    """A segment of a capture that cannot be read."""

    first_row: int
    reason: str


@dataclass(frozen=True, slots=True)
class Hole:
    """Rows of a capture that no segment has, from `first` to before `stop`.

    `last_time` is the time of the last poll in the segment before, in microseconds since 1970; None without one.
    """

    first: int
    stop: int
    last_time: int | None


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

_COLUMNS: dict[type[ManifestEntry], str] = {
    WrittenFile: "file",
    ReporterProgress: "reporter",
    CaptureProgress: "capture",
    UntimedRows: "untimed",
    UnreadRows: "unread",
}


def _ddl_type(annotation: Any) -> str:
    """Return the type of a field in Spark's DDL."""
    if get_origin(annotation) is UnionType:  # all columns are nullable
        [annotation] = set(get_args(annotation)) - {NoneType}
    arguments = get_args(annotation)
    match get_origin(annotation) or annotation:
        case builtins.int:
            return "bigint"
        case builtins.bool:
            return "boolean"
        case builtins.dict:
            return f"map<{','.join(map(_ddl_type, arguments))}>"
        case builtins.list:
            return f"array<{_ddl_type(*arguments)}>"
        case cls if is_dataclass(cls):
            types = get_type_hints(cls)
            return f"struct<{','.join(f'{field.name}:{_ddl_type(types[field.name])}' for field in fields(cls))}>"
        case cls if issubclass(cls, str):
            return "string"
    raise TypeError(f"no column of a manifest can hold {annotation}")


_TYPES = {cls: _ddl_type(cls) for cls in _COLUMNS}

MANIFEST = ", ".join(f"{name} {_TYPES[cls]}" for cls, name in _COLUMNS.items())
"""The schema of a manifest: a column per class of entries; each row sets one of them."""


def manifest(entries: list[ManifestEntry]) -> pa.RecordBatch:
    """Return the entries as Arrow, for Spark to hand to the driver."""
    import pyarrow as pa

    arrays = [
        pa.array([asdict(entry) if type(entry) is cls else None for entry in entries], arrow_type(type_))
        for cls, type_ in _TYPES.items()
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(_COLUMNS.values()))


def entries_of(table: pa.Table) -> list[ManifestEntry]:
    """Return the entries of a manifest."""
    return [_entry(row) for row in table.to_pylist(maps_as_pydicts="strict")]


def _entry(row: dict[str, Any]) -> ManifestEntry:
    for cls, name in _COLUMNS.items():
        if (values := row[name]) is not None:
            if cls is WrittenFile:
                return WrittenFile(FileKind(values["kind"]), values["table"], DataFile(**values["file"]))
            if cls is ReporterProgress:
                values["starts"] = [ResumePoint(**point) for point in values["starts"]]
            if cls is CaptureProgress:
                values["damaged"] = [DamagedSegment(**segment) for segment in values["damaged"]]
                values["holes"] = [Hole(**hole) for hole in values["holes"]]
            return cls(**values)
    raise ValueError("a row of the manifest is empty")


def date_of(at: int) -> str:
    """Return the date in UTC of a time in microseconds since 1970."""
    return datetime.fromtimestamp(at // 1_000_000, UTC).date().isoformat()
