"""`config_changes` and `config_drift`: changed configs of topics, brokers, and clusters, and topics that deviate.

A broker's first description of a resource is not a change, and neither are the configs of a new topic. Brokers are
polled one after the other, so several of them report each change: only the first report counts.

`origin` is 'own' if the resource itself gained or lost the value, and 'inherited' if a default changed that it does not
override.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.in_process import aggregate, select, time_literal, with_columns
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame

DESCRIBE_CONFIGS = 32

ROUND = timedelta(seconds=1)
"""Longest time between two polls of one round."""

CHANGES = GoldTable(
    "config_changes",
    "Changes of configs.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("at", "timestamp", "the response that reported the change first", "UTC"),
        Column(
            "not_before",
            "timestamp",
            "the same broker's response before, which reported the old value; null if there is none",
            "UTC",
        ),
        Column("reported_by", "int", "the broker that reported it first"),
        Column("resource_type", "string", "'topic', 'broker' or 'cluster' (the default of all brokers)"),
        Column("resource", "string", "the topic or broker; empty for the cluster"),
        Column("key", "string", "the name of the config"),
        Column("old_value", "string", "the value before; null if it was not set"),
        Column("value", "string", "the value after; null if it is not set"),
        Column(
            "old_source",
            "int",
            "Kafka's config source of the old value: 1 topic, 2 broker, 3 cluster default, 4 file, 5 Kafka's default",
        ),
        Column("source", "int", "Kafka's config source of the new value"),
        Column(
            "origin", "string", "'own': the resource itself gained or lost the value; 'inherited': a default changed"
        ),
    ),
)

DRIFT = GoldTable(
    "config_drift",
    "Topics that override a config with another value than topics without an override have.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("topic", "string", "the topic's name"),
        Column("key", "string", "the name of the config"),
        Column("value", "string", "the topic's value"),
        Column(
            "inherited_value", "string", "the value of most topics without an override; null if every topic has one"
        ),
        Column("valid_from", "timestamp", "when it was reported first", "UTC"),
        Column("valid_to", "timestamp", "when it ended; null while it lasts", "UTC"),
    ),
    time="valid_to",
)

POLLS = "cluster_id string, broker_id int, polled_at timestamp"
"""Schema of config polls."""


def config_polls(polls: DataFrame) -> DataFrame:
    """Return when each broker reported configs: cluster_id, broker_id, polled_at."""
    answered = polls.where(f"api_key = {DESCRIBE_CONFIGS} AND kind <> 'error'")
    return answered.select("cluster_id", "broker_id", "polled_at")


def polls_for_next_window(config_polls: DataFrame, as_of: datetime) -> DataFrame:
    """Return the config polls before `as_of` that later ones are compared with.

    They are the first poll of each broker, the polls of the round in progress, and the last poll before that round.
    """
    by_broker = "(PARTITION BY cluster_id, broker_id)"
    in_progress = f"polled_at > {time_literal(as_of - ROUND)}"
    rows = select(
        config_polls.where(f"polled_at < {time_literal(as_of)}"),
        f"""*, min(polled_at) OVER {by_broker} AS first,
        max(CASE WHEN NOT {in_progress} THEN polled_at END) OVER {by_broker} AS before""",
    )
    rows = rows.where(f"{in_progress} OR polled_at = first OR polled_at <=> before")
    return rows.drop("first", "before").distinct()


def changes(configs: DataFrame, config_polls: DataFrame) -> DataFrame:
    """Return all changes of configs (`CHANGES`).

    Args:
        configs: the `configs` table of silver, unrestricted in time.
        config_polls: the config polls of the window of interest, and `polls_for_next_window` of its start.
    """
    resource = "cluster_id, broker_id, resource_type, resource"
    # All keys of a resource leave together when the topic is deleted.
    rows = select(
        configs,
        f"""*, min(CAST(change = 'gone' AS int)) OVER (PARTITION BY {resource}, at) = 1 AS leaving""",
    )
    # The first description after that is the first one of a new resource.
    rows = select(
        rows,
        f"""*, max(CASE WHEN leaving THEN at END) OVER (
            PARTITION BY {resource} ORDER BY at RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS left_at""",
    )
    rows = select(
        rows, f"*, min(CASE WHEN NOT leaving THEN at END) OVER (PARTITION BY {resource}, left_at) AS known_since"
    )
    first = aggregate(config_polls, "cluster_id, broker_id", "min(polled_at) AS first")
    rows = select(
        rows.join(first, ["cluster_id", "broker_id"], "left"),
        """*, NOT leaving AND CASE
            WHEN resource_type = 'cluster' THEN at > first + INTERVAL 3 SECONDS ELSE at > known_since
        END AS described""",
    )
    return _first_reports(rows, config_polls)


def _first_reports(rows: DataFrame, config_polls: DataFrame) -> DataFrame:
    """Return the first report of each change."""
    changed = changed_values(rows, "cluster_id, resource_type, resource, key").where("described")
    # The round before reported the old value.
    earlier = select(
        config_polls,
        f"""cluster_id, broker_id, polled_at AS at, max(polled_at) OVER (
            PARTITION BY cluster_id, broker_id ORDER BY unix_micros(polled_at)
            RANGE BETWEEN UNBOUNDED PRECEDING AND {ROUND // timedelta(microseconds=1)} PRECEDING
        ) AS not_before""",
    )
    return select(
        changed.join(earlier, ["cluster_id", "broker_id", "at"], "left"),
        """cluster_id, at, not_before, broker_id AS reported_by, resource_type, resource, key,
        old_value, value, old_source, source,
        CASE WHEN resource_type = 'cluster'
            OR (resource_type = 'topic' AND (source = 1 OR old_source = 1))
            OR (resource_type = 'broker' AND (source = 2 OR old_source = 2))
        THEN 'own' ELSE 'inherited' END AS origin""",
    )


def changed_values(configs: DataFrame, key: str) -> DataFrame:
    """Return the reports that differ from the one before about the same key, whichever broker it came from.

    The columns `old_value` and `old_source` are of that report. Of a config that is gone, value and source are null.
    """
    rows = with_columns(
        configs,
        value="CASE WHEN change = 'set' THEN value END",
        source="CASE WHEN change = 'set' THEN source END",
    )
    order = f"(PARTITION BY {key} ORDER BY at, broker_id)"
    rows = select(rows, f"*, lag(value) OVER {order} AS old_value, lag(source) OVER {order} AS old_source")
    return rows.where("NOT (value <=> old_value AND source <=> old_source)")


def drift(configs: DataFrame) -> DataFrame:
    """Return the rows of `DRIFT`: overrides, compared with the value of topics without one.

    The inherited value is the latest one of most topics without an override. Brokers report the default with each
    topic, so a mapping from topic configs to broker configs is not necessary.
    """
    key = "cluster_id, resource, key"
    values = changed_values(configs.where("resource_type = 'topic'"), key)
    values = select(values, f"*, lead(at) OVER (PARTITION BY {key} ORDER BY at, broker_id) AS valid_to")
    without_override = values.where("valid_to IS NULL AND source <> 1")
    counts = aggregate(without_override, "cluster_id, key, value", "count(*) AS topics")
    inherited = aggregate(counts, "cluster_id, key", "max_by(value, struct(topics, value)) AS inherited_value")
    rows = values.where("source = 1").join(inherited, ["cluster_id", "key"], "left")
    return select(
        rows.where("NOT value <=> inherited_value"),
        "cluster_id, resource AS topic, key, value, inherited_value, at AS valid_from, valid_to",
    )
