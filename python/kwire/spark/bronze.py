"""Frames from anywhere as rows of bronze: the columns of a capture, in order of time for each broker.

Rules of this file: nothing is judged and nothing decoded; what is missing is null but for what goes without saying.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = {
    "cluster_id": "string",
    "polled_at": "timestamp",
    "broker_id": "int",
    "endpoint": "string",
    "dialect": "string",
    "controller_id": "int",
    "api_key": "smallint",
    "api_version": "smallint",
    "kind": "string",
    "duration_us": "bigint",
    "frame": "binary",
    "request": "binary",
    "error": "string",
}
"""``kwire.capture.SCHEMA`` as Spark names its types."""

DDL = ", ".join(f"{name} {type}" for name, type in COLUMNS.items())


def normalised(frames: DataFrame) -> DataFrame:
    """The columns of bronze. Further columns are left out; ``request_hex``, a string, is taken for ``request``; a null
    ``kind`` is 'full' where there is a frame and else 'error', a null ``dialect`` 'kafka', a null ``broker_id`` -1.
    """
    given = {name: f.col(name) if name in frames.columns else f.lit(None) for name in COLUMNS}
    if "request_hex" in frames.columns:
        given["request"] = f.coalesce(given["request"].cast("binary"), f.unhex("request_hex"))
    given["kind"] = f.coalesce(given["kind"], f.when(given["frame"].isNotNull(), "full").otherwise("error"))
    given["dialect"] = f.coalesce(given["dialect"], f.lit("kafka"))
    given["broker_id"] = f.coalesce(given["broker_id"], f.lit(-1))
    given["endpoint"] = f.coalesce(given["endpoint"], f.lit(""))
    return frames.select(*(given[name].cast(type).alias(name) for name, type in COLUMNS.items()))


def by_broker(rows: DataFrame, *then: str) -> DataFrame:
    """Each broker's rows together, in order of time; the endpoint counts while cluster or broker are not known."""
    unknown = f.col("cluster_id").isNull() | (f.col("broker_id") < 0)
    who = [f.col("cluster_id"), f.col("broker_id"), f.when(unknown, f.col("endpoint")).otherwise("")]
    return rows.repartition(*who).sortWithinPartitions(*who, "polled_at", *then)
