"""Maintenance of the tables: merge small files, delete files that nothing refers to, and delete old days.

All of it runs in the driver, without Spark, while others read and write.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from kwire_pipeline.store import delta_table
from kwire_pipeline.store.errors import DamagedStore
from kwire_pipeline.store.manifest import FileKind
from kwire_pipeline.store.record import INGESTS, LATE, RECORDS, STATE, CommitRecord, DataFile, StoreChange
from kwire_pipeline.store.snapshot import Snapshot
from kwire_pipeline.store.table_files import Output, TableFile, in_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire_pipeline.store.commits import PipelineStore

TARGET_BYTES = 64 << 20
"""Files of at least a quarter of this size are not merged; merged ones are not much larger than this."""

KEPT = timedelta(days=7)
"""Default age at which files are deleted after they were merged, replaced, or removed: the default of Delta Lake."""

EXPIRING = ("bronze", "silver/polls", "silver/bad_frames", "silver/lag")
"""Event tables: days past retention are deleted. Other tables of silver hold current state and never expire."""

RESUMED = {f"silver/{name}" for name in ("partitions", "group_offsets", "log_ends", "log_dirs", "topic_sizes")}
"""Tables of silver that are part of savepoints: their old days can be deleted once gold has a later savepoint."""


def optimize(store: PipelineStore) -> int:
    """Merge the small files of each partition, and return how many files there are fewer.

    Raises:
        StoreInUse: other processes change the same files all the time.
    """
    return store.transact(lambda record: _optimize(store, record))


def _optimize(store: PipelineStore, record: CommitRecord) -> int:
    snapshot = Snapshot.of(store.location, record)
    change = StoreChange("optimize", record.number, data=False)
    output = Output(store.location)
    for table in snapshot.versions:
        groups: defaultdict[tuple[str, ...], list[DataFile]] = defaultdict(list)
        for file in snapshot.files(table):
            if file.size < TARGET_BYTES // 4:
                groups[tuple(file.partition.values())].append(file)
        for files in groups.values():
            for some in _bins(files):
                change.added.setdefault(table, []).append(_merge(output, table, some, snapshot.schema(table)))
                change.removed.setdefault(table, []).extend(some)
    fewer = sum(map(len, change.removed.values())) - sum(map(len, change.added.values()))
    store.commit(change)
    return fewer


def _bins(files: list[DataFile]) -> list[list[DataFile]]:
    """Divide files into groups of about the target size, without groups of one."""
    bins: list[list[DataFile]] = []
    size = TARGET_BYTES
    for file in sorted(files, key=lambda file: (file.first or 0, file.path)):
        if size >= TARGET_BYTES:
            bins.append([])
            size = 0
        bins[-1].append(file)
        size += file.size
    return [some for some in bins if len(some) > 1]


def _merge(output: Output, table: str, files: list[DataFile], schema: pa.Schema) -> DataFile:
    """Write the rows of files to a new one, with the types of the table: other programs may have written other ones."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    merged = TableFile(output, FileKind.REWRITTEN, table, files[0].partition, schema)
    for file in files:
        with pq.ParquetFile(f"{table}/{file.path}", filesystem=output.files) as parquet:
            for batch in parquet.iter_batches():
                merged.write(in_schema(pa.Table.from_batches([batch]), schema))
    return merged.close().file


def vacuum(store: PipelineStore, keep: timedelta) -> int:
    """Delete files that were removed from their tables longer than `keep` ago, and return their number.

    Ages are rounded up to whole hours. Snapshots that are older lose their files. Files that no commit has named are
    deleted at an age of at least `KEPT`: the ingest or the build that wrote them may still commit.
    """
    unnamed = max(keep, KEPT)
    deleted = 0
    snapshot = store.snapshot()
    for table in [INGESTS, *snapshot.versions]:
        # What another program has removed returns with the next commit, which needs the files.
        if table == INGESTS or snapshot.pinned(table).ignored is None:
            deleted += delta_table.vacuum(store.location.child(table).native, keep, unnamed)
    used = _used_files(store)
    for path, changed in store.list_files(RECORDS, STATE, LATE):
        if path not in used and changed < datetime.now(UTC) - unnamed:
            store.delete(path)
            deleted += 1
    return deleted


def _used_files(store: PipelineStore) -> set[str]:
    """Return the records that can be read, and the states that they refer to. Nothing needs a damaged old record."""
    used = set()
    for path, _ in store.records():
        with suppress(DamagedStore):
            record = store.record(path)
            used |= {path, *record.progress.states(), *record.released}
    return used


def expire(store: PipelineStore, keep: timedelta) -> int:
    """Remove the days that ended before `keep` ago from the tables, and return the number of files.

    The rows remain in earlier snapshots until `vacuum` deletes them. What later ingests and builds of gold need stays:
    the current state, the newest savepoint of gold before the first day that is kept, and incidents that last.

    Raises:
        StoreInUse: other processes change the same files all the time.
    """
    first = f"{datetime.now(UTC) - keep:%Y-%m-%d}"
    return store.transact(lambda record: _expire(store, record, first))


def _expire(store: PipelineStore, record: CommitRecord, first: str) -> int:
    snapshot = Snapshot.of(store.location, record)
    change = StoreChange("expire", record.number)
    incidents: dict[str, str] = record.progress.gold.get("incidents", {})
    change.removed = expired_files({table: snapshot.files(table) for table in snapshot.versions}, incidents, first)
    resumed = _resumed(incidents, first)
    if resumed is not None:
        kept_incidents = {stamp: since for stamp, since in incidents.items() if stamp >= resumed[:10]}
        change.gold = record.progress.gold | {"incidents": kept_incidents}
    store.commit(change)
    return sum(map(len, change.removed.values()))


def expired_files(
    tables: dict[str, list[DataFile]], incidents: dict[str, str], first: str
) -> dict[str, list[DataFile]]:
    """Return the files by table that are older than a day.

    Args:
        tables: the files of all tables.
        incidents: the hours with a savepoint of gold, and the oldest hour whose incidents a build from each needs.
        first: the first day to keep.
    """
    resumed = _resumed(incidents, first)
    expired = {}
    for table, files in tables.items():
        before = _first_kept_day(table, first, resumed, incidents)
        if before is not None:
            expired[table] = [file for file in files if _day(file) < before]
    return expired


def _resumed(incidents: dict[str, str], first: str) -> str | None:
    """Return the newest hour before a day that has a savepoint of gold."""
    return max((stamp for stamp in incidents if stamp < first), default=None)


def _first_kept_day(table: str, first: str, resumed: str | None, incidents: dict[str, str]) -> str | None:
    """Return the first day that a table keeps; None if it keeps all."""
    if table in EXPIRING:
        return first
    if resumed is None:
        return None  # a build of gold would need the whole history
    if table in {"gold/incidents", "gold/signals"}:
        return min(first, *(since[:10] for stamp, since in incidents.items() if stamp >= resumed[:10]))
    if table.startswith("gold/_"):
        return resumed[:10]  # a savepoint continues the first one of its day
    return min(first, resumed[:10]) if table.startswith("gold/") or table in RESUMED else None


def _day(file: DataFile) -> str:
    """Return the day of a file, or the hour of a state; rows without an end have none and are after all days."""
    return file.partition.get("date") or file.partition.get("as_of") or "open"
