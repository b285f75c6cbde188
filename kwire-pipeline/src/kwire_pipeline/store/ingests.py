"""The rows of the table `ingests`: one per commit, found by their numbers.

Any program may rewrite the files of a Delta table, so neither the names nor the order of files mean anything. The
newest commit is known twice: it is the highest number of a row, and the number of the table's Delta transaction. If
they differ, rows were removed.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kwire_pipeline.base_tables import COMMITS
from kwire_pipeline.store import delta_table
from kwire_pipeline.store.errors import DamagedStore
from kwire_pipeline.store.file_statistics import data_file
from kwire_pipeline.store.obstacles import is_append_only
from kwire_pipeline.store.record import INGESTS, Pin
from kwire_pipeline.store.table_log import TableLog
from kwire_pipeline.store.table_version import blame, number_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import pyarrow as pa
    from deltalake import DeltaTable
    from pyarrow.fs import FileSystem

    from kwire.storage.location import Location
    from kwire_pipeline.store.record import DataFile

MERGED_INGESTS = 64
"""Number of small files of `ingests` that are merged into one."""

SEARCHED_VERSIONS = 64
"""Maximum number of versions of `ingests` that are searched for removed rows. Chosen, not measured."""

SCHEMA = COMMITS.stored().schema

Row = dict[str, Any]


class Ingests:
    """The table `ingests` at one version.

    Args:
        location: the folder of the store.
        files: its file system.
        table: the table.
        names: the folders of the other tables.
    """

    def __init__(self, location: Location, files: FileSystem, table: DeltaTable, names: Iterable[str] = ()) -> None:
        self._names = names
        self._location = location
        self._out = location.given
        self._files = files
        self.table = table

    def rows(self, since: int | None = None) -> list[Row]:
        """Return rows, newest first: at least those from number `since` on, or the last two.

        Raises:
            DamagedStore: a file does not exist, or the newest rows were removed.
        """
        rows: dict[int, Row] = {}
        files = self._by_number()
        for position, (_, path) in enumerate(files):
            rows |= {row["number"]: row for row in self._read(path).to_pylist()}
            newest = sorted(rows, reverse=True)
            wanted = since if since is not None else newest[1] if len(newest) > 1 else None
            rest = files[position + 1][0] if position + 1 < len(files) else None
            if wanted is not None and rest is not None and rest < wanted:
                break
        found, number = max(rows, default=0), number_of(self.table)
        if found < number:
            author = blame(self._location, INGESTS, self.table)
            missing = f"commit {number}" if found == number - 1 else f"commits {found + 1} to {number}"
            raise DamagedStore(self._out, f"{INGESTS} lacks the rows of {missing}{author}")
        if not found:
            self.check_complete(0, self._names)
        return [rows[number] for number in sorted(rows, reverse=True)]

    def check_complete(self, number: int, names: Iterable[str]) -> None:
        """Check that tables have no later commits than `ingests`, whose newest one has a number.

        Tables would take the next commits for applied ones, so their rows would be lost.

        Raises:
            DamagedStore: `ingests` has lost commits, as after a return to its backup.
        """
        tables = {name: delta_table.open_table(self._location.child(name).native) for name in names if name != INGESTS}
        numbers = {name: number_of(table) for name, table in tables.items() if table is not None}
        name = max(numbers, key=numbers.__getitem__, default=INGESTS)
        # Other writers may commit meanwhile, and change `ingests` first.
        newest = delta_table.open_table(self._location.child(INGESTS).native)
        if numbers.get(name, 0) > number and (newest is None or number_of(newest) <= number):
            raise DamagedStore(self._out, f"{INGESTS} ends with commit {number}, but {name} has commit {numbers[name]}")

    def readable_rows(self) -> list[Row]:
        """Return the rows of all readable files, and the rows that another program removed, newest first."""
        rows = self._present_rows()
        return self._sorted(rows | {row["number"]: row for row in self.removed_rows()})

    def removed_rows(self) -> list[Row]:
        """Return the newest rows that were removed and can still be read, oldest first.

        They are in the files that kwire's own commits have added, which the log names.
        """
        rows: dict[int, Row] = {}
        newest = max(self._present_rows(), default=0)
        number = number_of(self.table)
        table_log = TableLog.of(self._location.child(INGESTS), self.table)
        for version in range(self.table.version(), max(self.table.version() - SEARCHED_VERSIONS, -1), -1):
            if newest + len(rows) >= number:
                break
            entry = table_log.entry(version)
            if entry is None:
                break
            if entry.number > newest:
                rows |= {key: row for key, row in self._readable(entry.added).items() if key > newest}
        return self._sorted(rows)[::-1]

    def write(self, rows: list[Row], number: int, lost: Collection[DataFile] = ()) -> tuple[DataFile, list[DataFile]]:
        """Write rows, together with the rows of small files if there are many such files.

        Returns the new file, and the files that it replaces.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        written = pa.Table.from_pylist(rows, schema=SCHEMA)
        present = [file for file in delta_table.files_of(self.table) if file not in lost]
        merged = [file for file in present if file.rows < MERGED_INGESTS**2]
        if len(merged) < MERGED_INGESTS or (is_append_only(self.table) and not lost):
            merged = []
        else:
            written = pa.concat_tables([*(self._read(file.path) for file in merged), written])
        path = f"{number:012}-{uuid.uuid4().hex}.parquet"
        footers: list[pq.FileMetaData] = []
        pq.write_table(
            written, f"{INGESTS}/{path}", filesystem=self._files, compression="zstd", metadata_collector=footers
        )
        size = self._files.get_file_info(f"{INGESTS}/{path}").size
        return data_file(path, {}, size, *footers), merged

    def _by_number(self) -> list[tuple[float, str]]:
        """Return the highest number and the path of each file, highest first; infinity if the log does not say it."""
        import pyarrow as pa

        actions = pa.table(self.table.get_add_actions(flatten=True))
        paths = list(map(unquote, actions["path"].to_pylist()))
        highest: list[int | None] = [None] * len(paths)
        if "max.number" in actions.column_names:
            highest = actions["max.number"].to_pylist()
        files = [(float("inf") if last is None else last, path) for last, path in zip(highest, paths, strict=True)]
        return sorted(files, reverse=True)

    def _present_rows(self) -> dict[int, Row]:
        return self._readable(file.path for file in delta_table.files_of(self.table))

    def _readable(self, paths: Iterable[str]) -> dict[int, Row]:
        import pyarrow as pa

        rows: dict[int, Row] = {}
        for path in paths:
            try:
                rows |= {row["number"]: row for row in self._read(path).to_pylist()}
            except (DamagedStore, pa.ArrowInvalid, OSError):
                continue
        return rows

    def _read(self, path: str) -> pa.Table:
        import pyarrow.parquet as pq

        try:
            return pq.read_table(f"{INGESTS}/{path}", filesystem=self._files, schema=SCHEMA, partitioning=None)
        except FileNotFoundError:
            raise DamagedStore(self._out, f"{INGESTS}/{path} does not exist") from None

    @staticmethod
    def _sorted(rows: dict[int, Row]) -> list[Row]:
        return [rows[number] for number in sorted(rows, reverse=True)]


def pins_of(row: Row) -> dict[str, Pin]:
    """Return the tables as the commit of a row left them."""
    numbers, totals = dict(row["commits"] or ()), dict(row["totals"] or ())
    return {name: Pin(version, numbers.get(name, 0), totals.get(name)) for name, version in row["versions"] or ()}
