"""SQL views over the tables of a pipeline: one for each table, and answers to frequent questions.

    create_views(pipeline)
    spark.sql("SELECT * FROM kafka_current_incidents")

Spark and DuckDB run the same queries. The views show one snapshot; create them again to see later commits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire.storage.location import Location
from kwire_pipeline.gold import TABLES
from kwire_pipeline.session import own_meaning
from kwire_pipeline.silver.tables import SILVER_SCHEMAS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from kwire_pipeline.pipeline import Pipeline
    from kwire_pipeline.store.snapshot import Snapshot
    from kwire_pipeline.tables import Table


class SqlView(NamedTuple):
    """A view: its name, the question that it answers, and its query, in which `{p}` is the prefix of all names."""

    name: str
    doc: str
    query: str


def _agreed(table: str, key: str, fields: str) -> str:
    """Return the query for what most brokers list now, by their last words about each key."""
    # The last report of 'gone' has the last known fields, which may be older. Old versions of responses lack fields,
    # and a broker may answer with one; max_by of Spark and of DuckDB differ for such nulls.
    latest = ", ".join(
        f"max_by({field}, CASE WHEN change = 'set' AND {field} IS NOT NULL THEN \"at\" END) AS {field}"
        for field in fields.split(", ")
    )
    return (
        f'SELECT cluster_id, {key}, {latest}, max("at") AS reported_at FROM'  # noqa: S608  # names of this package
        " (SELECT *, row_number() OVER"
        f' (PARTITION BY cluster_id, broker_id, {key} ORDER BY "at" DESC) AS age FROM {{p}}{table}) AS reports'
        f" WHERE age = 1 GROUP BY cluster_id, {key}"
        " HAVING 2 * sum(CASE WHEN change = 'set' THEN 1 ELSE 0 END) >= count(*)"  # names of this package
    )


def _newest(name: str, key: str) -> str:
    """Return the query for the newest row of each key, without the column of partitions (`date`)."""
    [declared] = (table for table in TABLES if table.name == name)
    columns = ", ".join(f'"{column.name}"' for column in declared.columns)
    return (
        f'SELECT {columns} FROM (SELECT *, row_number() OVER (PARTITION BY {key} ORDER BY "at" DESC) AS age'  # noqa: S608  # same
        f" FROM {{p}}{name})"
        " AS history WHERE age = 1"  # names of this package
    )


VIEWS = (
    SqlView(
        "current_clusters",
        "Each cluster: when it was polled and answered last, and how many of its partitions have problems.",
        "SELECT p.cluster_id, last_polled_at, last_answered_at,"
        " CASE WHEN last_answered_at IS NOT NULL THEN coalesce(partitions, 0) END AS partitions,"
        " CASE WHEN last_answered_at IS NOT NULL THEN coalesce(under_replicated, 0) END AS under_replicated,"
        " CASE WHEN last_answered_at IS NOT NULL THEN coalesce(offline, 0) END AS offline, incidents"
        " FROM (SELECT cluster_id, max(polled_at) AS last_polled_at,"
        " max(CASE WHEN kind <> 'error' THEN polled_at END) AS last_answered_at FROM {p}polls GROUP BY cluster_id) AS p"
        " LEFT JOIN (SELECT cluster_id, count(*) AS partitions,"
        " count(CASE WHEN under_replicated THEN 1 END) AS under_replicated,"
        " count(CASE WHEN offline THEN 1 END) AS offline"
        " FROM {p}intervals WHERE valid_to IS NULL GROUP BY cluster_id) AS i ON i.cluster_id = p.cluster_id"
        " LEFT JOIN (SELECT cluster_id, count(*) AS incidents FROM {p}incidents WHERE ended_at IS NULL"
        " GROUP BY cluster_id) AS n ON n.cluster_id = p.cluster_id"
        # Polls of endpoints that never answered belong to no cluster.
        " WHERE p.cluster_id <> '' OR i.cluster_id IS NOT NULL",
    ),
    SqlView(
        "current_brokers",
        "The brokers that most brokers list.",
        _agreed("brokers", "node_id", "host, port, rack"),
    ),
    SqlView(
        "current_topics",
        "The topics that most brokers list.",
        _agreed("topics", "topic", "topic_id, is_internal, partitions, replication_factor"),
    ),
    SqlView(
        "current_partitions",
        "The agreed state of each partition.",
        "SELECT * FROM {p}intervals WHERE valid_to IS NULL",
    ),
    SqlView(
        "current_problems",
        "Partitions that are offline, under-replicated, or without a leader.",
        "SELECT * FROM {p}intervals WHERE valid_to IS NULL AND (offline OR under_replicated OR electing)",
    ),
    SqlView(
        "current_leaders",
        "The number of partitions that each broker leads.",
        "SELECT cluster_id, leader AS broker_id, count(*) AS leaders FROM {p}intervals"
        " WHERE valid_to IS NULL AND leader >= 0 GROUP BY cluster_id, leader",
    ),
    SqlView("current_incidents", "Incidents that last.", "SELECT * FROM {p}incidents WHERE ended_at IS NULL"),
    SqlView(
        "current_configs",
        "The value of each config that is polled.",
        _agreed("configs", "resource_type, resource, key", "value, source"),
    ),
    SqlView(
        "current_drift",
        "Topic configs with another value than topics without an override have.",
        "SELECT * FROM {p}config_drift WHERE valid_to IS NULL",
    ),
    SqlView(
        "current_deviations",
        "Configs that differ from the desired ones.",
        "SELECT * FROM {p}config_deviations WHERE valid_to IS NULL",
    ),
    SqlView(
        "current_consumer_lag",
        "The last known lag of each group by partition.",
        _newest("consumer_lag", 'cluster_id, "group", topic, partition'),
    ),
    SqlView(
        "current_disk_usage",
        "The last known usage of each log directory.",
        _newest("disk_usage", "cluster_id, broker_id, log_dir"),
    ),
)
"""The views that answer questions."""


def tables() -> dict[str, Table]:
    """Return the tables of silver and gold by folder."""
    silver = {f"silver/{name}": table for name, table in SILVER_SCHEMAS.items()}
    return {**silver, **{table.folder: table for table in TABLES}}


def create_views(pipeline: Pipeline, prefix: str = "kafka_") -> list[str]:
    """Create or replace the temporary views, and return their names.

    Args:
        pipeline: the pipeline; its session gets the views.
        prefix: the beginning of all names.
    """
    snapshot = pipeline.snapshot()
    names = [table.name for table in tables().values()]
    for name in names:
        snapshot.table(name).createOrReplaceTempView(f"{prefix}{name}")
    with own_meaning(pipeline.spark):
        for view in VIEWS:
            pipeline.spark.sql(spark_query(view, prefix)).createOrReplaceTempView(f"{prefix}{view.name}")
    return [f"{prefix}{name}" for name in (*names, *(view.name for view in VIEWS))]


def spark_query(view: SqlView, prefix: str) -> str:
    """Return the query of a view in Spark's SQL, which quotes names with backticks."""
    return view.query.format(p=prefix).replace('"', "`")


def registration(out: str, schema: str) -> list[str]:
    """Return the statements of Spark's SQL that register tables and persistent views in a catalog.

    They need Delta's own catalog in Spark. The catalog takes columns and comments from the Delta tables, and views show
    the newest versions. A second run changes nothing but views.

    Args:
        out: the folder or URI of the pipeline, as Spark reads it.
        schema: an existing or a new schema, such as `kafka` or `main.kafka`.
    """
    names = {folder: table.name for folder, table in tables().items()}
    location = Location.parse(out).spark
    statements = [f"CREATE SCHEMA IF NOT EXISTS {schema}"]
    statements += [
        f"CREATE TABLE IF NOT EXISTS {schema}.{name} USING delta LOCATION {_text(f'{location}/{folder}')}"
        for folder, name in names.items()
    ]
    statements += [
        f"CREATE OR REPLACE VIEW {schema}.{view.name} COMMENT {_text(view.doc)} AS {spark_query(view, f'{schema}.')}"
        for view in VIEWS
    ]
    return statements


def open_duckdb(snapshot: Snapshot) -> DuckDBPyConnection:
    """Return a connection to DuckDB in memory with the tables and views of a snapshot."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for folder, table in tables().items():
        dataset = snapshot.dataset(folder)
        connection.register(table.name, table.stored().schema.empty_table() if dataset is None else dataset)
    for view in VIEWS:
        connection.execute(f"CREATE VIEW {view.name} AS {view.query.format(p='')}")
    return connection


def _text(value: str) -> str:
    """Return a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"
