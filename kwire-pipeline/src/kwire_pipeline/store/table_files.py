"""Files that executors write into the folders of tables.

A file is complete when the manifest entry that names it leaves the task. Names are random, so a task that Spark retries
or runs twice does no harm: the driver commits only the files in the manifest that it receives, and `vacuum` deletes the
others.
"""

from __future__ import annotations

import uuid
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kwire.storage.location import not_visible
from kwire_pipeline.store.file_statistics import data_file
from kwire_pipeline.store.manifest import FileKind, WrittenFile, manifest
from kwire_pipeline.store.record import INGESTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow.fs import FileSystem

    from kwire.capture import Row
    from kwire.storage.location import Location
    from kwire_pipeline.store.record import DataFile


class Output:
    """The store's folder as a task writes to it, opened once.

    Raises:
        UnsupportedLocation: this machine does not see the folder.
    """

    def __init__(self, location: Location) -> None:
        if location.is_path and not (Path(location.native) / INGESTS).is_dir():
            raise not_visible(location.given)
        self.files: FileSystem = location.files()
        self._makes_folders = location.is_path

    def open(self, path: str, schema: pa.Schema) -> tuple[pq.ParquetWriter, list[pq.FileMetaData]]:
        """Create a Parquet file. Closing the writer adds the footer to the list."""
        import pyarrow.parquet as pq

        if self._makes_folders:
            self.files.create_dir(path.rpartition("/")[0])
        footers: list[pq.FileMetaData] = []
        writer = pq.ParquetWriter(
            path,
            schema,
            filesystem=self.files,
            compression="zstd",
            compression_level=1,
            metadata_collector=footers,
        )
        return writer, footers

    def write_rows(self, path: str, rows: list[Row]) -> None:
        """Write a file with rows of bronze."""
        import pyarrow as pa

        from kwire.capture.rows import SCHEMA, to_batch

        writer, _ = self.open(path, SCHEMA)
        with writer:
            writer.write_table(pa.Table.from_batches([to_batch(rows)]))


class TableFile:
    """A file of a table, for one partition."""

    def __init__(
        self,
        output: Output,
        kind: FileKind,
        table: str,
        partition: dict[str, str],
        schema: pa.Schema,
        prefix: str = "",
    ) -> None:
        self._output, self._kind, self._table, self._partition = output, kind, table, partition
        folder = "".join(f"{name}={value}/" for name, value in partition.items())
        self._path = f"{folder}{prefix}{uuid.uuid4().hex}.parquet"
        self._with_nan: set[str] = set()
        self._writer, self._footers = output.open(f"{table}/{self._path}", schema)

    def write(self, rows: pa.Table) -> None:
        """Add a group of rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for column in rows.schema:
            if pa.types.is_floating(column.type) and pc.any(pc.is_nan(rows[column.name])).as_py():
                self._with_nan.add(column.name)
        self._writer.write_table(rows)

    def close(self) -> WrittenFile:
        """Complete the file."""
        self._writer.close()
        [footer] = self._footers
        size = self._output.files.get_file_info(f"{self._table}/{self._path}").size
        return WrittenFile(
            self._kind, self._table, data_file(self._path, self._partition, size, footer, self._with_nan)
        )


class PartitionWriter(NamedTuple):
    """Writes rows to files of a table, one per partition and task.

    Attributes:
        location: the folder of the store.
        folder: the folder of the table, relative to it.
        schema: the schema of the files.
        partition_by: the last columns of the input.
        stored: files that are kept where the rows of their partition are the same, by `digest_of` their rows; None
            writes all files.
    """

    location: Location
    folder: str
    schema: pa.Schema
    partition_by: tuple[str, ...]
    stored: dict[str, DataFile] | None = None

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows. For `mapInArrow`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        output = Output(self.location)
        files: dict[tuple[str, ...], TableFile] = {}
        kept: list[WrittenFile] = []
        tables = [pa.table(batch) for batch in batches] if self.stored is not None else map(pa.table, batches)
        if isinstance(tables, list) and tables:  # all rows of a partition are compared
            tables = [pa.concat_tables(tables)]
        for rows in tables:
            keys = rows.select(list(self.partition_by)).group_by(list(self.partition_by)).aggregate([]).to_pylist()
            for key in keys:
                own = rows
                for name, value in key.items():
                    own = own.filter(pc.equal(own[name], value)) if len(keys) > 1 else own
                partition = {name: str(value) for name, value in key.items()}
                key_values = tuple(partition.values())
                own = own.select(self.schema.names).cast(self.schema)
                prefix = ""
                if self.stored is not None:
                    digest = digest_of(own, key_values)
                    if digest in self.stored:
                        kept.append(WrittenFile(FileKind.GOLD, self.folder, self.stored[digest]))
                        continue
                    prefix = f"{digest}-"
                if key_values not in files:
                    files[key_values] = TableFile(output, FileKind.GOLD, self.folder, partition, self.schema, prefix)
                files[key_values].write(own)
        yield manifest([*kept, *(file.close() for file in files.values())])


def in_schema(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows of a file with the columns and types of a table. Columns that the file lacks are null."""
    import pyarrow as pa

    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def digest_of(rows: pa.Table, partition: tuple[str, ...]) -> str:
    """Return a hash of the rows of a partition. Equal rows may have several, for example in another order."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return blake2b(sink.getvalue(), key="/".join(partition).encode(), digest_size=16).hexdigest()


def digests(files: Iterable[DataFile]) -> dict[str, DataFile]:
    """Return the files that are named by the hash of their rows, by that hash."""
    names = ((file.path.rpartition("/")[2].partition("-"), file) for file in files)
    return {digest: file for (digest, separator, _), file in names if separator}
