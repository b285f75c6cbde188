"""`disk_usage` and `topic_disk_usage`: the volumes of brokers by hour, and the signals of offline and full ones.

A volume is almost full when less than a twentieth of it is usable, and until more than a tenth is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold import days
from kwire_pipeline.gold.diagnosis.signal import SignalKind
from kwire_pipeline.gold.signals import signals_of
from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.in_process import aggregate, select, time_literal
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from datetime import datetime

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

_KEY = "cluster_id, broker_id, log_dir"


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
        build.save(SAVED, as_of, _last_reports(rows.where(f"at < {time_literal(as_of)}")), SILVER_SCHEMAS[SAVED].ddl)
    return _signals(rows)


def _usage(rows: DataFrame) -> DataFrame:
    usable = "CASE WHEN usable_bytes >= 0 THEN usable_bytes END"
    by_hour = aggregate(
        rows,
        f"{_KEY}, date_trunc('hour', at) AS hour",
        f"""max_by(change, at) AS change, max_by(error_code, at) <> 0 AS offline, max_by(total_bytes, at) AS total,
        max_by({usable}, at) AS usable_bytes, min({usable}) AS min_usable_bytes""",
    )
    return select(
        by_hour.where("change = 'set'"),
        f"""{_KEY}, hour AS at, offline, CASE WHEN total >= 0 THEN total END AS total_bytes, usable_bytes,
        min_usable_bytes""",
    )


def _topic_usage(sizes: DataFrame) -> DataFrame:
    by_hour = aggregate(
        sizes,
        f"{_KEY}, topic, date_trunc('hour', at) AS hour",
        """max_by(CASE WHEN change = 'gone' THEN 0 ELSE replicas END, at) AS replicas,
        max_by(CASE WHEN change = 'gone' THEN 0 ELSE bytes END, at) AS last_bytes, max(bytes) AS max_bytes""",
    )
    return select(by_hour, f"{_KEY}, topic, hour AS at, replicas, last_bytes AS bytes, max_bytes")


_USABLE = """(
    CASE WHEN change = 'set' AND total_bytes > 0 AND usable_bytes >= 0
        THEN CAST(usable_bytes AS double) / total_bytes END
)"""

_LEVEL = f"""(
    CASE WHEN {_USABLE} < {FULL_BELOW} THEN 'full'
        WHEN {_USABLE} > {FREE_ABOVE} OR change = 'gone' THEN 'free' END
)"""
"""'full' or 'free'; null between the two bounds, and where the space is not known."""


def _last_reports(rows: DataFrame) -> DataFrame:
    """Return the last report about each directory, and the last one with a level."""
    marked = select(
        rows,
        f"""*, max(at) OVER (PARTITION BY {_KEY}) AS last_at,
        max(CASE WHEN {_LEVEL} IS NOT NULL THEN at END) OVER (PARTITION BY {_KEY}) AS level_at""",
    )
    return marked.where("at = last_at OR at = level_at").drop("last_at", "level_at").coalesce(1)


def _signals(rows: DataFrame) -> DataFrame:
    """Return the signals of directories that went offline or online, and became full or free.

    The first report about a directory has no signal, unless it is offline or full.
    """
    # Compare each report with the one before. A report without sizes keeps the level, and so does one between the two
    # thresholds (`_LEVEL`), so a disk at the threshold does not alternate.
    order = f"PARTITION BY {_KEY} ORDER BY at"
    earlier = f"({order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    levels = select(rows, f"*, change = 'set' AND error_code <> 0 AS offline, {_LEVEL} AS level")
    levels = select(
        levels,
        f"""*, coalesce(lag(offline) OVER ({order}), false) AS was_offline, lag(at) OVER ({order}) AS not_before,
        max(CASE WHEN level = 'full' THEN at END) OVER {earlier} AS full_at,
        max(CASE WHEN level = 'free' THEN at END) OVER {earlier} AS free_at""",
    )
    # A report may change both: two signals.
    was_full = "(full_at IS NOT NULL AND (free_at IS NULL OR full_at > free_at))"
    signals = {
        SignalKind.LOG_DIR_OFFLINE: "offline AND NOT was_offline",
        SignalKind.LOG_DIR_ONLINE: "was_offline AND NOT offline",
        SignalKind.DISK_FULL: f"level = 'full' AND NOT {was_full}",
        SignalKind.DISK_FREE: f"level = 'free' AND {was_full}",
    }
    kinds = ", ".join(f"CASE WHEN {condition} THEN '{kind}' END" for kind, condition in signals.items())
    signalled = select(levels, f"*, explode(array_compact(array({kinds}))) AS kind")
    return signals_of(
        signalled,
        "kind",
        at="at",
        not_before="not_before",
        reported_by="broker_id",
        broker_id="broker_id",
        detail={
            "log_dir": "log_dir",
            "error_code": "CASE WHEN offline THEN error_code END",
            "total_bytes": "CASE WHEN total_bytes >= 0 THEN total_bytes END",
            "usable_bytes": "CASE WHEN usable_bytes >= 0 THEN usable_bytes END",
        },
    )
