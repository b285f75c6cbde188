"""Gold built hour by hour, and again for frames that came late, is the gold of one build.

The recorded minutes of Kafka 3.9.1 are moved so that the hour changes while broker 3 is dead: incidents, intervals and
votes go through it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire.spark import gold
from tests.spark import recorded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kwire.capture.rows import Row

HOUR = datetime(2026, 11, 21, 5, tzinfo=UTC)


def moved() -> list[Row]:
    """Broker 3 dies seven seconds before the hour."""
    rows = recorded.bronze("zk39-public")
    shift = HOUR - (rows[0].polled_at + timedelta(seconds=60))
    return [row._replace(polled_at=row.polled_at + shift) for row in rows]


def contents(spark: SparkSession, out: Path) -> dict[str, list[Any]]:
    return {table.name: sorted(map(repr, table.read(spark, str(out)).collect())) for table in gold.TABLES}


def test_an_hour_later_only_the_new_hour_is_built(spark: SparkSession, tmp_path: Path) -> None:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from kwire.spark.silver_tables import SILVER_SCHEMAS

    whole, out = tmp_path / "whole", tmp_path / "by_hours"
    recorded.write_silver(moved(), whole)
    for before in (True, False):
        for name, table in SILVER_SCHEMAS.items():
            for file in sorted((whole / "silver" / name).rglob("*.parquet")):
                rows = pq.read_table(file, schema=table.arrow)
                kept = (pc.less if before else pc.greater_equal)(rows.column(table.time), HOUR)
                folder = out / "silver" / name / file.parent.name
                folder.mkdir(parents=True, exist_ok=True)
                pq.write_table(rows.filter(kept), folder / f"part-{0 if before else 1}.parquet")
        gold.build(spark, str(out))
    by_hours, files = contents(spark, out), gold_files(out)
    gold.build(spark, str(out))
    assert gold_files(out) == files  # there was nothing new

    gold.build(spark, str(out), hours=[datetime(2026, 11, 21, 4, 59, tzinfo=UTC)])  # from the first hour: all at once

    assert gold_files(out).isdisjoint(files)
    assert contents(spark, out) == by_hours


def gold_files(out: Path) -> set[Path]:
    return set((out / "gold").rglob("*.parquet"))
