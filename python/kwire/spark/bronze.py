"""Frames from anywhere as rows of bronze: the columns of a capture, in order of time for each broker.

Rules of this file: nothing is judged and nothing decoded; what is missing is null but for what goes without saying.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from kwire.errors import KwireError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class NoTime(KwireError, ValueError):
    """Rows do not say when they were polled. ``rows``: how many; None when the column ``polled_at`` is missing."""

    def __init__(self, rows: int | None = None) -> None:
        super().__init__(rows)
        self.rows = rows

    def __str__(self) -> str:
        what = "the frames have no column polled_at" if self.rows is None else f"polled_at is null in {self.rows} rows"
        return f"{what}: a history needs the time of each frame; fill it in, or leave such rows out"


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
    ``kind`` is 'full' where there is a frame and else 'error', a null ``dialect`` 'kafka', a null ``broker_id``,
    ``api_key`` or ``api_version`` -1.

    Raises `NoTime` when there is no column ``polled_at``.
    """
    if "polled_at" not in frames.columns:
        raise NoTime
    given = {name: f.col(name) if name in frames.columns else f.lit(None) for name in COLUMNS}
    if "request_hex" in frames.columns:
        given["request"] = f.coalesce(given["request"].cast("binary"), f.unhex("request_hex"))
    given["kind"] = f.coalesce(given["kind"], f.when(given["frame"].isNotNull(), "full").otherwise("error"))
    given["dialect"] = f.coalesce(given["dialect"], f.lit("kafka"))
    for unknown in ("broker_id", "api_key", "api_version"):
        given[unknown] = f.coalesce(given[unknown], f.lit(-1))
    given["endpoint"] = f.coalesce(given["endpoint"], f.lit(""))
    return frames.select(*(given[name].cast(type).alias(name) for name, type in COLUMNS.items()))


def by_broker(rows: DataFrame, *then: str) -> DataFrame:
    """Each broker's rows together, in order of time; the endpoint counts while cluster or broker are not known."""
    unknown = f.col("cluster_id").isNull() | (f.col("broker_id") < 0)
    who = [f.col("cluster_id"), f.col("broker_id"), f.when(unknown, f.col("endpoint")).otherwise("")]
    return rows.repartition(*who).sortWithinPartitions(*who, "polled_at", *then)


def by_teller(rows: DataFrame, *then: str) -> DataFrame:
    """Rows of known clusters in order of time, together as silver tells them apart: by broker, -1 for all unknown."""
    who = ["cluster_id", "broker_id"]
    return rows.repartition(*who).sortWithinPartitions(*who, "polled_at", *then)
