"""The columns of signals that inputs besides metadata have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from kwire.spark.gold import signals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column


def signal_columns(*, detail: Mapping[str, Column], **given: Column) -> list[Column]:
    """Return the columns of `signals`.

    Args:
        detail: further facts; nulls are left out.
        given: other columns by name. Columns that are not given have the values of a signal without a subject.
    """
    entries = f.array(
        *(f.struct(f.lit(name).alias("key"), value.cast("string").alias("value")) for name, value in detail.items())
    )
    present = f.map_from_entries(f.filter(entries, lambda entry: entry["value"].isNotNull()))
    default = {"broker_id": f.lit(-1), "other_broker_id": f.lit(-1), "reported_by": f.lit(-1), "partitions": f.lit(0)}
    values = {"cluster_id": f.col("cluster_id"), **default, **given, "detail": present}
    return [
        values.get(column.name, f.lit(None)).cast(column.type).alias(column.name) for column in signals.TABLE.columns
    ]
