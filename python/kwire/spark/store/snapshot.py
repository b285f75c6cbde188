"""The tables of a store after one commit: a list of files for each, which later commits do not change."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from kwire.spark.silver.tables import SILVER_SCHEMAS
from kwire.spark.store.delta_table import files_of, open_table
from kwire.spark.store.paths import escape_glob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    import pyarrow as pa
    import pyarrow.dataset
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from kwire.spark.gold import GoldTable, GoldView
    from kwire.spark.store.record import DataFile
    from kwire.storage.location import Location


class Snapshot:
    """The tables at a commit.

    Attributes:
        location: the folder of the store.
        number: the number of the commit; 0 before the first.
        committed_at: its time; None before the first.
        versions: the Delta version of each table.
    """

    def __init__(
        self, location: Location, number: int, versions: dict[str, int], committed_at: datetime | None = None
    ) -> None:
        self.location = location
        self.number = number
        self.committed_at = committed_at
        self.versions = versions
        self._files: dict[str, list[DataFile]] = {}

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
            found = None if version is None else open_table(self.location.child(table).native, version)
            self._files[table] = [] if found is None else files_of(found)
        return self._files[table]

    def paths(self, table: str) -> list[str]:
        """Return the files of a table as delta-rs, DuckDB, and polars read them."""
        return [self.location.child(f"{table}/{file.path}").native for file in self.files(table)]

    def read(
        self,
        spark: SparkSession,
        table: str,
        schema: str,
        wanted: Callable[[DataFile], bool] = lambda _: True,
    ) -> DataFrame:
        """Read the files of a table that are `wanted` [default: all]. `schema` is DDL with the partition columns."""
        return read_files(spark, self.location, table, filter(wanted, self.files(table)), schema)

    def dataset(self, table: str) -> pyarrow.dataset.Dataset | None:
        """Return a table as a dataset of Arrow; None if the table does not exist yet."""
        version = self.versions.get(table)
        found = None if version is None else open_table(self.location.child(table).native, version)
        if found is None:
            return None
        import pyarrow.dataset as ds

        schema = self._schema(found)
        partition = [schema.field(name) for name in found.metadata().partition_columns]
        import pyarrow as pa

        return ds.dataset(
            [f"{table}/{file.path}" for file in files_of(found)],
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
        return spark.createDataFrame([], schema)
    return spark.read.schema(schema).option("basePath", folder).parquet(*paths)


class PipelineSnapshot:
    """All tables after one commit.

    Attributes:
        number: the number of the commit; 0 before the first.
        committed_at: its time; None before the first.
        versions: the Delta version of each table, by folder.
    """

    def __init__(self, spark: SparkSession, snapshot: Snapshot) -> None:
        self._spark = spark
        self._snapshot = snapshot
        self.number, self.committed_at, self.versions = snapshot.number, snapshot.committed_at, snapshot.versions

    def table(self, name: str) -> DataFrame:
        """Return a table of silver or gold, or `bronze`.

        Raises:
            KeyError: the table does not exist.
        """
        if name == "bronze":
            from kwire.spark.source.bronze import DDL

            return self._snapshot.read(self._spark, "bronze", f"{DDL}, date string")
        if name in SILVER_SCHEMAS:
            return self._snapshot.read(self._spark, f"silver/{name}", f"{SILVER_SCHEMAS[name].ddl}, date string")
        return self._view().table(_gold_table(name))

    def paths(self, name: str) -> list[str]:
        """Return the files of a table, for DuckDB, polars, and other readers of Parquet.

        Raises:
            KeyError: the table does not exist.
        """
        if name in SILVER_SCHEMAS:
            return self._snapshot.paths(f"silver/{name}")
        return self._snapshot.paths("bronze" if name == "bronze" else _gold_table(name).folder)

    def dataset(self, name: str) -> pyarrow.dataset.Dataset | None:
        """Return a table of gold as a dataset of Arrow, without Spark; None before the first build.

        Raises:
            KeyError: the table does not exist.
        """
        return self._snapshot.dataset(_gold_table(name).folder)

    def cluster_at(self, at: datetime, broker_id: int | None = None, cluster_id: str | None = None) -> DataFrame:
        """Return all partitions at a point in time; see `kwire.spark.gold.cluster_at`."""
        from kwire.spark.gold import cluster_at

        return cluster_at(self._view(), at, broker_id, cluster_id)

    def _view(self) -> GoldView:
        from kwire.spark.gold import GoldView

        return GoldView(self._spark, self._snapshot)


def _gold_table(name: str) -> GoldTable:
    from kwire.spark.gold import TABLES

    for table in TABLES:
        if table.name == name:
            return table
    raise KeyError(name)
