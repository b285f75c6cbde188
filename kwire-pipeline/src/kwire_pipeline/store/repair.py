"""Repairing a store that is not whole (`check`).

A repair is a commit. It continues the newest commit with a row and a record that can be read. Each table gets the files
of the version that has most rows of that commit (`kwire_pipeline.store.table_version`), without missing files.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kwire._util.readable import counted
from kwire_pipeline.store import delta_table
from kwire_pipeline.store.check import (
    Finding,
    TableCheck,
    check,
    check_table,
    check_tables,
    faulty_files,
    is_derived,
    loses_rows,
    newest_record,
    obstacles_of_ingests,
)
from kwire_pipeline.store.errors import DamagedStore, StoreFault, UnwritableTable
from kwire_pipeline.store.obstacles import restore_before
from kwire_pipeline.store.record import (
    INGESTS,
    RECORDS,
    STATE,
    CommitRecord,
    StoreChange,
    StoreProgress,
    commit_number,
)
from kwire_pipeline.store.table_version import number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltalake import DeltaTable

    from kwire.storage.location import Location
    from kwire_pipeline.store.commits import PipelineStore
    from kwire_pipeline.store.record import DataFile


class CannotRepair(StoreFault, RuntimeError):
    """No commit of a store can be read, or only a backup can bring a table back."""


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
    newest = newest_record(store)
    if newest.number == 0:
        advice = "restore the folder from a backup, or ingest into a new one"
        raise CannotRepair(store.out, f"no commit can be read: {advice}")
    checks = check_tables(store, newest)
    undone = _undo(store, newest, checks, execute=execute)
    steps = [*undone, *_lost_tables(store, checks, execute=execute)]
    drops_gold = _drops_gold(checks)
    # 1. The difference between each table and its target.
    restoration = _Restoration(StoreChange("repair", newest.number), dict(newest.progress.totals))
    for checked in checks:
        if not _is_gone(checked):
            table = store.open_table(checked.name) if execute or checked.table is not None else None
            is_dropped = drops_gold and is_derived(checked.name)
            steps += restoration.add(checked, table, store.location.child(checked.name), is_dropped=is_dropped)
    # 2. One commit with a number that no table and no record has, so that it is applied to all of them.
    numbers = [newest.number, *(commit_number(path) for path, _ in store.records()), *restoration.numbers]
    progress = restoration.progress(newest.progress, checks)
    if drops_gold:
        progress.gold = {}
        steps.append(Finding("gold", "is dropped: run `kwire pipeline gold`"))
    steps += _forget_states(store, progress)
    lost, recovered = [], []
    if execute or not any(step.path == INGESTS for step in undone):  # its rows can be read only once that is undone
        lost = _lost_ingests(store, steps, numbers, execute=execute)
        recovered = store.removed_rows()
    steps += [Finding(INGESTS, f"gets the row of commit {row['number']} again") for row in recovered]
    steps.append(Finding(RECORDS, f"gets commit {max(numbers) + 1}, which continues commit {newest.number}"))
    if execute:
        store.restore(CommitRecord(max(numbers), progress), restoration.change, lost, recovered)
    return steps


@dataclass(slots=True)
class _Restoration:
    """The commit that returns tables to their targets.

    Attributes:
        change: the files to add and to remove.
        totals: the number of rows of each table before it.
        versions: the version of each table before it.
        numbers: the numbers of the last commits of tables.
    """

    change: StoreChange
    totals: dict[str, int]
    versions: dict[str, int] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)

    def add(
        self, checked: TableCheck, table: DeltaTable | None, location: Location, *, is_dropped: bool
    ) -> list[Finding]:
        """Add a table, and return the steps that return it to its target; a table that is dropped has no target."""
        name = checked.name
        current = {file.path: file for file in (() if table is None else delta_table.files_of(table))}
        target = {file.path: file for file in (() if is_dropped else checked.target)}
        added = [file for path, file in target.items() if path not in current]
        self.change.added[name] = [delta_table.with_statistics(location, file) for file in added]
        self.change.removed[name] = [current[path] for path in current.keys() - target.keys()]
        self.totals[name] = sum(file.rows for file in current.values())
        if table is not None:
            self.numbers.append(number_of(table))
            self.versions[name] = table.version()
        return [] if is_dropped else _steps(checked, current, target, self.change.base)

    def progress(self, newest: StoreProgress, checks: Sequence[TableCheck]) -> StoreProgress:
        """Return the progress of the record before the commit."""
        gone = {check.name for check in checks if _is_gone(check)}
        return replace(
            newest,
            versions={name: self.versions.get(name, 0) for name in newest.versions if name not in gone},
            totals={name: rows for name, rows in self.totals.items() if name not in gone},
            commits={check.name: number_of(check.table) for check in checks if check.table is not None},
        )


def _is_gone(check: TableCheck) -> bool:
    """Return whether a table of gold is missing, which the next build creates again."""
    return check.table is None and check.name.startswith("gold/")


def _drops_gold(checks: Sequence[TableCheck]) -> bool:
    """Return whether a file of gold is missing: its tables depend on each other, so all of gold is dropped then."""
    return any(is_derived(check.name) and (check.table is None or loses_rows(check)) for check in checks)


def _undo(store: PipelineStore, newest: CommitRecord, checks: list[TableCheck], *, execute: bool) -> list[Finding]:
    """Restore the versions of tables before other programs deleted rows by vectors, or changed columns.

    `checks` are then those of these versions.

    Raises:
        CannotRepair: something else prevents commits to a table, or such a version is gone.
    """
    known = {checked.name: checked.obstacles for checked in checks} | {INGESTS: obstacles_of_ingests(store)}
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
            checks[position] = check_table(store, newest, checked.name, checked.pin, version)
    return steps


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
        lost = [file for file, _ in faulty_files(store, INGESTS, ingests)]
    steps += [Finding(f"{INGESTS}/{file.path}", "is dropped", file.rows) for file in lost]
    return lost


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


def _forget_states(store: PipelineStore, progress: StoreProgress) -> list[Finding]:
    """Remove states that do not exist from the progress of brokers."""
    paths = {path for path, _ in store.list_files(STATE)} | {""}
    steps = []
    reporters = dict(progress.reporters)
    for key, reporter in reporters.items():
        states = {reporter["state"], *(point["state"] for point in reporter["starts"])}
        if not states <= paths:
            starts = [point for point in reporter["starts"] if point["state"] in paths]
            state = reporter["state"] if reporter["state"] in paths else ""
            reporters[key] = {**reporter, "state": state, "starts": starts}
            steps.append(Finding(STATE, f"forgets what broker {key} has reported"))
    progress.reporters = reporters
    return steps
