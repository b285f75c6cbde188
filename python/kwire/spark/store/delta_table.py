"""One Delta table: its files at a version, and commits that add and remove files.

kwire commits files that executors have written. A commit carries the number of the record that decided it (`record`) as
a Delta transaction, so that it is applied once, whoever applies it.
"""

from __future__ import annotations

import json
import math
import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.schema import Field, PrimitiveType
from deltalake.transaction import AddAction, RemoveAction

from kwire.errors import KwireError
from kwire.spark.store.record import DataFile
from kwire.storage.object_storage import plain_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from kwire.spark.tables import Layout

APPLICATION = "kwire"
"""The id of the Delta transactions that number kwire's commits."""

_TIMESTAMP = PrimitiveType("timestamp")

PROPERTIES = {"delta.logRetentionDuration": "interval 30 days", "delta.deletedFileRetentionDuration": "interval 7 days"}


class IncompatibleTable(KwireError, RuntimeError):
    """The columns of a stored table differ from the columns that this version of kwire writes."""

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__(uri, reason)
        self.uri = uri
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.uri}: {self.reason}: use the version of kwire that wrote it, or a newer one"


@plain_errors()
def create(uri: str, layout: Layout) -> None:
    """Create a table, or add the columns that an existing one lacks.

    Raises:
        IncompatibleTable: a column has another type, or the partition columns differ.
    """
    table = open_table(uri)
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
        with suppress(CommitFailedError):
            table.alter.add_columns(missing)
        table = DeltaTable(uri)


def _missing_columns(uri: str, table: DeltaTable, layout: Layout) -> list[Field]:
    """Return the columns of a layout that a table lacks.

    Raises:
        IncompatibleTable: a column has another type, or the partition columns differ.
    """
    stored, expected = table.schema(), Schema.from_arrow(layout.schema)
    if list(layout.partition_by) != list(table.metadata().partition_columns):
        raise IncompatibleTable(uri, f"expected partition columns {', '.join(layout.partition_by)}")
    types = {field.name: field.type for field in stored.fields}
    for field in expected.fields:
        if field.name in types and types[field.name] != field.type:
            raise IncompatibleTable(uri, f"column {field.name} is {types[field.name]}, expected {field.type}")
    return [field for field in expected.fields if field.name not in types]


@plain_errors()
def open_table(uri: str, version: int | None = None) -> DeltaTable | None:
    """Open a table at a version [default: the newest]; None if the table or the version does not exist."""
    try:
        return DeltaTable(uri, version=version)
    except TableNotFoundError:
        return None
    except DeltaError:
        if version is None:
            raise
        if DeltaTable(uri).version() < version:
            return None
        return DeltaTable(uri, version=version)  # it was committed after the first attempt


@plain_errors()
def files_of(table: DeltaTable) -> list[DataFile]:
    """Return the files of a table, oldest path first."""
    import pyarrow as pa

    actions = pa.table(table.get_add_actions(flatten=True))
    partition = table.metadata().partition_columns
    time = next((field.name for field in table.schema().fields if field.type == _TIMESTAMP), None)
    times = (_micros(actions, f"min.{time}"), _micros(actions, f"max.{time}"))
    names = ("path", "num_records", "size_bytes", *(f"partition.{name}" for name in partition))
    # Tables have a file per hour, and every build reads the lists: column by column takes a third of the time.
    columns = [actions[name].to_pylist() for name in names]
    files = [
        DataFile(path, dict(zip(partition, map(_text, values), strict=True)), rows or 0, size, first, last)
        for first, last, path, rows, size, *values in zip(*times, *columns, strict=True)
    ]
    return sorted(files, key=lambda file: file.path)


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
) -> None:
    """Add and remove files in one commit with the number of a record; a number that is committed changes nothing.

    `opened` is the table as it was opened before, since opening reads the list of all files.
    """
    adds, removes = list(added), list(removed)
    while True:
        table, opened = opened or DeltaTable(uri), None
        if (table.transaction_version(APPLICATION) or 0) >= number:
            return
        try:
            write(table, adds, removes, [Transaction(APPLICATION, number)], data_change=data_change)
        except CommitFailedError:
            continue  # another process applies the same record, or changed the table
        return


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
    actions += [RemoveAction(file.path, data_change, now, file.size, dict(file.partition)) for file in removed]
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
    deleted = run(keep, full=False, dry_run=False) | run(keep_unnamed, full=True, dry_run=False)
    return len(unused & deleted)


def _stats(file: DataFile) -> str:
    return json.dumps({"numRecords": file.rows, **json.loads(file.statistics or "{}")}, ensure_ascii=False)


def _text(value: object) -> str:
    return "" if value is None else str(value)
