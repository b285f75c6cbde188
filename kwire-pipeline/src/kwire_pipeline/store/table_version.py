"""The version of a Delta table that has the rows of a commit, whatever other programs have done to the table since.

A commit of kwire pins each table: the Delta version, the number of the last commit that changed the table, and its
number of rows. Other programs add versions, so the pinned version is only where the search begins:

| since the pinned commit | version that is read |
|---|---|
| no other commit, or only commits that keep all rows (compaction, vacuum, properties) | the newest of them |
| another program changed rows (DELETE, UPDATE, RESTORE, overwrite) | the one before, with a warning |
| another program renamed, dropped, or replaced columns | the one before, with a warning (`obstacles`) |
| the same, and vacuum deleted the files of the version before | the newest, if it has the same number of rows |
| the log does not say (cleaned up) | the same |

Otherwise the rows are gone, which is an error and never an empty table.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kwire._util.readable import counted
from kwire_pipeline.store.delta_table import files_of, open_table
from kwire_pipeline.store.errors import CommitGone, DamagedStore
from kwire_pipeline.store.obstacles import changed_columns, has_mapping
from kwire_pipeline.store.table_log import APPLICATION, LogEntry, TableLog

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyarrow.fs import FileSystem

    from kwire.storage.location import Location
    from kwire_pipeline.store.record import Pin

log = logging.getLogger(__name__)

BLAMED_ENTRIES = 20
"""Maximum number of commits of a log that are searched for the program that changed a table. Chosen, not measured."""

REMEMBERED_WARNINGS = 1024
"""Number of warnings that are not repeated."""


class PinnedTable(NamedTuple):
    """A table at the version that has the rows of a commit.

    Attributes:
        table: the table at that version.
        head: the table at its newest version.
        blocker: the first commit after it that changes rows, by kwire or by another program; None without one.
        note: the way in which the version was found if its pinned version is gone; empty otherwise.
    """

    table: DeltaTable
    head: DeltaTable
    blocker: LogEntry | None = None
    note: str = ""

    @property
    def ignored(self) -> LogEntry | None:
        """The commit of another program that changed rows after kwire's last one."""
        return self.blocker if self.blocker is not None and not self.blocker.number else None


def number_of(table: DeltaTable) -> int:
    """Return the number of the last commit of the store that a table has; 0 without any."""
    return table.transaction_version(APPLICATION) or 0


def rows_of(table: DeltaTable) -> int:
    """Return the number of rows of a table, from the numbers that Delta has for its files."""
    return sum(file.rows for file in files_of(table))


def pinned_table(location: Location, name: str, pin: Pin, head: DeltaTable | None = None) -> PinnedTable:
    """Return a table as a commit left it.

    Args:
        location: the folder of the store.
        name: the folder of the table.
        pin: the commit.
        head: the newest version, if it is open already.

    Raises:
        DamagedStore: the rows of the newest commit are gone.
        CommitGone: the rows of an older commit are gone.
    """
    head = head or open_table(location.child(name).native)
    if head is None:
        raise DamagedStore(location.given, f"the table {name} does not exist")
    if number_of(head) == pin.number and head.version() == pin.version:
        return PinnedTable(head, head)
    pinned = _pinned_table(location, name, pin, head)
    if pinned.note or has_mapping(pinned.table):
        return _with_same_columns(location, name, pin, pinned)
    return pinned


def _with_same_columns(location: Location, name: str, pin: Pin, pinned: PinnedTable) -> PinnedTable:
    """Return the version before another program renamed, dropped, or replaced columns."""
    child = location.child(name)
    changed = changed_columns(pinned.table, open_table(child.native, pin.version))
    if not changed:
        return pinned
    first = min((fault.since for fault in changed if fault.since is not None), default=None)
    table = None if first is None else open_table(child.native, first.version - 1)
    if first is None or table is None or _missing_files(location.files(), name, table):
        raise DamagedStore(location.given, f"{name}: {'; '.join(map(str, changed))}")
    _warn(f"{location.given}: {name}: ignoring {first}, which changed columns")
    return PinnedTable(table, pinned.head, first)


def _pinned_table(location: Location, name: str, pin: Pin, head: DeltaTable) -> PinnedTable:
    """Return the version of a table that has the rows of a commit."""
    number, files = number_of(head), location.files()
    if number < pin.number:
        if pin.rows is not None and rows_of(head) == pin.rows:
            return PinnedTable(head, head, note=f"its log does not name commit {pin.number}")
        raise DamagedStore(location.given, f"{name} lacks commit {pin.number}{blame(location, name, head)}")
    table_log = TableLog.of(location.child(name), head)
    first = _version_of_commit(table_log, pin, head)
    version, blocker = (None, None) if first is None else table_log.last_with_same_rows(first, head.version())
    if version == head.version() and number == pin.number:
        return PinnedTable(head, head)
    reason = f"the log of its version {pin.version} is gone"
    # An older commit is read as it was, unless its files were merged and deleted since.
    candidates = [version] if number == pin.number else [first, version]
    for candidate in candidates if blocker is not None or number > pin.number else ():
        table = None if candidate is None else open_table(location.child(name).native, candidate)
        if table is None:
            continue
        missing = _missing_files(files, name, table)
        if not missing:
            pinned = PinnedTable(table, head, blocker)
            if pinned.ignored is not None:
                _warn(f"{location.given}: {name}: ignoring {pinned.ignored}, which changed rows")
            return pinned
        reason = f"{counted(missing, 'file')} of its version {candidate} {'was' if missing == 1 else 'were'} deleted"
    # Fall forward: the newest version of the table has no later commit of kwire.
    if number == pin.number and pin.rows is not None and rows_of(head) == pin.rows:
        note = f"{reason}; version {head.version()} has as many rows"
        _warn(f"{location.given}: {name}: {note}")
        return PinnedTable(head, head, note=note)
    if number > pin.number:
        gone = f"commit {pin.number} can no longer be read: {name}: {reason}: read a newer commit"
        raise CommitGone(location.given, gone)
    changed = f" after {blocker}" if blocker is not None else blame(location, name, head)
    raise DamagedStore(location.given, f"{name} lacks rows of commit {pin.number}: {reason}{changed}")


@lru_cache(REMEMBERED_WARNINGS)
def _warn(text: str) -> None:
    """Log a warning once: each reader of a stream opens the same tables again."""
    log.warning("%s", text)


def blame(location: Location, name: str, head: DeltaTable) -> str:
    """Return a text that names the newest commit of another program in a log; empty without any."""
    table_log = TableLog.of(location.child(name), head)
    newest = table_log.newest_entries(head.version(), BLAMED_ENTRIES)
    entries = [entry for entry in newest if not entry.number and entry.version]  # version 0 is the creation
    changing = [entry for entry in entries if entry.changes_rows]
    return f" after {(changing or entries)[0]}" if entries else ""


def _version_of_commit(table_log: TableLog, pin: Pin, head: DeltaTable) -> int | None:
    """Return the version that a commit has made; None if the log does not say it.

    It is a later one than expected if another program has committed between the decision and the commit to the table.
    """
    for version in range(pin.version, head.version() + 1):
        entry = table_log.entry(version)
        if entry is None:
            # The version of a checkpoint can be opened without the commit that made it.
            at_version = open_table(table_log.location.native, version) if version == pin.version else None
            return version if at_version is not None and number_of(at_version) == pin.number else None
        if pin.number in {0, entry.number}:
            return version
    return None


def _missing_files(files: FileSystem, name: str, table: DeltaTable) -> int:
    from pyarrow.fs import FileType

    paths = [f"{name}/{file.path}" for file in files_of(table)]
    return sum(info.type == FileType.NotFound for info in files.get_file_info(paths))
