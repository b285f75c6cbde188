"""SQL views over the tables of a pipeline: one for each table, and answers to frequent questions.

    create_views(pipeline)
    spark.sql("SELECT * FROM kafka_open_incidents")

The views are temporary and show one snapshot; call `create_views` again to see later commits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.spark.gold import TABLES
from kwire.spark.silver.tables import SILVER_SCHEMAS

if TYPE_CHECKING:
    from kwire.spark.pipeline import Pipeline

ANSWERS = {
    "open_incidents": "SELECT * FROM {prefix}incidents WHERE ended_at IS NULL",
    "current_partitions": "SELECT * FROM {prefix}intervals WHERE valid_to IS NULL",
    "unhealthy_partitions": (
        "SELECT * FROM {prefix}intervals WHERE valid_to IS NULL AND (offline OR under_replicated OR electing)"
    ),
    "current_leaders": (
        "SELECT cluster_id, leader AS broker_id, count(*) AS leaders FROM {prefix}intervals"
        " WHERE valid_to IS NULL AND leader >= 0 GROUP BY cluster_id, leader"
    ),
    "current_drift": "SELECT * FROM {prefix}config_drift WHERE valid_to IS NULL",
}
"""The queries of the views that answer questions, by name."""


def create_views(pipeline: Pipeline, prefix: str = "kafka_") -> list[str]:
    """Create or replace the temporary views, and return their names.

    Args:
        pipeline: the pipeline; its session gets the views.
        prefix: the beginning of all names.
    """
    snapshot = pipeline.snapshot()
    tables = [*SILVER_SCHEMAS, *(table.name for table in TABLES)]
    for name in tables:
        snapshot.table(name).createOrReplaceTempView(f"{prefix}{name}")
    for name, query in ANSWERS.items():
        pipeline.spark.sql(query.format(prefix=prefix)).createOrReplaceTempView(f"{prefix}{name}")
    return [f"{prefix}{name}" for name in (*tables, *ANSWERS)]
