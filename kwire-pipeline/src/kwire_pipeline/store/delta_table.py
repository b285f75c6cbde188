"""One Delta table: its files at a version, and commits that add and remove files.

kwire commits files that executors have written. A commit carries the number of the record that decided it (`record`) as
a Delta transaction, so that it is applied once, whoever applies it. Other programs may commit to the table as well
(`kwire_pipeline.store.table_version`).
"""

from __future__ import annotations

import json
import math
import re
import time
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.schema import Field, PrimitiveType
from deltalake.transaction import AddAction, RemoveAction

from kwire._util.mount import MountOperation, require_operations
from kwire.storage.location import Location
from kwire.storage.object_storage import plain_errors
from kwire_pipeline.store.errors import IncompatibleTable, UnreadableLog, UnusableTable, UnwritableTable
from kwire_pipeline.store.file_statistics import data_file
from kwire_pipeline.store.record import DataFile
from kwire_pipeline.store.table_log import APPLICATION, LogEntry, TableLog, is_absolute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from kwire_pipeline.tables import Layout

_TIMESTAMP = PrimitiveType("timestamp")

_OWN_FILE = re.compile(r"([0-9a-f]{32}-)?[0-9a-f]{32}\.parquet")
"""Names of files that kwire writes, whose statistics have the exact times."""

SEARCHED_ENTRIES = 1_000
"""Maximum number of commits of a log that are searched for the cause of a fault. Chosen, not measured."""

STATISTICS_PRECISION = 999
"""Microseconds by which a time may exceed the bound of its file: Delta's writer in Spark cuts it to milliseconds."""

_REMEDIES = {
    "_last_checkpoint hint": "delete _delta_log/_last_checkpoint",
    "is not supported": "drop that feature",
    "catalog-managed": "drop the feature catalogManaged",
}
"""The remedy for an error of Delta, by a part of its text."""

PROPERTIES = {"delta.logRetentionDuration": "interval 30 days", "delta.deletedFileRetentionDuration": "interval 7 days"}


_NOT_ENCODED = "/!$&'()+,-.:;=@_~"
"""The signs that deltalake does not encode in paths of files."""


@plain_errors()
def create(uri: str, layout: Layout) -> None:
    """Create a table, or add the columns that an existing one lacks.

    Raises:
        IncompatibleTable: a column has another type, or the partition columns differ.
        UnsupportedMount: the folder cannot have tables.
    """
    table = open_table(uri)
    if table is None and uri.startswith("/"):
        parent = Path(uri).parent
        parent.mkdir(parents=True, exist_ok=True)
        # delta-rs commits by a link, which fails if the version exists, and renames checkpoints.
        require_operations(parent, "Delta tables", MountOperation.LINK, MountOperation.RENAME)
    while table is None:
        with suppress(CommitFailedError):  # by another process, or by a request whose answer was lost
            DeltaTable.create(
                uri,
                schema=layout.schema,
                partition_by=list(layout.partition_by),
                mode="ignore",
                name=uri.rpartition("/")[2],
                description=layout.comment,
                configuration=dict(PROPERTIES),
            )
        table = open_table(uri)
    while missing := _missing_columns(uri, table, layout):
        try:
            table.alter.add_columns(missing)
        except CommitFailedError:
            pass
        except DeltaError as error:  # of a table with column mapping
            names = ", ".join(field.name for field in missing)
            entry = cause(table, lambda state: bool(_missing_columns(uri, state, layout)))
            since = "" if entry is None else f" since {entry}"
            raise UnwritableTable(uri, f"lacks the columns {names}{since}, which cannot be added: {error}") from None
        table = DeltaTable(uri)


def _missing_columns(uri: str, table: DeltaTable, layout: Layout) -> list[Field]:
    """Return the columns of a layout that a table lacks.

    Raises:
        IncompatibleTable: a column has another type, or the partition columns differ.
        UnwritableTable: the same, because of another program.
    """
    if reason := _incompatibility(table, layout):
        if entry := cause(table, lambda state: bool(_incompatibility(state, layout))):
            raise UnwritableTable(uri, f"{reason} since {entry}: run `kwire pipeline repair`")
        raise IncompatibleTable(uri, reason)
    stored = {field.name for field in table.schema().fields}
    return [field for field in Schema.from_arrow(layout.schema).fields if field.name not in stored]


def _incompatibility(table: DeltaTable, layout: Layout) -> str:
    """Return the difference of a table to a layout that no new column makes up for; empty without any."""
    if list(layout.partition_by) != list(table.metadata().partition_columns):
        return f"expected partition columns {', '.join(layout.partition_by)}"
    types = {field.name: field for field in table.schema().fields}
    for field in Schema.from_arrow(layout.schema).fields:
        if field.name in types and not has_same_type(types[field.name], field):
            return f"column {field.name} is {types[field.name].type}, expected {field.type}"
    return ""


def has_same_type(field: Field, other: Field) -> bool:
    """Return whether two columns have the same type. Column mapping gives the fields of structures other metadata."""
    import pyarrow as pa

    one, two = (pa.field(each.to_arrow()).type for each in (field, other))
    return bool(one.equals(two))


@plain_errors()
def open_table(uri: str, version: int | None = None) -> DeltaTable | None:
    """Open a table at a version [default: the newest]; None if the table or the version does not exist.

    Raises:
        UnreadableLog: the table exists, and its newest version cannot be opened.
    """
    try:
        return DeltaTable(uri, version=version)
    except TableNotFoundError:
        return None
    except DeltaError as error:
        if version is None:
            raise UnreadableLog(uri, _reason(str(error))) from None
        if DeltaTable(uri).version() < version:
            return None
        with suppress(DeltaError):  # it was committed after the first attempt, or the log has lost it
            return DeltaTable(uri, version=version)
        return None


def exists(uri: str) -> bool:
    """Return whether a table exists, even if its log cannot be read."""
    try:
        return open_table(uri) is not None
    except UnreadableLog:
        return True


def _reason(text: str) -> str:
    """Return the reason for which a log cannot be read, with its remedy."""
    line = text.partition("\n")[0].removeprefix("Kernel error: ").partition(": ParsedLogPath")[0]
    remedy = next((remedy for part, remedy in _REMEDIES.items() if part in line), "restore _delta_log from a backup")
    return f"its log cannot be read: {line}: {remedy}"


@plain_errors()
def files_of(table: DeltaTable) -> list[DataFile]:
    """Return the files of a table, oldest path first. Files without statistics are read.

    Raises:
        UnusableTable: they are files of another table.
    """
    import pyarrow as pa

    actions = pa.table(table.get_add_actions(flatten=True))
    partition = table.metadata().partition_columns
    time = _time_column(table)
    times = (_micros(actions, f"min.{time}"), _micros(actions, f"max.{time}"))
    names = ("path", "num_records", "size_bytes", *(f"partition.{name}" for name in partition))
    # Tables have a file per hour, and every build reads the lists: column by column takes a third of the time.
    columns = [actions[name].to_pylist() for name in names]
    nulls = f"null_count.{time}"
    null_counts = actions[nulls].to_pylist() if nulls in actions.column_names else [None] * actions.num_rows
    files = []
    for first, last, null_count, encoded, rows, size, *values in zip(*times, null_counts, *columns, strict=True):
        path = unquote(encoded)
        if is_absolute(encoded):
            raise UnusableTable(*_foreign_files(table, path))
        texts = dict(zip(partition, map(_text, values), strict=True))
        file = DataFile(path, texts, rows or 0, size, first, last)
        if rows is None or (time is not None and last is None and null_count is None and rows):
            file = _measured(table, file, time)
        elif last is not None and last % 1000 == 0 and not is_own_file(path):
            file = replace(file, last=last + STATISTICS_PRECISION)
        files.append(file)
    return sorted(files, key=lambda file: file.path)


def cause(table: DeltaTable, has_fault: Callable[[DeltaTable], bool]) -> LogEntry | None:
    """Return the commit of another program since which a table has a fault; None if the log does not say it."""
    location = _location(table)
    for entry in TableLog.of(location, table).newest_entries(table.version(), SEARCHED_ENTRIES):
        if entry.changes_table and not entry.number and entry.version:
            before = open_table(location.native, entry.version - 1)
            if before is not None and not has_fault(before):
                return entry
    return None


def _location(table: DeltaTable) -> Location:
    return Location.parse(str(table.table_uri).rstrip("/"), any_name=True)


def _foreign_files(table: DeltaTable, path: str) -> tuple[str, str]:
    """Return the URI of a table, and the reason for which its files, such as `path`, cannot be used."""
    location = _location(table)
    entries = TableLog.of(location, table).newest_entries(table.version(), SEARCHED_ENTRIES)
    since = next((f" since {entry}" for entry in entries if path in entry.added), "")
    return location.native, f"its files are those of another table{since}, such as {path}: copy them into this table"


def removable_paths(table: DeltaTable, files: Iterable[DataFile]) -> set[str]:
    """Return the paths of files that are to be removed.

    Raises:
        UnwritableTable: the log has another encoding of a path than deltalake, which would not find the file there.
    """
    import pyarrow as pa

    paths = {file.path for file in files}
    encoded = {quote(path, safe=_NOT_ENCODED): path for path in paths if not is_own_file(path)}
    if encoded.keys() - paths:
        unknown = encoded.keys() - set(pa.table(table.get_add_actions(flatten=True))["path"].to_pylist())
        if unknown:
            fault = (
                f"deltalake cannot remove {encoded[min(unknown)]}, whose name another program has encoded differently"
            )
            raise UnwritableTable(_location(table).native, f"{fault}: merge the files with that program")
    return paths


def is_own_file(path: str) -> bool:
    """Return whether a file has a name that kwire gives. Others may lack statistics, or have other types."""
    return _OWN_FILE.fullmatch(path.rpartition("/")[2]) is not None


def exact_times(table: DeltaTable, file: DataFile) -> DataFile:
    """Return a file with the exact range of its times, which is read from files of other programs."""
    return file if is_own_file(file.path) else _measured(table, file, _time_column(table))


def _time_column(table: DeltaTable) -> str | None:
    """Return the first timestamp column of a table."""
    return next((field.name for field in table.schema().fields if field.type == _TIMESTAMP), None)


def _measured(table: DeltaTable, file: DataFile, time: str | None) -> DataFile:
    """Return a file with the number of its rows and the range of its times, which another program did not record.

    A file that does not exist, or cannot be read, has no rows.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        with _location(table).files().open_input_file(file.path) as stream:
            parquet = pq.ParquetFile(stream)
            rows, first, last = parquet.metadata.num_rows, None, None
            if time is not None and time in parquet.schema_arrow.names:
                column = parquet.read([time])[time].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
                first, last = pc.min_max(column).as_py().values()
    except (OSError, pa.ArrowException):
        return file
    return replace(file, rows=rows, first=first, last=last)


def with_statistics(location: Location, file: DataFile) -> DataFile:
    """Return a file of a table with the statistics of its footer, for a commit that adds it again.

    `location` is the folder of the table. A file that cannot be read keeps its number of rows as its only statistic.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with location.files().open_input_file(file.path) as stream:
            return data_file(file.path, file.partition, file.size, pq.read_metadata(stream))
    except (OSError, pa.ArrowException):
        return file


def _micros(actions: pa.Table, name: str) -> list[int | None]:
    import pyarrow as pa

    if name not in actions.column_names:
        return [None] * actions.num_rows
    micros: list[int | None] = actions[name].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    return micros


@plain_errors()
def refresh(table: DeltaTable) -> DeltaTable:
    """Return a table that was opened before at its newest version, which takes less time than to open it."""
    table.update_incremental()
    return table


@plain_errors()
def commit(
    uri: str,
    number: int,
    added: Iterable[DataFile],
    removed: Iterable[DataFile],
    *,
    data_change: bool,
    opened: DeltaTable | None = None,
    base: int | None = None,
) -> None:
    """Add and remove files in one commit with the number of a record; a number that is committed changes nothing.

    Args:
        uri: the table.
        number: the number of the record.
        added, removed: the files.
        data_change: False if files are only merged.
        opened: the table as it was opened before, since opening reads the list of all files.
        base: the version that the change continues [default: the newest]. If another program has changed rows since, or
            has replaced files that the change removes, the table returns to the files of that version.

    Raises:
        UnwritableTable: Delta refuses the commit.
    """
    adds, removes = list(added), list(removed)
    refused, reason = None, ""
    while True:
        table, opened = opened or DeltaTable(uri), None
        if (table.transaction_version(APPLICATION) or 0) >= number:
            return
        if refused == table.version():
            raise UnwritableTable(uri, f"Delta refuses the commit, and no other program has committed since: {reason}")
        files = _changed_files(uri, table, base, adds, removes)
        try:
            write(table, *files, [Transaction(APPLICATION, number)], data_change=data_change)
        except CommitFailedError as error:
            refused, reason = table.version(), str(error).partition("\n")[0]
            continue  # another process applies the same record, or changed the table
        return


def _changed_files(
    uri: str, table: DeltaTable, base: int | None, added: list[DataFile], removed: list[DataFile]
) -> tuple[list[DataFile], list[DataFile]]:
    """Return the files to add to the newest version of a table, and to remove from it, for a change of an older one."""
    if base is None or table.version() == base:
        return added, removed
    location = Location.parse(uri, any_name=True)
    current = {file.path: file for file in files_of(table)}
    if all(file.path in current for file in removed) and TableLog.of(location, table).keeps_rows(base, table.version()):
        return added, removed
    dropped = {file.path for file in removed}
    target = {file.path: file for file in files_of(DeltaTable(uri, version=base)) if file.path not in dropped}
    again = [with_statistics(location, file) for path, file in target.items() if path not in current]
    kept = target.keys() | {file.path for file in added}
    return (
        [*(file for file in added if file.path not in current), *again],
        [file for path, file in current.items() if path not in kept],
    )


@plain_errors()
def write(
    table: DeltaTable,
    added: Iterable[DataFile],
    removed: Iterable[DataFile],
    transactions: list[Transaction],
    *,
    data_change: bool = True,
) -> None:
    """Commit to a table that was opened before.

    Raises:
        CommitFailedError: another process has committed one of the transactions since.
    """
    now = int(time.time() * 1000)
    actions: list[AddAction | RemoveAction] = [
        AddAction(file.path, file.size, dict(file.partition), now, data_change, _stats(file)) for file in added
    ]
    removals = list(removed)
    removable_paths(table, removals)
    actions += [RemoveAction(file.path, data_change, now, file.size, dict(file.partition)) for file in removals]
    table.create_write_transaction(
        actions,
        "append",
        table.schema(),
        partition_by=list(table.metadata().partition_columns),
        commit_properties=CommitProperties(app_transactions=transactions),
    )


@plain_errors()
def vacuum(uri: str, keep: timedelta, keep_unnamed: timedelta) -> int:
    """Delete files that were removed from a table, and files that it has never named. Ages are rounded up to hours.

    Args:
        uri: the table.
        keep: the age since the removal of a file.
        keep_unnamed: the age of a file that the table has never named.

    Returns:
        The number of deleted files.
    """

    def run(age: timedelta, *, full: bool, dry_run: bool) -> set[str]:
        hours = math.ceil(age / timedelta(hours=1))
        table = DeltaTable(uri)
        return set(table.vacuum(hours, dry_run=dry_run, enforce_retention_duration=False, full=full))

    unused = run(keep, full=True, dry_run=True)  # the next result repeats files that were deleted before
    if not unused:
        return 0  # each run adds two commits to the log
    deleted = run(keep, full=False, dry_run=False) | run(keep_unnamed, full=True, dry_run=False)
    return len(unused & deleted)


def _stats(file: DataFile) -> str:
    return json.dumps({"numRecords": file.rows, **json.loads(file.statistics or "{}")}, ensure_ascii=False)


def _text(value: object) -> str:
    return "" if value is None else str(value)
