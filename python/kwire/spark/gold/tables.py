"""Gold tables: where their files are, and how a build replaces them.

Layout: `OUT/gold/<table>/date=YYYY-MM-DD/hour=HH/*.parquet` in UTC. A row belongs to the hour of its event; intervals
belong to the hour of their end, and incidents to the hour of their beginning. Rows without an end are under
`date=open/hour=0`. A build replaces all files of an hour, so building an hour twice gives the same table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from kwire.spark.gold import days
from kwire.spark.tables import Table

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class GoldTable(Table):
    """A table of gold, declared beside the code that computes it."""

    def folder(self, out: str) -> str:
        """Return the folder of the table under `out`."""
        return f"{out}/gold/{self.name}"

    def read(self, spark: SparkSession, out: str, since: datetime | None = None) -> DataFrame:
        """Read the table with its partition columns `date` and `hour`; it is empty before the first build.

        Args:
            spark: the session.
            out: the folder of the pipeline.
            since: read the days from this one on, and rows without an end; None reads all days.
        """
        schema = f"{self.ddl}, date string, hour int"
        return days.read(spark, self.folder(out), schema, None if since is None else days.since(since))

    def replace(self, rows: DataFrame, out: str, since: datetime | None) -> None:
        """Replace everything from the hour `since` on (None: everything), and the rows without an end, by `rows`."""
        spark = rows.sparkSession
        days.forget(spark, self.folder(out), since)
        dated = rows.select(*self.names, _date_of(self.time).alias("date"), _hour_of(self.time).alias("hour"))
        # One file per hour, whatever the parallelism was: each file costs readers time.
        dated.repartition("date", "hour").write.mode("append").partitionBy("date", "hour").parquet(self.folder(out))


def _date_of(timestamp: str) -> Expression:
    return f.coalesce(f.date_format(f.col(timestamp), "yyyy-MM-dd"), f.lit(days.OPEN))


def _hour_of(timestamp: str) -> Expression:
    return f.coalesce(f.hour(f.col(timestamp)), f.lit(0))
