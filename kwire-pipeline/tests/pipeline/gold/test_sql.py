"""The queries in docs/gold.md run in Spark and in duckdb, with equal results."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from kwire_pipeline import gold
from kwire_pipeline.gold import broker_disk, config_deviations, consumer_lag
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.sql_views import VIEWS, create_views, open_duckdb
from kwire_pipeline.store.commits import PipelineStore
from tests.docs.pages import as_module
from tests.paths import ROOT
from tests.pipeline.recorded import tables
from tests.pipeline.table_pages import as_markdown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.nightly

DOCUMENT = ROOT / "docs" / "gold.md"
PAGE = DOCUMENT.read_text()
TABLES_OF_INPUTS = (
    consumer_lag.TABLE,
    broker_disk.USAGE,
    broker_disk.TOPIC_USAGE,
    config_deviations.DESIRED,
    config_deviations.TABLE,
)
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


def plain(value: Any) -> Any:
    """Return a value as both engines represent it: without zones, rounded, lists and structs as tuples."""
    match value:
        case datetime():
            return value.replace(tzinfo=None)
        case float():
            return round(value, 6)
        case dict():  # a struct: a Row in Spark
            return tuple(map(plain, value.values()))
        case list() | tuple():
            return tuple(map(plain, value))
    return value


def in_spark(spark: SparkSession, out: str, query: str) -> list[tuple[Any, ...]]:
    for table in gold.TABLES:
        tables(spark, out).table(table.name).createOrReplaceTempView(table.name)
    rows = spark.sql(query.replace('"', "`")).collect()
    return [tuple(map(plain, row)) for row in rows]


def in_duckdb(out: str, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        snapshot = PipelineStore(out).snapshot()
        for table in gold.TABLES:
            connection.register(table.name, snapshot.dataset(table.folder))
        # DuckDB needs pytz to return times with a zone as Python objects.
        found: pa.Table = connection.sql(query).to_arrow_table()
        return [tuple(map(plain, row.values())) for row in found.to_pylist()]


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_query_gives_same_result_in_spark_and_duckdb(number: int, spark: SparkSession, recorded_gold: str) -> None:
    query = QUERIES[number]
    rows = in_spark(spark, recorded_gold, query)
    assert sorted(map(repr, rows)) == sorted(map(repr, in_duckdb(recorded_gold, query)))
    # At the end of the recordings no partition is under-replicated or offline, and they have metadata and configs only.
    assert rows or query == QUERIES[0] or any(table.name in query for table in TABLES_OF_INPUTS)


def test_views_give_same_result_in_spark_and_duckdb(spark: SparkSession, recorded_gold: str) -> None:
    create_views(Pipeline(spark, recorded_gold), "v_")
    with open_duckdb(PipelineStore(recorded_gold).snapshot()) as connection:
        for view in VIEWS:
            rows = [tuple(map(plain, row)) for row in spark.sql(f"SELECT * FROM v_{view.name}").collect()]
            found = connection.sql(f"SELECT * FROM {view.name}").to_arrow_table().to_pylist()
            assert sorted(repr(tuple(map(plain, row.values()))) for row in found) == sorted(map(repr, rows)), view.name
            assert rows or view.name not in {"current_clusters", "current_brokers", "current_topics", "current_leaders"}


def test_page_lists_gold_tables() -> None:
    assert PAGE.endswith("## The tables\n\n" + as_markdown(gold.TABLES))


def test_leader_moves_equal_recorded_elections(spark: SparkSession, recorded_gold: str) -> None:
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


def test_broker_load_equals_intervals(spark: SparkSession, recorded_gold: str) -> None:
    """The loads are computed from changes; this test counts the intervals."""
    counted = in_spark(
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
        """
        SELECT cluster_id, broker_id, leaders_at_end FROM broker_load
        WHERE leaders_at_end > 0 ORDER BY cluster_id, broker_id
        """,
    )
    assert loads == counted
    shares = in_spark(
        spark, recorded_gold, "SELECT round(sum(leader_share) / count(*), 6) FROM broker_load GROUP BY cluster_id, `at`"
    )
    assert set(shares) == {(1.0,)}


def test_examples_run(recorded_gold: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = as_module(DOCUMENT)
    assert "/data/kafka" in code

    exec(compile(code.replace("/data/kafka", recorded_gold), str(DOCUMENT), "exec"), {})

    shown = capsys.readouterr().out
    assert shown.count("leader_epoch") == 2
    assert "only showing top 20 rows" in shown
