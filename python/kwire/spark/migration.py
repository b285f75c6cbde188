"""Turn a store of kwire before Delta tables into Delta tables, without copying its files.

That layout had the same folders for bronze and silver, a log of records in `_log`, and after a crash files of the last
ingest in `_staging`. Gold is built again, since its files have another schema.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire.errors import KwireError
from kwire.spark.record import INGESTS, Change, DataFile
from kwire.spark.store import Store, layouts
from kwire.storage.location import Location

if TYPE_CHECKING:
    import pyarrow as pa


class NothingToMigrate(KwireError, ValueError):
    """`out` does not have the old layout."""

    def __init__(self, out: str) -> None:
        super().__init__(out)
        self.out = out

    def __str__(self) -> str:
        return f"{self.out} has no folder _log: expected a store of kwire before Delta tables"


def migrate(out: str) -> Store:
    """Migrate the store in a folder and return it. Running it again completes an interrupted migration.

    No other process may use the store meanwhile.

    Raises:
        NothingToMigrate: the folder does not have the old layout.
        UnsupportedLocation: `out` is a URI, which the old layout did not support, or a folder with a percent escape.
    """
    location = Location.parse(out)
    root = Path(location.native)
    if not location.is_path or not (root / "_log").is_dir():
        raise NothingToMigrate(out)
    record = _newest_record(root)
    for staged, place in record.get("moves", ()):
        if (root / staged).exists():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            (root / staged).rename(root / place)
    for path in record.get("removed", ()):
        (root / path).unlink(missing_ok=True)
    if not (root / INGESTS).is_dir() and (root / "gold").is_dir():
        shutil.rmtree(root / "gold")
    store = Store(out, old_layout=True)
    if store.newest().number == 0:
        store.commit(_change(root, record))
    if (root / "_staging").is_dir():
        shutil.rmtree(root / "_staging")
    shutil.rmtree(root / "_log")  # last: until then the migration can be repeated
    return store


def _newest_record(root: Path) -> dict[str, Any]:
    records = sorted((root / "_log").glob("*.json"))
    record: dict[str, Any] = json.loads(records[-1].read_text(encoding="utf-8")) if records else {}
    return record


def _change(root: Path, record: dict[str, Any]) -> Change:
    """Return the commit with all files of the store."""
    names = ("reporters", "clusters", "captures", "streams")
    change = Change("migrate", 0, **{name: record.get(name, {}) for name in names})
    for table in layouts():
        files = [_data_file(root / table, path) for path in sorted((root / table).glob("date=*/*.parquet"))]
        change.added[table] = [file for file in files if file.rows]
    change.oldest = min((file.first for file in change.added["silver/polls"] if file.first is not None), default=None)
    change.rows = {table.removeprefix("silver/"): sum(f.rows for f in files) for table, files in change.added.items()}
    return change


def _data_file(folder: Path, path: Path) -> DataFile:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    time = "polled_at" if "polled_at" in schema.names else "at"
    rows: pa.Table = pq.read_table(path, columns=[time], partitioning=None)
    bounds = pc.min_max(rows[time].cast("int64")).as_py()
    date = path.parent.name.removeprefix("date=")
    relative = path.relative_to(folder).as_posix()
    return DataFile(relative, {"date": date}, rows.num_rows, path.stat().st_size, time, bounds["min"], bounds["max"])
