"""Files that tasks write, and files that they keep because the rows of their partition are the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.manifest import WrittenFile, entries_of
from kwire_pipeline.store.table_files import PartitionWriter, digests

if TYPE_CHECKING:
    from kwire_pipeline.store.record import DataFile

SCHEMA = pa.schema([("kind", pa.string()), ("topics", pa.list_(pa.string()))])


def write(
    store: PipelineStore, stored: dict[str, DataFile] | None, *rows: tuple[str, list[str], int]
) -> list[DataFile]:
    """Write rows of some hours, given as kind, topics, and hour, and return the files of the table."""
    columns = SCHEMA.append(pa.field("hour", pa.int32()))
    table = pa.Table.from_pylist([dict(zip(columns.names, row, strict=True)) for row in rows], columns)
    task = PartitionWriter(store.location, "gold/incidents", SCHEMA, ("hour",), stored)
    [manifest] = task.run(iter(table.to_batches(max_chunksize=2)))
    entries = entries_of(pa.Table.from_batches([manifest]))
    return [entry.file for entry in entries if isinstance(entry, WrittenFile)]


def test_hours_with_the_same_rows_keep_their_files(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))
    assert write(store, {}) == []
    first = write(store, {}, ("a", ["t"], 1), ("b", [], 1), ("c", [], 1), ("a", ["t"], 2), ("d", [], 3))

    second = write(
        store, digests(first), ("a", ["t"], 1), ("b", [], 1), ("c", [], 1), ("a", ["t", "u"], 2), ("d", [], 4)
    )

    hours = [{file.partition["hour"]: file for file in files} for files in (first, second)]
    assert hours[1]["1"] == hours[0]["1"]
    assert hours[1]["2"] != hours[0]["2"]
    assert hours[1]["4"].path != hours[0]["3"].path  # equal rows of another hour
    for file, topics in ((hours[0]["2"], ["t"]), (hours[1]["2"], ["t", "u"])):
        assert pq.ParquetFile(tmp_path / "gold" / "incidents" / file.path).read()["topics"].to_pylist() == [topics]


def test_files_are_written_again_without_stored_ones(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))

    first, second = (write(store, None, ("a", ["t"], 1), ("b", [], 2)) for _ in range(2))

    assert not digests(first)
    assert not {file.path for file in first} & {file.path for file in second}
