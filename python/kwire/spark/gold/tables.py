"""How a gold table is declared and where it lies.

A table is declared once, beside the code that makes it: columns with type, unit and meaning. From that come the Spark
schema, the documentation and the order of the columns in the files.

Layout: ``OUT/gold/<table>/date=YYYY-MM-DD/hour=HH/*.parquet``, UTC. The hour is that of the event, for lasting things
of their end (`intervals`) or beginning (`incidents`); what lasts still lies under ``date=open/hour=0``. Files of an
hour are replaced as a whole, so building an hour twice gives the same table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from kwire.spark.gold import days

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its Spark type as DDL, what it means, and its unit where it has one."""

    name: str
    type: str
    doc: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A gold table."""

    name: str
    doc: str
    columns: tuple[Column, ...]

    @property
    def ddl(self) -> str:
        """The schema of its files as Spark writes it, without the folders ``date`` and ``hour``."""
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def folder(self, out: str) -> str:
        return f"{out}/gold/{self.name}"

    def read(self, spark: SparkSession, out: str, since: datetime | None = None) -> DataFrame:
        """The table as far as it was built, with its folders as columns ``date`` and ``hour``; empty before that.

        ``since``: of which day on, and what is open (None: all).
        """
        schema = f"{self.ddl}, date string, hour int"
        return days.read(spark, self.folder(out), schema, None if since is None else days.since(since))

    def replace(self, rows: DataFrame, out: str, by: str, since: datetime | None) -> None:
        """Puts ``rows`` in the place of everything from the hour ``since`` on (None: of all), and of what is open.

        ``by`` names the timestamp whose hour a row belongs to; null stands for open.
        """
        spark = rows.sparkSession
        days.forget(spark, self.folder(out), since)
        dated = rows.select(*self.names, date_of(by).alias("date"), hour_of(by).alias("hour"))
        # One file an hour, whatever the parallelism was: readers pay by the file.
        dated.repartition("date", "hour").write.mode("append").partitionBy("date", "hour").parquet(self.folder(out))


def as_markdown(tables: Iterable[Table]) -> str:
    """The part "The tables" of docs/gold.md."""
    parts = []
    for table in tables:
        rows = "\n".join(f"| `{c.name}` | {c.type} | {c.doc} | {c.unit} |" for c in table.columns)
        parts.append(
            f"### {table.name}\n\n{table.doc}\n\n| column | type | meaning | unit |\n|---|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def date_of(timestamp: str) -> Expression:
    return f.coalesce(f.date_format(f.col(timestamp), "yyyy-MM-dd"), f.lit(days.OPEN))


def hour_of(timestamp: str) -> Expression:
    return f.coalesce(f.hour(f.col(timestamp)), f.lit(0))


def in_utc(spark: SparkSession) -> None:
    """Refuses a session that counts hours elsewhere than in UTC: folders would be named by the zone of the machine.

    Raises:
        ValueError: with the zone of the session.
    """
    zone = spark.conf.get("spark.sql.session.timeZone")
    if zone not in {"UTC", "Etc/UTC", "Z", "+00:00", "GMT"}:
        raise ValueError(f"spark.sql.session.timeZone is {zone}: gold is laid out by hours of UTC")
