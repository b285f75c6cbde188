"""The questions of docs/gold.md run as they are written, in Spark and in duckdb, and agree."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from kwire.spark import gold
from kwire.spark.gold.tables import as_markdown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = (Path(__file__).parents[2] / "docs" / "gold.md").read_text()
QUESTIONS = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


def plain(value: Any) -> Any:
    """Times without zones, whole numbers and fractions alike."""
    match value:
        case datetime():
            return value.replace(tzinfo=None)
        case float():
            return round(value, 6)
        case list():
            return tuple(value)
    return value


def in_spark(spark: SparkSession, out: str, query: str) -> list[tuple[Any, ...]]:
    for table in gold.TABLES:
        table.read(spark, out).createOrReplaceTempView(table.name)
    rows = spark.sql(query.replace('"', "`")).collect()
    return [tuple(map(plain, row)) for row in rows]


def in_duckdb(out: str, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for table in gold.TABLES:
            files = f"{table.folder(out)}/**/*.parquet"
            connection.execute(f"CREATE VIEW {table.name} AS SELECT * FROM read_parquet('{files}')")
        return [tuple(map(plain, row)) for row in connection.execute(query).fetchall()]


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_a_question_runs_anywhere(number: int, spark: SparkSession, recorded_gold: str) -> None:
    query = QUESTIONS[number]
    rows = in_spark(spark, recorded_gold, query)
    assert sorted(map(repr, rows)) == sorted(map(repr, in_duckdb(recorded_gold, query)))
    # In the end all is well with the recorded clusters, but for what somebody did.
    assert rows or query == QUESTIONS[0]


def test_the_page_lists_the_tables_as_they_are() -> None:
    assert PAGE.endswith("## The tables\n\n" + as_markdown(gold.TABLES))


def test_leaders_moved_as_often_as_the_truth_says(spark: SparkSession, recorded_gold: str) -> None:
    moves = in_spark(
        spark,
        recorded_gold,
        "SELECT cluster_id, reason, count(*) FROM leader_moves WHERE cluster_id LIKE '%-public' GROUP BY ALL",
    )
    counts = {(cluster, reason): count for cluster, reason, count in moves}
    assert counts["zk39-public", "preferred"] == 82 + 80
    assert counts["kraft44-public", "preferred"] == 80 + 86 + 75
    assert counts["zk39-public", "lost"] == 80 + 80 + 76
    assert counts["zk39-public", "offline"] == 3 + 11 + 11 + 4


def test_each_broker_s_share_is_that_of_the_intervals(spark: SparkSession, recorded_gold: str) -> None:
    """The loads come from steps up and down; here they are added up the long way."""
    long_way = in_spark(
        spark,
        recorded_gold,
        """
        SELECT cluster_id, leader, count(*) FROM intervals
        WHERE valid_to IS NULL AND leader >= 0 GROUP BY cluster_id, leader ORDER BY cluster_id, leader
        """,
    )
    loads = in_spark(
        spark,
        recorded_gold,
        "SELECT cluster_id, broker_id, leaders_at_end FROM broker_load ORDER BY cluster_id, broker_id",
    )
    assert loads == long_way
    shares = in_spark(
        spark, recorded_gold, "SELECT round(sum(leader_share) / count(*), 6) FROM broker_load GROUP BY cluster_id, `at`"
    )
    assert set(shares) == {(1.0,)}
