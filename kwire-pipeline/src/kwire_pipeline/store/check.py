"""Checking that a store is whole. `kwire_pipeline.store.repair` repairs one that is not.

A store is whole if a reader and the next writer find all that they need: the rows of `ingests`, the record of the
newest commit, each file of each table at that commit, and the states of brokers. Other programs may rewrite files of
the tables, but not change rows. Properties and features of tables with which the next writer fails are faults, too.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from deltalake.exceptions import DeltaError

from kwire._util.readable import counted
from kwire.errors import KwireError
from kwire_pipeline.store import delta_table
from kwire_pipeline.store.errors import DamagedStore, StoreFault, UnusableTable
from kwire_pipeline.store.obstacles import Obstacle, obstacles, unusable_files
from kwire_pipeline.store.record import (
    DESIRED_CONFIGS,
    INGESTS,
    STATE,
    CommitRecord,
    Pin,
)
from kwire_pipeline.store.table_log import TableLog
from kwire_pipeline.store.table_version import blame, number_of, pinned_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltalake import DeltaTable

    from kwire_pipeline.store.commits import PipelineStore
    from kwire_pipeline.store.ingests import Row
    from kwire_pipeline.store.record import DataFile


PARQUET_END = 8
"""Bytes after the footer of a Parquet file: the size of the footer, and `PAR1`."""


class Finding(NamedTuple):
    """A fault of a store, or a step of its repair.

    Attributes:
        path: a table, or a file, relative to the store.
        text: the fault, or the action of the step.
        rows: number of rows that are lost, or that the step drops.
    """

    path: str
    text: str
    rows: int = 0

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" + (f" ({counted(self.rows, 'row')})" if self.rows else "")


@dataclass
class TableCheck:
    """The state of one table at the newest commit that can be read.

    Attributes:
        name: its folder.
        pin: the table as the commit left it.
        rows: number of rows that can be read now.
        findings: its faults; none if it is whole.
        obstacles: reasons for which kwire cannot write to it, or cannot read it.
        target: the files that a repair leaves.
        table: the table at its newest version; None if it does not exist.
        changes: True if a repair changes the table.
    """

    name: str
    pin: Pin
    rows: int = 0
    findings: list[Finding] = field(default_factory=list)
    obstacles: list[Obstacle] = field(default_factory=list)
    target: list[DataFile] = field(default_factory=list)
    table: DeltaTable | None = None
    changes: bool = False

    @property
    def repaired_rows(self) -> int:
        """The number of rows after a repair."""
        return sum(file.rows for file in self.target)

    def __str__(self) -> str:
        expected = self.repaired_rows if self.pin.rows is None else self.pin.rows
        if not self.findings:
            text = f"{self.name}: whole at commit {self.pin.number} ({counted(expected, 'row')})"
            return f"{text}, and cannot be written" if self.obstacles else text
        lost = max(expected - self.repaired_rows, 0)
        return (
            f"{self.name}: not whole since commit {self.pin.number}: {self.rows:,} of {expected:,} rows can be read;"
            f" repair leaves {counted(self.repaired_rows, 'row')} and loses {lost:,}"
        )


def check(store: PipelineStore) -> list[Finding]:
    """Return the faults of a store; none if it is whole."""
    newest = newest_record(store)
    findings = _faults_of_ingests(store, newest)
    for checked in check_tables(store, newest):
        findings += checked.findings
        known = {finding.text for finding in checked.findings}
        findings += [Finding(checked.name, text) for text in map(str, checked.obstacles) if text not in known]
    states = {path for path, _ in store.list_files(STATE)}
    return [*findings, *(Finding(path, "does not exist") for path in sorted(newest.progress.states() - states))]


def check_tables(store: PipelineStore, newest: CommitRecord | None = None) -> list[TableCheck]:
    """Return the state of each table, whatever is wrong with the others."""
    record = newest_record(store) if newest is None else newest
    return [check_table(store, record, name, pin) for name, pin in sorted(record.progress.pins.items())]


def obstacles_of_ingests(store: PipelineStore) -> list[Obstacle]:
    try:
        ingests = store.open_table(INGESTS)
    except DamagedStore:
        return []  # it is created again
    except UnusableTable as error:
        return [Obstacle("log", error.reason, "")]
    try:
        delta_table.files_of(ingests)
    except UnusableTable as error:
        return [unusable_files(ingests, error)]
    return obstacles(ingests)


def newest_record(store: PipelineStore) -> CommitRecord:
    """Return the newest record that can be read and was decided; an empty one without any.

    A record after the last row of `ingests` that all of its tables have was decided: the end of `ingests` is lost.
    """
    rows: list[Row] = []
    with suppress(UnusableTable):
        rows = store.readable_rows()
    last = rows[0]["number"] if rows else 0
    later = CommitRecord()
    with suppress(UnusableTable):  # of a table, which has a finding of its own
        later = next(iter(store.applied_records()), later)
    if later.number > last:
        return later
    for row in rows:
        with suppress(OSError, DamagedStore):
            return store.record(row["record"])
    return CommitRecord()


def _faults_of_ingests(store: PipelineStore, newest: CommitRecord) -> list[Finding]:
    try:
        ingests = store.open_table(INGESTS)
        faulty = faulty_files(store, INGESTS, ingests)
    except DamagedStore:
        return [Finding(INGESTS, "does not exist")]
    except UnusableTable as error:
        return [Finding(INGESTS, error.reason)]
    findings = [Finding(f"{INGESTS}/{file.path}", fault) for file, fault in faulty]
    findings += [Finding(INGESTS, str(reason)) for reason in obstacles_of_ingests(store)]
    removed = store.removed_rows()
    author = blame(store.location, INGESTS, ingests)
    findings += [Finding(INGESTS, f"lacks the row of commit {row['number']}{author}") for row in removed]
    rows = store.readable_rows()
    if rows and newest.number < rows[0]["number"]:
        findings.append(Finding(rows[0]["record"], "cannot be read"))
    number, last = max(number_of(ingests), newest.number), max((row["number"] for row in rows), default=0)
    if last < number and not findings:
        findings.append(Finding(INGESTS, f"lacks the rows of commits {last + 1} to {number}{author}"))
    return findings


def check_table(
    store: PipelineStore, record: CommitRecord, name: str, pin: Pin, version: int | None = None
) -> TableCheck:
    """Return the state of a table at a version [default: the newest]."""
    checked = TableCheck(name, pin)
    location = store.location.child(name)
    try:
        checked.table = store.open_table(name)
        if version is not None:
            checked.table = delta_table.open_table(location.native, version) or checked.table
        number = number_of(checked.table)
        if number > record.number:
            text = f"has commit {number}, and the last one that can be read is {record.number}"
            checked.findings.append(Finding(name, text))
        checked.obstacles = obstacles(checked.table, delta_table.open_table(location.native, pin.version))
        _find_target(store, record, checked)
    except UnusableTable as error:
        checked.obstacles = [Obstacle("log", error.reason, "")]
        checked.findings.append(Finding(name, error.reason, pin.rows or 0))
    except (KwireError, DeltaError, OSError, ValueError) as error:
        rows = (pin.rows or 0) if checked.table is None else 0
        checked.findings.append(Finding(name, _reason(name, error), rows))
    return checked


def _find_target(store: PipelineStore, record: CommitRecord, checked: TableCheck) -> None:
    """Find the files of a table at a commit, applied or not, and the faults of the table."""
    table, name, pin = checked.table, checked.name, checked.pin
    if table is None:
        return
    faults = _faults(store, name)
    if pin.number == record.number and number_of(table) < pin.number and name in record.change.tables:
        # The commit is decided, and the next writer applies it.
        removed = {file.path for file in record.change.removed.get(name, ())}
        files = [file for file in delta_table.files_of(table) if file.path not in removed]
        candidates = [[*files, *record.change.added.get(name, ())]]
    else:
        try:
            pinned = pinned_table(store.location, name, pin, table)
        except KwireError as error:
            checked.findings.append(Finding(name, _reason(name, error)))
            candidates = _candidates(store, checked)
        else:
            if pinned.ignored is not None:
                changed = "rows" if pinned.ignored.changes_rows else "columns"
                text = f"{pinned.ignored} changed {changed} after commit {pin.number}"
                rows = abs(sum(file.rows for file in delta_table.files_of(table)) - (pin.rows or 0))
                checked.findings.append(Finding(name, text, rows if pin.rows is not None else 0))
                checked.changes = True
            candidates = [delta_table.files_of(pinned.table)]
    whole = [[file for file in files if not faults(file)] for files in candidates]
    checked.target = max(whole, key=lambda files: sum(file.rows for file in files), default=[])
    checked.rows = checked.repaired_rows
    if len(candidates) == 1:
        bad = [(file, fault) for file in candidates[0] if (fault := faults(file))]
        checked.findings += [Finding(f"{name}/{file.path}", fault, file.rows) for file, fault in bad]
    total = sum(file.rows for file in candidates[0]) if candidates else 0
    if not checked.findings and pin.rows is not None and total != pin.rows:
        checked.findings.append(Finding(name, f"has {counted(total, 'row')}, expected {pin.rows:,}"))


def _candidates(store: PipelineStore, checked: TableCheck) -> list[list[DataFile]]:
    """Return the files of the versions of a table that may have most rows of a commit: as pinned, and the newest."""
    if checked.table is None:
        return []
    candidates = [delta_table.files_of(checked.table)]
    newest, pinned = checked.table.version(), checked.pin.version
    location = store.location.child(checked.name)
    same_rows, _ = TableLog.of(location, checked.table).last_with_same_rows(pinned, newest)
    for version in {pinned, same_rows} - {newest}:
        table = delta_table.open_table(location.native, version)
        if table is not None and number_of(table) >= checked.pin.number:
            candidates.append(delta_table.files_of(table))
    return candidates


def _reason(name: str, error: Exception) -> str:
    """Return the text of an error about a table, without the store and the advice to run this check."""
    return (error.reason if isinstance(error, StoreFault) else str(error)).removeprefix(f"{name} ")


def is_derived(name: str) -> bool:
    """Return whether a build computes a table again."""
    return name.startswith("gold/") and name != f"gold/{DESIRED_CONFIGS}"


def loses_rows(checked: TableCheck) -> bool:
    return bool(checked.findings) and checked.repaired_rows < (checked.pin.rows or checked.repaired_rows + 1)


def faulty_files(store: PipelineStore, name: str, table: DeltaTable) -> list[tuple[DataFile, str]]:
    faults = _faults(store, name)
    return [(file, fault) for file in delta_table.files_of(table) if (fault := faults(file))]


def _faults(store: PipelineStore, name: str) -> Callable[[DataFile], str]:
    """Return a function that says what is wrong with a file of a table; nothing if it is whole."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    paths = {path for path, _ in store.list_files(name)}

    def fault(file: DataFile) -> str:
        path = f"{name}/{file.path}"
        if path not in paths:
            return "does not exist"
        # Errors of the storage are not faults of the file, so it is read before it is parsed.
        with store.files.open_input_file(path) as stream:
            stream.seek(max(stream.size() - PARQUET_END, 0))
            size = PARQUET_END + int.from_bytes(stream.read()[:4], "little")
            stream.seek(max(stream.size() - size, 0))
            footer = pa.BufferReader(stream.read())
        try:
            rows = pq.read_metadata(footer).num_rows
        except (pa.ArrowInvalid, OSError):
            return "is not a whole Parquet file"
        return "" if rows == file.rows else f"has {counted(rows, 'row')}, expected {file.rows:,}"

    return fault
