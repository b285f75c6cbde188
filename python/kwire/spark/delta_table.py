"""One Delta table: its files at a version, and commits that add and remove files.

kwire commits files that executors have written. A commit carries the number of the record that decided it (`record`) as
a Delta transaction, so that it is applied once, whoever applies it.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from kwire.errors import KwireError
from kwire.spark.record import DataFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.spark.record import Layout

APPLICATION = "kwire"
"""The id of the Delta transactions that number kwire's commits."""

PROPERTIES = {"delta.logRetentionDuration": "interval 30 days", "delta.deletedFileRetentionDuration": "interval 7 days"}


class IncompatibleTable(KwireError, RuntimeError):
    """The columns of a stored table differ from those that this version of kwire writes."""

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__(uri, reason)
        self.uri = uri
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.uri}: {self.reason}: use the version of kwire that wrote it, or a newer one"


def create(uri: str, layout: Layout) -> None:
    """Create a table, or add the columns that an existing one lacks.

    Raises:
        IncompatibleTable: a column has another type, or the partition columns differ.
    """
    from deltalake import Schema

    table = open_table(uri)
    if table is None:
        DeltaTable.create(
            uri,
            schema=layout.schema,
            partition_by=list(layout.partition_by),
            mode="ignore",
            configuration=dict(PROPERTIES),
        )
        return
    stored, wanted = table.schema(), Schema.from_arrow(layout.schema)
    if list(layout.partition_by) != list(table.metadata().partition_columns):
        raise IncompatibleTable(uri, f"expected partition columns {', '.join(layout.partition_by)}")
    types = {field.name: field.type for field in stored.fields}
    for field in wanted.fields:
        if field.name in types and types[field.name] != field.type:
            raise IncompatibleTable(uri, f"column {field.name} is {types[field.name]}, expected {field.type}")
    if missing := [field for field in wanted.fields if field.name not in types]:
        table.alter.add_columns(missing)


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


def files_of(table: DeltaTable) -> list[DataFile]:
    """Return the files of a table, oldest path first."""
    import pyarrow as pa

    actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    partition = table.metadata().partition_columns
    return sorted((_data_file(action, partition) for action in actions), key=lambda file: file.path)


def commit(uri: str, number: int, added: Iterable[DataFile], removed: Iterable[DataFile], *, data_change: bool) -> None:
    """Add and remove files in one commit with the number of a record; a number that is committed changes nothing."""
    adds, removes = list(added), list(removed)
    while True:
        table = DeltaTable(uri)
        if (table.transaction_version(APPLICATION) or 0) >= number:
            return
        try:
            write(table, adds, removes, [Transaction(APPLICATION, number)], data_change=data_change)
        except CommitFailedError:
            continue  # another process applies the same record, or changed the table
        return


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


def _stats(file: DataFile) -> str:
    stats: dict[str, Any] = {"numRecords": file.rows}
    if file.time is not None and file.first is not None and file.last is not None:
        first, last = _iso(file.first), _iso(file.last)
        stats |= {"minValues": {file.time: first}, "maxValues": {file.time: last}, "nullCount": {}}
    return json.dumps(stats)


def _iso(at: int) -> str:
    seconds, micros = divmod(at, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{micros:06}Z"


def _data_file(action: dict[str, Any], partition: Iterable[str]) -> DataFile:
    return DataFile(
        action["path"],
        {name: _text(action[f"partition.{name}"]) for name in partition},
        action["num_records"] or 0,
        action["size_bytes"],
        *_range(action),
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _range(action: dict[str, Any]) -> tuple[str | None, int | None, int | None]:
    """Return the time column, the only one that has statistics, and its range."""
    for name, first in action.items():
        if name.startswith("min.") and isinstance(first, datetime):
            column = name.removeprefix("min.")
            return column, _micros(first), _micros(action[f"max.{column}"])
    return None, None, None


def _micros(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
