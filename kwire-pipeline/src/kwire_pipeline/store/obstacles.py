"""Reasons for which kwire cannot use a table as another program left it, each with the commit that made it so.

| another program | kwire | a repair |
|---|---|---|
| sets a property, or a feature that deltalake does not write | reads, and writes nothing | names it |
| deletes rows by deletion vectors | reads the version before, and writes nothing | restores the version before |
| renames, drops, or replaces columns | reads the version before if rows changed, and writes nothing | the same |
| replaces the files by those of another table (a shallow clone) | reads and writes nothing | names it |
| deletes files before their commit | commits nothing | an ingest or a build writes them again |
| adds a file by an absolute path | reads the version before, and writes nothing | restores the version before |

Columns are compared with the version that the last commit pins, which is opened only if column mapping is on or another
program has changed rows: nothing else changes columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltalake.exceptions import DeltaError

from kwire.storage.object_storage import plain_errors
from kwire_pipeline.store.delta_table import cause, files_of, has_same_type
from kwire_pipeline.store.errors import MissingFiles, UnusableTable, UnwritableTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltalake import DeltaTable
    from deltalake.schema import Field
    from pyarrow.fs import FileSystem

    from kwire_pipeline.store.record import StoreChange
    from kwire_pipeline.store.table_log import LogEntry

_WRITABLE_FEATURES = frozenset(
    {
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "columnMapping",
        "deletionVectors",
        "generatedColumns",
        "invariants",
        "timestampNtz",
        "v2Checkpoint",
        "variantType",
        "variantType-preview",
    }
)
"""Features of Delta tables to which deltalake 1.6 commits files."""

WRITER_VERSION = 5
"""The highest version of writers without lists of features that deltalake writes; version 6 has identity columns."""

MAPPING = "delta.columnMapping.mode"
"""The property with which columns have other names in files than in queries."""

TRANSACTIONS = "delta.setTransactionRetentionDuration"

STORED_NAME = "delta.columnMapping.physicalName"


class Obstacle(NamedTuple):
    """One reason.

    Attributes:
        subject: the column, property, or feature.
        fault: its state.
        remedy: the operator's part.
        is_undone: True if a repair restores the version before.
        since: the commit that made it so; None if the log does not say it.
    """

    subject: str
    fault: str
    remedy: str
    is_undone: bool = False
    since: LogEntry | None = None

    def __str__(self) -> str:
        since = "" if self.since is None else f" since {self.since}"
        return f"{self.fault}{since}" + (f": {self.remedy}" if self.remedy else "")


def obstacles(table: DeltaTable, before: DeltaTable | None = None, *, removes: bool = True) -> list[Obstacle]:
    """Return the reasons for which kwire cannot commit to a table.

    Args:
        table: the table.
        before: the table as the last commit left it.
        removes: True for commits that remove files, as those of gold, `optimize`, and `expire` do.
    """

    def found(state: DeltaTable) -> list[Obstacle]:
        columns = [] if state is before else column_faults(state, before)
        return [*_properties(state, removes=removes), *_vectors(state), *columns]

    return [_blamed(obstacle, table, found) for obstacle in found(table)]


def unusable_files(table: DeltaTable, error: UnusableTable) -> Obstacle:
    """Return the error of the files of a table as an obstacle, with the commit that made it."""

    def is_unusable(state: DeltaTable) -> bool:
        try:
            files_of(state)
        except UnusableTable:
            return True
        return False

    return Obstacle("log", error.reason, "", is_undone=True, since=cause(table, is_unusable))


def check_added_files(out: str, files: FileSystem, change: StoreChange) -> None:
    """Check that the files of a change exist: readers of all tables fail once one is committed that does not.

    Args:
        out: the store, for errors.
        files: its files.

    Raises:
        MissingFiles: a file does not exist.
    """
    from pyarrow.fs import FileType

    paths = [f"{table}/{file.path}" for table, added in change.added.items() for file in added]
    if missing := [info.path for info in files.get_file_info(paths) if info.type == FileType.NotFound]:
        advice = "another program deleted them; run the ingest or the build again"
        text = f"{len(missing)} of the files to commit do not exist, such as {missing[0]}: {advice}"
        raise MissingFiles(out, text)


def check_writable(uri: str, table: DeltaTable, before: DeltaTable | None = None, *, removes: bool) -> None:
    """Check that kwire can commit to a table, before anything is decided. Other arguments are those of `obstacles`.

    Raises:
        UnwritableTable: a property, a feature, or the columns of the table prevent it.
    """
    if reasons := obstacles(table, before, removes=removes):
        raise UnwritableTable(uri, "; ".join(map(str, reasons)))


def changed_columns(table: DeltaTable, before: DeltaTable | None) -> list[Obstacle]:
    """Return the columns of a table that are not those of a version before."""
    found = column_faults(table, before)
    return [_blamed(obstacle, table, lambda state: column_faults(state, before)) for obstacle in found]


def is_append_only(table: DeltaTable) -> bool:
    """Return whether files must not be removed from a table."""
    return table.metadata().configuration.get("delta.appendOnly", "").lower() == "true"


def has_mapping(table: DeltaTable) -> bool:
    """Return whether columns can be renamed and dropped without writing files."""
    return table.metadata().configuration.get(MAPPING, "none") != "none"


def column_faults(table: DeltaTable, before: DeltaTable | None) -> list[Obstacle]:
    """Return the columns of a version before that a table lacks, or has under another name or with another type.

    Without that version, columns are known by their names in files, which are `col-` with a random id for later ones.
    """
    fields = {field.name: field for field in table.schema().fields}
    names = {_stored_name(field): field.name for field in fields.values()}
    if before is None:
        return [
            Obstacle(stored, f"column {stored} was renamed {name}", "rename it back", is_undone=True)
            for stored, name in names.items()
            if stored != name and not stored.startswith("col-")
        ]
    faults = []
    for old in before.schema().fields:
        new, stored, remedy = fields.get(old.name), _stored_name(old), _RESTORE
        if stored in names and names[stored] != old.name:
            fault, remedy = f"was renamed {names[stored]}", "rename it back"
        elif new is None:
            fault = "was dropped"
        elif _stored_name(new) != stored:
            fault = "was dropped and added again"
        elif not has_same_type(new, old):
            fault = f"is {new.type}, expected {old.type}"
        else:
            continue
        faults.append(Obstacle(old.name, f"column {old.name} {fault}", remedy, is_undone=True))
    expected, actual = (list(each.metadata().partition_columns) for each in (before, table))
    if expected != actual:
        text = f"found {_partitions(actual)}, expected {_partitions(expected)}"
        faults.append(Obstacle("partition columns", text, _RESTORE, is_undone=True))
    return faults


_RESTORE = "restore the version before (`kwire pipeline repair`)"


@plain_errors()
def restore_before(uri: str, table: DeltaTable, entry: LogEntry) -> None:
    """Restore the version before a commit, with its columns, properties, and files.

    Raises:
        UnwritableTable: its files are gone, or deltalake does not write the table.
    """
    try:
        table.restore(entry.version - 1)
    except DeltaError as error:
        reason = f"version {entry.version - 1} cannot be restored: {str(error).partition(chr(10))[0]}"
        raise UnwritableTable(uri, reason) from None


def _properties(table: DeltaTable, *, removes: bool) -> list[Obstacle]:
    found = []
    if removes and is_append_only(table):
        found.append(_set_property("delta.appendOnly", "because kwire replaces files"))
    if TRANSACTIONS in table.metadata().configuration:
        found.append(_set_property(TRANSACTIONS, "because kwire finds its commits by their transactions"))
    protocol = table.protocol()
    if protocol.writer_features is None and protocol.min_writer_version > WRITER_VERSION:
        fault = f"deltalake does not write tables with version {protocol.min_writer_version} of the protocol"
        found.append(Obstacle("protocol", fault, "list the features that are used, and drop identityColumns"))
    features = set(protocol.writer_features or ()) - _WRITABLE_FEATURES
    return found + [
        Obstacle(feature, f"deltalake does not write tables with {feature}", "drop that feature")
        for feature in sorted(features)
    ]


def _set_property(name: str, reason: str) -> Obstacle:
    return Obstacle(name, f"the property {name} is set", f"unset it, {reason}")


def _vectors(table: DeltaTable) -> list[Obstacle]:
    import pyarrow as pa

    if "deletionVectors" in (table.protocol().reader_features or ()) and pa.table(table.deletion_vectors()).num_rows:
        return [Obstacle("rows", "rows are deleted by deletion vectors", _RESTORE, is_undone=True)]
    return []


def _blamed(obstacle: Obstacle, table: DeltaTable, found: Callable[[DeltaTable], list[Obstacle]]) -> Obstacle:
    """Return an obstacle with the commit that made it."""
    since = cause(table, lambda state: any(other.subject == obstacle.subject for other in found(state)))
    return obstacle._replace(since=since)


def _partitions(columns: list[str]) -> str:
    return f"partition columns {', '.join(columns)}" if columns else "no partition columns"


def _stored_name(field: Field) -> str:
    return str(field.metadata.get(STORED_NAME, field.name))
