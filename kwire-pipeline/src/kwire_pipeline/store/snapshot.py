"""The tables of a store after one commit: a list of files for each, which later commits do not change."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kwire_pipeline.store.delta_table import STATISTICS_PRECISION, exact_times, files_of, open_table
from kwire_pipeline.store.other_files import OtherFiles
from kwire_pipeline.store.table_version import PinnedTable, number_of, pinned_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    import pyarrow as pa
    import pyarrow.dataset
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession

    from kwire.storage.location import Location
    from kwire_pipeline.store.record import CommitRecord, DataFile, Pin


class Snapshot:
    """The tables at a commit.

    Attributes:
        location: the folder of the store.
        number: the number of the commit; 0 before the first.
        committed_at: its time; None before the first.
        versions: the Delta version of each table that the commit expected to make.
        opened: the tables whose files were read.
    """

    def __init__(
        self, location: Location, number: int, pins: Mapping[str, Pin], committed_at: datetime | None = None
    ) -> None:
        self.location = location
        self.number = number
        self.committed_at = committed_at
        self.versions = {name: pin.version for name, pin in pins.items()}
        self._pins = pins
        self._heads: dict[str, DeltaTable] = {}
        self._files: dict[str, list[DataFile]] = {}
        self.opened: dict[str, DeltaTable] = {}

    @classmethod
    def of(cls, location: Location, record: CommitRecord) -> Snapshot:
        """Return the tables of a store after the commit of a record."""
        return cls(location, record.number, record.progress.pins)

    def is_pending(self, before: Mapping[str, Pin]) -> bool:
        """Return whether tables are still as the commit before left them (`before`)."""
        for name, pin in self._pins.items():
            if pin.number == self.number:
                head = open_table(self.location.child(name).native)
                if head is not None:
                    self._heads[name] = head  # opening a table reads the list of all files
                earlier = before[name].number if name in before else 0
                if head is not None and number_of(head) == earlier:
                    return True
        return False

    def _open(self, table: str) -> DeltaTable | None:
        """Open a table; None if it does not exist at this commit.

        Raises:
            DamagedStore: its rows are gone.
            CommitGone: its rows are gone, and this is not the newest commit.
        """
        if table not in self.opened and table in self._pins:
            self.opened[table] = self.pinned(table).table
        return self.opened.get(table)

    def pinned(self, table: str) -> PinnedTable:
        """Return a table of the snapshot, and what other programs have done to it since.

        Raises:
            DamagedStore: its rows are gone.
            CommitGone: its rows are gone, and this is not the newest commit.
        """
        return pinned_table(self.location, table, self._pins[table], self._heads.pop(table, None))

    def schema(self, table: str) -> pa.Schema:
        """Return the columns of a table that exists, without its partition columns."""
        opened = self._open(table)
        if opened is None:
            raise KeyError(table)
        import pyarrow as pa

        partition = set(opened.metadata().partition_columns)
        return pa.schema([field for field in self._schema(opened) if field.name not in partition])

    def files(self, table: str) -> list[DataFile]:
        """Return the files of a table, which is named by its folder; none if the table does not exist yet.

        Raises:
            DamagedStore: its rows are gone.
            CommitGone: its rows are gone, and this is not the newest commit.
        """
        if table not in self._files:
            opened = self._open(table)
            self._files[table] = [] if opened is None else files_of(opened)
        return self._files[table]

    def newest_time(self, table: str) -> int | None:
        """Return the newest time of a table in microseconds since 1970; None without rows.

        Files of other programs are read, since their statistics may have whole milliseconds.
        """
        files = [file for file in self.files(table) if file.last is not None]
        bound = max((file.last or 0 for file in files), default=0) - STATISTICS_PRECISION
        newest = (exact_times(self.opened[table], file) for file in files if (file.last or 0) >= bound)
        return max((file.last for file in newest if file.last is not None), default=None)

    def paths(self, table: str) -> list[str]:
        """Return the files of a table as delta-rs, DuckDB, and polars read them."""
        return [self.location.child(f"{table}/{file.path}").native for file in self.files(table)]

    def read(self, spark: SparkSession, table: str, schema: str) -> DataFrame:
        """Read a table; `schema` is DDL with the partition columns."""
        return read_files(spark, self.location, table, self.files(table), schema)

    def dataset(self, table: str) -> pyarrow.dataset.Dataset | None:
        """Return a table as a dataset of Arrow; None if the table does not exist yet."""
        opened = self._open(table)
        if opened is None:
            return None
        import pyarrow.dataset as ds

        schema = self._schema(opened)
        files = self.files(table)
        if all(map(has_partition_path, files)):
            import pyarrow as pa

            partition = [schema.field(name) for name in opened.metadata().partition_columns]
            return ds.dataset(
                [f"{table}/{file.path}" for file in files],
                schema=schema,
                format="parquet",
                filesystem=self._file_system,
                partitioning=ds.partitioning(pa.schema(partition), flavor="hive"),
                partition_base_dir=table,
            )
        parquet = ds.ParquetFileFormat()
        fragments = [
            parquet.make_fragment(f"{table}/{file.path}", self._file_system, _partition_expression(file, schema))
            for file in files
        ]
        return ds.FileSystemDataset(fragments, schema, parquet, self._file_system)

    @cached_property
    def _file_system(self) -> Any:
        return self.location.files()

    @staticmethod
    def _schema(table: Any) -> pa.Schema:
        import pyarrow as pa

        return pa.schema(table.schema().to_arrow())


def has_partition_path(file: DataFile) -> bool:
    """Return whether the path of a file has the values of its partition columns. Delta does not require it."""
    return all(f"{name}={value}/" in file.path for name, value in file.partition.items())


def _partition_expression(file: DataFile, schema: pa.Schema) -> pyarrow.dataset.Expression:
    import pyarrow as pa
    import pyarrow.dataset as ds

    expression = ds.scalar(True)
    for name, value in file.partition.items():
        expression &= ds.field(name) == pa.scalar(value).cast(schema.field(name).type)
    return expression


def read_files(
    spark: SparkSession, location: Location, table: str, files: Iterable[DataFile], schema: str
) -> DataFrame:
    """Read files of a table with Spark; the result is empty without files.

    Spark reads values only from the types in which it would write them, and values of partitions only from paths. Files
    of other programs that have others are read with Arrow, in the executors.
    """
    folder = location.child(table).spark
    listed = list(files)
    task = OtherFiles(location, table, schema)
    others = task.of(listed)
    paths = [f"{escape_glob(folder)}/{escape_glob(file.path)}" for file in listed if file.path not in others]
    parts = []
    if paths:
        parts.append(spark.read.schema(schema).option("basePath", folder).parquet(*paths))
    if others:
        rows = [(path, json.dumps(partition)) for path, partition in others.items()]
        parts.append(spark.createDataFrame(rows, "path string, partition string").mapInArrow(task.run, schema))
    if not parts:
        # Because of the filter, the optimizer removes the joins and groups that depend on these rows.
        return spark.createDataFrame([], schema).where("false")
    return parts[0] if len(parts) == 1 else parts[0].unionByName(parts[1])


def escape_glob(path: str) -> str:
    """Return `path` with Spark's wildcards escaped: Spark reads every path as a glob pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
