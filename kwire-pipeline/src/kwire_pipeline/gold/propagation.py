"""`propagation`: how long each broker takes to report a change after the first one, summed up by change.

The poll interval bounds the resolution: with a poll every half second, smaller differences come from the polls and not
from the brokers. Only states that a broker reported while they lasted count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.gold.transitions import FILED_AT
from kwire_pipeline.in_process import aggregate, select
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame

TABLE = GoldTable(
    "propagation",
    "How long each broker takes to report a change after the first broker.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("at", "timestamp", "when the first broker reported the change", "UTC"),
        Column("reported_by", "int", "the first broker"),
        Column("broker_id", "int", "the broker that reported it later"),
        Column("partitions", "bigint", "partitions whose change both reported", "partitions"),
        Column("lag_ms_min", "double", "the shortest time between the two reports", "ms"),
        Column("lag_ms_mean", "double", "the mean time", "ms"),
        Column("lag_ms_max", "double", "the longest time", "ms"),
    ),
)


def propagation(transitions: DataFrame, start: datetime | None) -> DataFrame:
    """Return the rows of `TABLE` for a window. Reports about one change in different hours give several rows.

    Args:
        transitions: the agreed states of the window.
        start: its beginning; None is the beginning of the history.
    """
    rows = select(
        transitions.where("present AND size(reports) > 1"),
        "cluster_id, first_reported_at, reported_by, since, carried, explode(reports) AS report",
    )
    is_new = "true" if start is None else f"(NOT carried OR greatest(since, report.at) >= {microseconds(start)})"
    rows = rows.where(f"report.broker_id <> reported_by AND {is_new}")
    sums = aggregate(
        rows,
        f"""cluster_id, first_reported_at, reported_by, report.broker_id AS broker_id,
        date_trunc('hour', timestamp_micros(greatest(since, report.at))) AS {FILED_AT}""",
        # In integers, whose mean does not depend on their order.
        """count(*) AS partitions, min(report.at - first_reported_at) AS lag_min,
        avg(report.at - first_reported_at) AS lag_mean, max(report.at - first_reported_at) AS lag_max""",
    )
    return select(
        sums,
        """*, timestamp_micros(first_reported_at) AS at, CAST(lag_min AS double) / 1000 AS lag_ms_min,
        lag_mean / 1000 AS lag_ms_mean, CAST(lag_max AS double) / 1000 AS lag_ms_max""",
    )
