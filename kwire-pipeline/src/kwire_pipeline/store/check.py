"""Checking that a store is whole, and repairing one that is not.

A store is whole if a reader and the next writer find all that they need: the rows of `ingests`, the record of the
newest commit, each file of each table at that commit, and the states of brokers. Other programs may rewrite files of
the tables, but not change rows. Properties and features of tables with which the next writer fails are faults, too.

A repair is a commit. It continues the newest commit with a row and a record that can be read. Each table gets the files
of the version that has most rows of that commit (`kwire_pipeline.store.table_version`), without missing files.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from deltalake.exceptions import DeltaError

from kwire._util.readable import counted
from kwire.errors import KwireError
from kwire_pipeline.store import delta_table
from kwire_pipeline.store.errors import DamagedStore, UnusableTable, UnwritableTable
from kwire_pipeline.store.obstacles import Obstacle, obstacles, restore_before
from kwire_pipeline.store.record import (
    DESIRED_CONFIGS,
    INGESTS,
    RECORDS,
    STATE,
    CommitRecord,
    Pin,
    StoreChange,
    StoreProgress,
    commit_number,
)
from kwire_pipeline.store.table_log import TableLog
from kwire_pipeline.store.table_version import blame, number_of, pinned_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


class CannotRepair(KwireError, RuntimeError):
    """No commit of a store can be read, or only a backup can bring a table back."""

    def __init__(
        self,
        out: str,
        reason: str = "no commit can be read: restore the folder from a backup, or ingest into a new one",
    ) -> None:
        super().__init__(out, reason)
        self.out = out
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.out}: {self.reason}"


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
    newest = _newest(store)
    findings = _faults_of_ingests(store, newest)
    for checked in check_tables(store, newest):
        findings += checked.findings
        known = {finding.text for finding in checked.findings}
        findings += [Finding(checked.name, text) for text in map(str, checked.obstacles) if text not in known]
    states = {path for path, _ in store.list_files(STATE)}
    return [*findings, *(Finding(path, "does not exist") for path in sorted(newest.progress.states() - states))]


def check_tables(store: PipelineStore, newest: CommitRecord | None = None) -> list[TableCheck]:
    """Return the state of each table, whatever is wrong with the others."""
    record = _newest(store) if newest is None else newest
    return [_check_table(store, record, name, pin) for name, pin in sorted(record.progress.pins.items())]


def repair(store: PipelineStore, *, execute: bool) -> list[Finding]:
    """Return the steps that make a store whole; none if it is. `execute` takes them.

    No other process must write to the store meanwhile. Gold is dropped if a file of it is missing: the next build
    computes it again from silver. The next response of a broker without its state is ingested like its first one.

    Raises:
        CannotRepair: no commit can be read, a property or a feature of a table prevents commits, or the log of a table
            is damaged, or lost while its files are not.
        StoreInUse: another process wrote to the store.
    """
    if not check(store):
        return []
    newest = _newest(store)
    if newest.number == 0:
        raise CannotRepair(store.out)
    checks = check_tables(store, newest)
    undone = _undo(store, newest, checks, execute=execute)
    steps = [*undone, *_lost_tables(store, checks, execute=execute)]
    change = StoreChange("repair", newest.number)
    # 1. The difference between each table and its target.
    derived = {check.name for check in checks if _is_derived(check.name)}
    drops_gold = _drops_gold(checks)
    versions: dict[str, int] = {}
    numbers = [newest.number, *(commit_number(path) for path, _ in store.records())]
    totals = dict(newest.progress.totals)
    for checked in checks:
        name = checked.name
        if checked.table is None and name.startswith("gold/"):
            continue  # the next build creates it
        table = store.open_table(name) if execute or checked.table is not None else None
        location = store.location.child(name)
        current = {file.path: file for file in (() if table is None else delta_table.files_of(table))}
        target = {file.path: file for file in (() if drops_gold and name in derived else checked.target)}
        if not (drops_gold and name in derived):
            steps += _steps(checked, current, target, newest.number)
        added = [file for path, file in target.items() if path not in current]
        change.added[name] = [delta_table.with_statistics(location, file) for file in added]
        change.removed[name] = [current[path] for path in current.keys() - target.keys()]
        if table is not None:
            numbers.append(number_of(table))
            versions[name] = table.version()
        totals[name] = sum(file.rows for file in current.values())
    # 2. One commit with a number that no table and no record has, so that it is applied to all of them.
    progress = _repaired_progress(newest.progress, checks, versions, totals)
    if drops_gold:
        progress.gold = {}
        steps.append(Finding("gold", "is dropped: run `kwire pipeline gold`"))
    steps += _forget_states(store, progress)
    lost = _lost_ingests(store, steps, numbers, execute=execute)
    recovered = store.removed_rows()
    steps += [Finding(INGESTS, f"gets the row of commit {row['number']} again") for row in recovered]
    steps.append(Finding(RECORDS, f"gets commit {max(numbers) + 1}, which continues commit {newest.number}"))
    if execute:
        store.restore(CommitRecord(max(numbers), progress), change, lost, recovered)
    return steps


def _repaired_progress(
    progress: StoreProgress, checks: Sequence[TableCheck], versions: Mapping[str, int], totals: Mapping[str, int]
) -> StoreProgress:
    """Return the progress with the versions and totals of the tables that exist after a repair."""
    gone = {check.name for check in checks if check.table is None and check.name.startswith("gold/")}
    return replace(
        progress,
        versions={name: versions.get(name, 0) for name in progress.versions if name not in gone},
        totals={name: rows for name, rows in totals.items() if name not in gone},
        commits={check.name: number_of(check.table) for check in checks if check.table is not None},
    )


def _drops_gold(checks: Sequence[TableCheck]) -> bool:
    """Return whether a file of gold is missing: its tables depend on each other, so all of gold is dropped then."""
    return any(_is_derived(check.name) and (check.table is None or _loses_rows(check)) for check in checks)


def _undo(store: PipelineStore, newest: CommitRecord, checks: list[TableCheck], *, execute: bool) -> list[Finding]:
    """Restore the versions of tables before other programs deleted rows by vectors, or changed columns.

    `checks` are then those of these versions.

    Raises:
        CannotRepair: something else prevents commits to a table, or such a version is gone.
    """
    known = {checked.name: checked.obstacles for checked in checks} | {INGESTS: _obstacles_of_ingests(store)}
    restored = {
        name: min((found.since for found in reasons if found.since is not None), default=None)
        for name, reasons in known.items()
        if reasons
    }
    reasons = [
        f"{name}: {reason}"
        for name, first in restored.items()
        for reason in known[name]
        if first is None or not first.version or not reason.is_undone
    ]
    if reasons:
        raise CannotRepair(store.out, "; ".join(reasons))
    steps = []
    for name, first in restored.items():
        assert first is not None
        steps.append(Finding(name, f"returns to version {first.version - 1}, before {first}"))
        if execute:
            try:
                restore_before(store.location.child(name).native, store.open_table(name), first)
            except UnwritableTable as error:
                raise CannotRepair(store.out, f"{name}: {error.reason}") from None
    for position, checked in enumerate(checks):
        if first := restored.get(checked.name):
            version = None if execute else first.version - 1
            checks[position] = _check_table(store, newest, checked.name, checked.pin, version)
    return steps


def _obstacles_of_ingests(store: PipelineStore) -> list[Obstacle]:
    try:
        ingests = store.open_table(INGESTS)
        delta_table.files_of(ingests)  # raises UnusableTable
        return obstacles(ingests)
    except DamagedStore:
        return []  # it is created again
    except UnusableTable as error:
        return [Obstacle("log", error.reason, "")]


def _lost_ingests(store: PipelineStore, steps: list[Finding], numbers: list[int], *, execute: bool) -> list[DataFile]:
    """Return the faulty files of `ingests`, and add the steps and the number of its last commit."""
    lost: list[DataFile] = []
    try:
        ingests = store.open_table(INGESTS)
    except DamagedStore:
        steps.append(Finding(INGESTS, "is created again without its rows: older commits can no longer be read"))
        if execute:
            store.create_again(INGESTS)
    else:
        numbers.append(number_of(ingests))
        lost = [file for file, _ in _faulty_files(store, INGESTS, ingests)]
    steps += [Finding(f"{INGESTS}/{file.path}", "is dropped", file.rows) for file in lost]
    return lost


def _newest(store: PipelineStore) -> CommitRecord:
    """Return the newest record that can be read and was decided; an empty one without any.

    If no row of `ingests` can be read, a record that all of its tables have was decided.
    """
    rows: list[Row] = []
    with suppress(UnusableTable):
        rows = store.readable_rows()
    for row in rows:
        with suppress(OSError, ValueError, KeyError, TypeError):
            return store.record(row["record"])
    return next(iter([] if rows else store.applied_records()), CommitRecord())


def _faults_of_ingests(store: PipelineStore, newest: CommitRecord) -> list[Finding]:
    try:
        ingests = store.open_table(INGESTS)
        faulty = _faulty_files(store, INGESTS, ingests)
    except DamagedStore:
        return [Finding(INGESTS, "does not exist")]
    except UnusableTable as error:
        return [Finding(INGESTS, error.reason)]
    findings = [Finding(f"{INGESTS}/{file.path}", fault) for file, fault in faulty]
    findings += [Finding(INGESTS, str(reason)) for reason in _obstacles_of_ingests(store)]
    removed = store.removed_rows()
    author = blame(store.location, INGESTS, ingests)
    findings += [Finding(INGESTS, f"lacks the row of commit {row['number']}{author}") for row in removed]
    rows = store.readable_rows()
    if rows and newest.number < rows[0]["number"]:
        findings.append(Finding(rows[0]["record"], "cannot be read"))
    number, last = number_of(ingests), max((row["number"] for row in rows), default=0)
    if last < number and not findings:
        findings.append(Finding(INGESTS, f"lacks the rows of commits {last + 1} to {number}{author}"))
    return findings


def _check_table(
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
        text = str(error).removeprefix(f"{store.out}: ").partition(": run `kwire")[0].removeprefix(f"{name} ")
        checked.findings.append(Finding(name, text, (pin.rows or 0) if checked.table is None else 0))
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
            checked.findings.append(Finding(name, _reason(store, name, error)))
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


def _reason(store: PipelineStore, name: str, error: KwireError) -> str:
    """Return the text of an error about a table, without the store and the advice to run this check."""
    if isinstance(error, UnusableTable):
        return error.reason
    return str(error).removeprefix(f"{store.out}: ").removeprefix(f"{name} ").partition(": run `kwire")[0]


def _is_derived(name: str) -> bool:
    """Return whether a build computes a table again."""
    return name.startswith("gold/") and name != f"gold/{DESIRED_CONFIGS}"


def _loses_rows(checked: TableCheck) -> bool:
    return bool(checked.findings) and checked.repaired_rows < (checked.pin.rows or checked.repaired_rows + 1)


def _lost_tables(store: PipelineStore, checks: list[TableCheck], *, execute: bool) -> list[Finding]:
    """Create tables that do not exist, without rows.

    Raises:
        CannotRepair: the files of such a table exist, and nothing says which of them are its rows.
    """
    steps = []
    for checked in checks:
        if checked.table is None:
            if any(store.list_files(checked.name)):
                text = f"{checked.name} has files and no log: restore {checked.name}/_delta_log from a backup"
                raise CannotRepair(store.out, text)
            text = "is dropped" if checked.name.startswith("gold/") else "is created again without rows"
            steps.append(Finding(checked.name, text, checked.pin.rows or 0))
            if execute and not checked.name.startswith("gold/"):
                store.create_again(checked.name)
    return steps


def _steps(
    checked: TableCheck, current: dict[str, DataFile], target: dict[str, DataFile], number: int
) -> list[Finding]:
    """Return the steps that bring a table to its target."""
    steps = []
    name, pin = checked.name, checked.pin
    undone = current.keys() - target.keys()
    again = target.keys() - current.keys()
    missing = [finding for finding in checked.findings if finding.path != name]
    if checked.table is not None and number_of(checked.table) > number and undone:
        rows = sum(current[path].rows for path in undone)
        steps.append(Finding(name, f"returns to commit {number}: ingest later frames again", rows))
    elif checked.changes and (undone or again):
        steps.append(
            Finding(name, f"returns to the rows of commit {pin.number}", sum(target[path].rows for path in again))
        )
    if missing:
        steps.append(
            Finding(name, f"loses {counted(len(missing), 'missing file')}", sum(finding.rows for finding in missing))
        )
    elif pin.rows is not None and checked.table is not None and checked.repaired_rows < pin.rows and checked.findings:
        lost = pin.rows - checked.repaired_rows
        steps.append(Finding(name, f"continues with {counted(checked.repaired_rows, 'readable row')}: loses", lost))
    return steps


def _faulty_files(store: PipelineStore, name: str, table: DeltaTable) -> list[tuple[DataFile, str]]:
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


def _forget_states(store: PipelineStore, progress: StoreProgress) -> list[Finding]:
    """Remove states that do not exist from the progress of brokers."""
    paths = {path for path, _ in store.list_files(STATE)} | {""}
    steps = []
    reporters = dict(progress.reporters)
    for key, reporter in reporters.items():
        states = {reporter["state"], *reporter["days"].values()}
        if not states <= paths:
            days = {day: state for day, state in reporter["days"].items() if state in paths}
            state = reporter["state"] if reporter["state"] in paths else ""
            reporters[key] = {**reporter, "state": state, "days": days}
            steps.append(Finding(STATE, f"forgets what broker {key} has reported"))
    progress.reporters = reporters
    return steps
