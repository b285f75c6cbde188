"""The tables of a store after one commit: a list of files for each, which later commits do not change."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kwire.spark.store.delta_table import files_of, open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    import pyarrow as pa
    import pyarrow.dataset
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from kwire.spark.store.record import DataFile
    from kwire.storage.location import Location


class Snapshot:
    """The tables at a commit.

    Attributes:
        location: the folder of the store.
        number: the number of the commit; 0 before the first.
        committed_at: its time; None before the first.
        versions: the Delta version of each table.
        opened: the tables whose files were read.
    """

    def __init__(
        self, location: Location, number: int, versions: dict[str, int], committed_at: datetime | None = None
    ) -> None:
        self.location = location
        self.number = number
        self.committed_at = committed_at
        self.versions = versions
        self._files: dict[str, list[DataFile]] = {}
        self.opened: dict[str, DeltaTable] = {}

    def is_applied(self, tables: Iterable[str]) -> bool:
        """Return whether these tables have reached the versions of the snapshot."""
        return all(
            open_table(self.location.child(name).native, self.versions[name]) is not None
            for name in tables
            if name in self.versions
        )

    def files(self, table: str) -> list[DataFile]:
        """Return the files of a table, which is named by its folder; none if the table does not exist yet."""
        if table not in self._files:
            version = self.versions.get(table)
            opened = None if version is None else open_table(self.location.child(table).native, version)
            self._files[table] = [] if opened is None else files_of(opened)
            if opened is not None:
                self.opened[table] = opened
        return self._files[table]

    def paths(self, table: str) -> list[str]:
        """Return the files of a table as delta-rs, DuckDB, and polars read them."""
        return [self.location.child(f"{table}/{file.path}").native for file in self.files(table)]

    def read(
        self,
        spark: SparkSession,
        table: str,
        schema: str,
        selects: Callable[[DataFile], bool] = lambda _: True,
    ) -> DataFrame:
        """Read the files of a table for which `selects` is true [default: all].

        `schema` is DDL with the partition columns.
        """
        return read_files(spark, self.location, table, filter(selects, self.files(table)), schema)

    def dataset(self, table: str) -> pyarrow.dataset.Dataset | None:
        """Return a table as a dataset of Arrow; None if the table does not exist yet."""
        version = self.versions.get(table)
        opened = None if version is None else open_table(self.location.child(table).native, version)
        if opened is None:
            return None
        import pyarrow.dataset as ds

        schema = self._schema(opened)
        partition = [schema.field(name) for name in opened.metadata().partition_columns]
        import pyarrow as pa

        return ds.dataset(
            [f"{table}/{file.path}" for file in files_of(opened)],
            schema=schema,
            format="parquet",
            filesystem=self._file_system,
            partitioning=ds.partitioning(pa.schema(partition), flavor="hive"),
            partition_base_dir=table,
        )

    @cached_property
    def _file_system(self) -> Any:
        return self.location.files()

    @staticmethod
    def _schema(table: Any) -> pa.Schema:
        import pyarrow as pa

        return pa.schema(table.schema().to_arrow())


def read_files(
    spark: SparkSession, location: Location, table: str, files: Iterable[DataFile], schema: str | StructType
) -> DataFrame:
    """Read files of a table with Spark; the result is empty without files."""
    folder = location.child(table).spark
    paths = [f"{escape_glob(folder)}/{file.path}" for file in files]
    if not paths:
        # Because of the filter, the optimizer removes the joins and groups that depend on these rows.
        return spark.createDataFrame([], schema).where("false")
    return spark.read.schema(schema).option("basePath", folder).parquet(*paths)


def escape_glob(path: str) -> str:
    """Return `path` with Spark's wildcards escaped: Spark reads every path as a glob pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
