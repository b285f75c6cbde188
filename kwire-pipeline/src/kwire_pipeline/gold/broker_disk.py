"""`disk_usage` and `topic_disk_usage`: the volumes of brokers by hour, and the signals of offline and full ones.

A volume is almost full when less than a twentieth of it is usable, and until more than a tenth is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold import days
from kwire_pipeline.gold.diagnosis.signal import SignalKind
from kwire_pipeline.gold.signals import signal_columns
from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.in_process import Window, f
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame

    from kwire_pipeline.gold.view import GoldBuild

FULL_BELOW, FREE_ABOVE = 0.05, 0.1
"""Usable shares of a volume."""

_HOUR = (
    Column("cluster_id", "string", "the cluster"),
    Column("at", "timestamp", "the beginning of the hour", "UTC"),
    Column("broker_id", "int", "the broker"),
    Column("log_dir", "string", "the path of the directory on the broker"),
)

USAGE = GoldTable(
    "disk_usage",
    "The log directories of brokers by hour; in an hour without a row nothing changed.",
    (
        *_HOUR,
        Column("offline", "boolean", "whether it was offline at the end of the hour"),
        Column("total_bytes", "bigint", "size of its volume; null if unknown (before Kafka 3.3)", "bytes"),
        Column("usable_bytes", "bigint", "usable space at the end of the hour; null if unknown", "bytes"),
        Column("min_usable_bytes", "bigint", "least usable space in the hour; null if unknown", "bytes"),
    ),
)

TOPIC_USAGE = GoldTable(
    "topic_disk_usage",
    "The sizes of topics on brokers by hour; in an hour without a row nothing changed.",
    (
        *_HOUR,
        Column("topic", "string", "the topic's name"),
        Column("replicas", "int", "number of replicas at the end of the hour", "replicas"),
        Column("bytes", "bigint", "size of their log segments at the end of the hour", "bytes"),
        Column("max_bytes", "bigint", "largest size in the hour", "bytes"),
    ),
)

SAVED = "log_dirs"
"""The part of savepoints with the last report about each directory, and the last one that showed its level."""

_KEY = ["cluster_id", "broker_id", "log_dir"]


def plan(build: GoldBuild, start: datetime | None, stop: datetime, as_of: datetime | None) -> DataFrame | None:
    """Plan the tables and the savepoint of a window, and return its signals; None if no log directory was polled."""
    if not build.files("silver/log_dirs") and not build.files(f"gold/_{SAVED}"):
        return None
    rows = days.between(build.silver("log_dirs", start, stop), "at", start, stop)
    sizes = days.between(build.silver("topic_sizes", start, stop), "at", start, stop)
    build.replace(USAGE, _usage(rows), start)
    build.replace(TOPIC_USAGE, _topic_usage(sizes), start)
    rows = rows.drop("date")
    if start is not None and build.files(f"gold/_{SAVED}"):
        rows = rows.unionByName(build.saved(SAVED, start, SILVER_SCHEMAS[SAVED].ddl))
    if as_of is not None:
        build.save(SAVED, as_of, _last_reports(rows.where(f.col("at") < f.lit(as_of))), SILVER_SCHEMAS[SAVED].ddl)
    return _signals(rows)


def _hour() -> Expression:
    return f.date_trunc("hour", "at").alias("hour")


def _usage(rows: DataFrame) -> DataFrame:
    usable = f.when(f.col("usable_bytes") >= 0, f.col("usable_bytes"))
    last = f.max_by(f.struct("error_code", "total_bytes", usable.alias("usable"), "change"), "at")
    by_hour = (
        rows.groupBy(*_KEY, _hour()).agg(last.alias("last"), f.min(usable).alias("least")).where("last.change = 'set'")
    )
    return by_hour.select(
        "cluster_id",
        f.col("hour").alias("at"),
        "broker_id",
        "log_dir",
        (f.col("last.error_code") != 0).alias("offline"),
        f.when(f.col("last.total_bytes") >= 0, f.col("last.total_bytes")).alias("total_bytes"),
        f.col("last.usable").alias("usable_bytes"),
        f.col("least").alias("min_usable_bytes"),
    )


def _topic_usage(sizes: DataFrame) -> DataFrame:
    gone = f.col("change") == "gone"
    replicas, size = (f.when(gone, 0).otherwise(f.col(name)) for name in ("replicas", "bytes"))
    last = f.max_by(f.struct(replicas.alias("replicas"), size.alias("bytes")), "at")
    by_hour = sizes.groupBy(*_KEY, "topic", _hour()).agg(last.alias("last"), f.max("bytes").alias("max_bytes"))
    return by_hour.select(
        "cluster_id",
        f.col("hour").alias("at"),
        "broker_id",
        "log_dir",
        "topic",
        "last.replicas",
        "last.bytes",
        "max_bytes",
    )


def _level() -> Expression:
    """Return 'full' or 'free'; null between the two bounds, and where the space is not known."""
    is_measured = (f.col("change") == "set") & (f.col("total_bytes") > 0) & (f.col("usable_bytes") >= 0)
    usable = f.when(is_measured, f.col("usable_bytes") / f.col("total_bytes"))
    return f.when(usable < FULL_BELOW, "full").when(usable > FREE_ABOVE, "free").when(f.col("change") == "gone", "free")


def _last_reports(rows: DataFrame) -> DataFrame:
    """Return the last report about each directory, and the last one with a level."""
    by_directory = Window.partitionBy(*_KEY)
    level_at = f.when(_level().isNotNull(), f.col("at"))
    marked = rows.select(
        "*", f.max("at").over(by_directory).alias("last_at"), f.max(level_at).over(by_directory).alias("level_at")
    )
    is_needed = (f.col("at") == f.col("last_at")) | (f.col("at") == f.col("level_at"))
    return marked.where(is_needed).drop("last_at", "level_at").coalesce(1)


def _signals(rows: DataFrame) -> DataFrame:
    """Return the signals of directories that went offline or online, and became full or free.

    The first report about a directory has no signal, unless it is offline or full.
    """
    # Compare each report with the one before. A report without sizes keeps the level, and so does one between the two
    # thresholds (`_level`), so a disk at the threshold does not alternate.
    order = Window.partitionBy(*_KEY).orderBy("at")
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    offline = (f.col("change") == "set") & (f.col("error_code") != 0)
    levels = rows.withColumn("offline", offline).withColumn("level", _level())
    levels = levels.select(
        "*",
        f.coalesce(f.lag("offline").over(order), f.lit(False)).alias("was_offline"),
        f.coalesce(f.last("level", ignorenulls=True).over(earlier), f.lit("free")).alias("was_level"),
        f.lag("at").over(order).alias("not_before"),
    )
    # A report may change both: two signals.
    offline_kind = f.when(
        f.col("offline") != f.col("was_offline"),
        f.when(f.col("offline"), SignalKind.LOG_DIR_OFFLINE.value).otherwise(SignalKind.LOG_DIR_ONLINE.value),
    )
    full_kind = f.when(
        f.col("level") != f.col("was_level"),
        f.when(f.col("level") == "full", SignalKind.DISK_FULL.value).otherwise(SignalKind.DISK_FREE.value),
    )
    signalled = levels.withColumn("kind", f.explode(f.array_compact(f.array(offline_kind, full_kind))))
    return signalled.select(
        *signal_columns(
            kind=f.col("kind"),
            at=f.col("at"),
            not_before=f.col("not_before"),
            reported_by=f.col("broker_id"),
            broker_id=f.col("broker_id"),
            detail={
                "log_dir": f.col("log_dir"),
                "error_code": f.when(f.col("offline"), f.col("error_code")),
                "total_bytes": f.when(f.col("total_bytes") >= 0, f.col("total_bytes")),
                "usable_bytes": f.when(f.col("usable_bytes") >= 0, f.col("usable_bytes")),
            },
        )
    )
