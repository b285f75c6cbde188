"""Checking that a store is whole, and repairing one that is not.

A store is whole if a reader and the next writer find all that they need: the rows of `ingests`, the record of the
newest commit, each file of each table at that commit, and the states of brokers. A repair is a commit. It continues the
newest commit with a row and a record that can be read: tables return to what they were then, without missing files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kwire.errors import KwireError
from kwire.spark.store import delta_table
from kwire.spark.store.record import DESIRED_CONFIGS, INGESTS, RECORDS, STATE, CommitRecord, StoreChange, StoreProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltalake import DeltaTable

    from kwire.spark.store.commits import PipelineStore
    from kwire.spark.store.record import DataFile


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
        return f"{self.path}: {self.text}" + (f" ({self.rows:,} rows)" if self.rows else "")


class CannotRepair(KwireError, RuntimeError):
    """No commit of a store can be read."""

    def __init__(self, out: str) -> None:
        super().__init__(out)
        self.out = out

    def __str__(self) -> str:
        return f"{self.out}: no commit can be read: restore the folder from a backup, or ingest into a new one"


def check(store: PipelineStore) -> list[Finding]:
    """Return the faults of a store; none if it is whole."""
    ingests = store.open_table(INGESTS)
    findings = [Finding(f"{INGESTS}/{file.path}", fault) for file, fault in _faulty_files(store, INGESTS, ingests)]
    rows = store.readable_rows()
    newest = _newest(store)
    if rows and newest.number < rows[0]["number"]:
        findings.append(Finding(rows[0]["record"], "cannot be read"))
    for name, files in _tables_at(store, newest).items():
        table = store.open_table(name)
        number = table.transaction_version(delta_table.APPLICATION) or 0
        if number > newest.number:
            findings.append(Finding(name, f"has commit {number}, and the last one that can be read is {newest.number}"))
        faults = _faults(store, name)
        findings += [Finding(f"{name}/{file.path}", fault, file.rows) for file in files if (fault := faults(file))]
    states = {path for path, _ in store.list_files(STATE)}
    return [*findings, *(Finding(path, "does not exist") for path in sorted(newest.progress.states() - states))]


def repair(store: PipelineStore, *, execute: bool) -> list[Finding]:
    """Return the steps that make a store whole; none if it is. `execute` takes them.

    No other process must write to the store meanwhile. Gold is dropped if a file of it is missing: the next build
    computes it again from silver. The next response of a broker without its state is ingested like its first one.

    Raises:
        CannotRepair: no commit can be read.
        StoreInUse: another process wrote to the store.
    """
    if not check(store):
        return []
    newest = _newest(store)
    if newest.number == 0:
        raise CannotRepair(store.out)
    # 1. The target: the files of each table at the newest readable commit, without missing ones. A table of gold
    #    depends on the others, so if one file of gold is missing, all of gold is dropped.
    steps: list[Finding] = []
    change = StoreChange("repair", newest.number)
    numbers = [newest.number, *store.record_numbers()]
    versions: dict[str, int] = {}
    targets = _tables_at(store, newest)
    missing = {name: [file for file in files if _faults(store, name)(file)] for name, files in targets.items()}
    derived = [name for name in targets if name.startswith("gold/") and name != f"gold/{DESIRED_CONFIGS}"]
    drops_gold = any(missing[name] for name in derived)
    # 2. The difference between each table and its target. A later commit may have reached only some of the tables.
    for name, files in targets.items():
        table = store.open_table(name)
        numbers.append(table.transaction_version(delta_table.APPLICATION) or 0)
        versions[name] = table.version()
        target = {file.path: file for file in files}
        current = {file.path: file for file in delta_table.files_of(table)}
        if undone := current.keys() - target.keys():
            rows = sum(current[path].rows for path in undone)
            steps.append(Finding(name, f"returns to commit {newest.number}: ingest later frames again", rows))
        dropped = files if drops_gold and name in derived else missing[name]
        if dropped and not (drops_gold and name in derived):
            steps.append(Finding(name, f"loses {len(dropped)} missing files", sum(file.rows for file in dropped)))
        for file in dropped:
            del target[file.path]
        change.added[name] = [target[path] for path in target.keys() - current.keys()]
        change.removed[name] = [current[path] for path in current.keys() - target.keys()]
    # 3. One commit with a number that no table and no record has, so that it is applied to all of them.
    progress = replace(newest.progress, versions=versions)
    if drops_gold:
        progress.gold = {}
        steps.append(Finding("gold", "is dropped: run `kwire pipeline gold`"))
    steps += _forget_states(store, progress)
    ingests = store.open_table(INGESTS)
    numbers.append(ingests.transaction_version(delta_table.APPLICATION) or 0)
    lost = [file for file, _ in _faulty_files(store, INGESTS, ingests)]
    steps += [Finding(f"{INGESTS}/{file.path}", "is dropped", file.rows) for file in lost]
    steps.append(Finding(RECORDS, f"gets commit {max(numbers) + 1}, which continues commit {newest.number}"))
    if execute:
        store.restore(CommitRecord(max(numbers), progress), change, lost)
    return steps


def _newest(store: PipelineStore) -> CommitRecord:
    """Return the newest record that `ingests` refers to and that can be read; an empty one without any."""
    for row in store.readable_rows():
        try:
            return store.record(row["record"])
        except (FileNotFoundError, ValueError):
            continue
    return CommitRecord()


def _tables_at(store: PipelineStore, record: CommitRecord) -> dict[str, list[DataFile]]:
    """Return the files of each table after a commit, whether it is applied or not."""
    tables: dict[str, list[DataFile]] = {}
    for name, version in record.progress.versions.items():
        table = store.open_table(name)
        if table.version() >= version:
            at_version = delta_table.open_table(store.location.child(name).native, version)
            tables[name] = [] if at_version is None else delta_table.files_of(at_version)
        else:
            removed = {file.path for file in record.change.removed.get(name, ())}
            files = [file for file in delta_table.files_of(table) if file.path not in removed]
            tables[name] = [*files, *record.change.added.get(name, ())]
    return tables


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
        return "" if rows == file.rows else f"has {rows:,} rows, expected {file.rows:,}"

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
