"""All tables of a pipeline after one commit: bronze, silver, and gold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.engine import Engine
from kwire_pipeline.gold.build import TABLES
from kwire_pipeline.gold.cluster_at import cluster_at
from kwire_pipeline.gold.view import GoldView
from kwire_pipeline.session import own_meaning
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.source.bronze import DDL

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow.dataset
    from pyspark.sql import DataFrame

    from kwire_pipeline.engine import SparkSource
    from kwire_pipeline.gold.tables import GoldTable
    from kwire_pipeline.store.snapshot import Snapshot


class PipelineSnapshot:
    """All tables after one commit.

    Attributes:
        number: the number of the commit; 0 before the first.
        committed_at: its time; None before the first.
        versions: the Delta version of each table, by folder.
    """

    def __init__(self, spark: SparkSource | Engine, snapshot: Snapshot) -> None:
        self._engine = Engine.of(spark)
        self._snapshot = snapshot
        self.number, self.committed_at, self.versions = snapshot.number, snapshot.committed_at, snapshot.versions

    def table(self, name: str) -> DataFrame:
        """Return a table of silver or gold, or `bronze`.

        Raises:
            KeyError: the table does not exist.
        """
        with own_meaning(self._engine.spark):
            if name == "bronze":
                return self._snapshot.read(self._engine.spark, "bronze", f"{DDL}, date string")
            if name in SILVER_SCHEMAS:
                return self._snapshot.read(
                    self._engine.spark, f"silver/{name}", f"{SILVER_SCHEMAS[name].ddl}, date string"
                )
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

    def sizes(self) -> dict[str, int]:
        """Return the size of the files of each table in bytes, by folder."""
        return {name: sum(file.size for file in self._snapshot.files(name)) for name in self.versions}

    def cluster_at(self, at: datetime, broker_id: int | None = None, cluster_id: str | None = None) -> DataFrame:
        """Return all partitions at a point in time; see `kwire_pipeline.gold.cluster_at`."""
        with own_meaning(self._engine.spark):
            return cluster_at(self._view(), at, broker_id, cluster_id)

    def _view(self) -> GoldView:
        return GoldView(self._engine, self._snapshot)


def _gold_table(name: str) -> GoldTable:
    for table in TABLES:
        if table.name == name:
            return table
    raise KeyError(name)
