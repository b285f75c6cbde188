"""`signals`: what the brokers reported, summed up by time, broker, and kind. `incidents` are computed from them.

The cost depends on the number of different changes, not of partitions: a failed broker is a handful of rows.
`SignalKind` describes the kinds and what their columns mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold import transitions
from kwire_pipeline.gold.diagnosis.signal import SignalKind
from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.gold.transitions import FILED_AT
from kwire_pipeline.in_process import Window, f
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame

TABLE = GoldTable(
    "signals",
    "What the brokers reported, summed up by time, broker, and kind.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("kind", "string", ", ".join(SignalKind)),
        Column("at", "timestamp", "the response that reported it first, or the failed poll", "UTC"),
        Column(
            "not_before", "timestamp", "when the same broker last reported the opposite; null if it never did", "UTC"
        ),
        Column("reported_by", "int", "the broker that reported it; -1 for the poller"),
        Column("broker_id", "int", "the broker that the signal is about; -1 if no single broker is"),
        Column("other_broker_id", "int", "the other broker involved, such as the new leader; -1 if there is none"),
        Column("topic", "string", "the topic that appeared or vanished; else null"),
        Column("partitions", "int", "number of partitions", "partitions"),
        Column("topics", "array<string>", "the topics of the partitions, sorted"),
        Column(
            "partition_hashes",
            "array<bigint>",
            "a hash of topic and partition for each partition: incidents count a partition once; else null",
        ),
        Column("detail", "map<string,string>", "further facts, depending on the kind"),
    ),
)

_FACTS_TYPE = "array<struct<kind:string,broker_id:int,other_broker_id:int,step:string>>"

STEADY_CONTROLLER = 0.1
"""Share of responses in which the controller id may change. Under KRaft it changes in every second response."""


def signals(
    agreed: DataFrame,
    metadata: DataFrame,
    brokers: DataFrame,
    config_changes: DataFrame,
    start: datetime | None,
) -> DataFrame:
    """Return all signals of a window, with the column `FILED_AT`.

    Args:
        agreed: the agreed states (`transitions`).
        metadata: the Metadata polls (`voting_periods.metadata_polls`).
        brokers: the `brokers` table of silver.
        config_changes: the changes of configs.
        start: the beginning of the window. None if nothing is known of the time before: what the first responses list
            existed before.
    """
    reporters = metadata.where(~f.col("failed")).select(
        "cluster_id",
        f.col("broker_id").alias("reported_by"),
        f.unix_micros("polled_at").alias("us"),
        f.col("answered_before").alias("not_before"),
    )
    same_topic = transitions.is_same_topic()
    seen = _topic_signals(agreed, same_topic).unionByName(_partition_signals(agreed, same_topic))
    seen = seen.drop("not_before").join(reporters, ["cluster_id", "reported_by", "us"], "left").drop("us")
    if start is None:
        # The first response of a broker shows how things are, not that they have changed.
        initial = f.col("not_before").isNull()
        states = (
            SignalKind.PARTITIONS_APPEARED,
            SignalKind.OUT_OF_SYNC,
            SignalKind.BACK_IN_SYNC,
            SignalKind.ADDING_REPLICAS,
            SignalKind.REPLICAS_ADDED,
        )
        seen = seen.where(~initial | f.col("kind").isin(*(kind.value for kind in states)))
        marked = f.map_concat("detail", f.create_map(f.lit("initial"), f.lit("true")))
        seen = seen.withColumn("detail", f.when(initial, marked).otherwise(f.col("detail")))
    parts = [
        _poll_signals(metadata),
        _listing_signals(brokers, metadata),
        _controller_signals(metadata),
        _config_signals(config_changes),
    ]
    everything = seen.select(*TABLE.names, FILED_AT)
    for part in parts:
        rows = part.select(*TABLE.names, f.col("at").alias(FILED_AT))
        everything = everything.unionByName(rows if start is None else rows.where(f.col("at") >= f.lit(start)))
    return everything


def signal_columns(
    kind: SignalKind | Expression, *, detail: Mapping[str, Expression] | None = None, **columns: Expression | str
) -> list[Expression]:
    """Return the columns of signals.

    Args:
        kind: the kind of all signals, or of each.
        detail: further facts; nulls are left out [default: null].
        columns: other columns, or names of the input's columns. Missing columns have the values of a signal without a
            subject.
    """
    values: dict[str, Expression] = {
        "cluster_id": f.col("cluster_id"),
        "kind": f.lit(kind.value) if isinstance(kind, SignalKind) else kind,
        **{name: f.lit(-1) for name in ("broker_id", "other_broker_id", "reported_by")},
        "partitions": f.lit(0),
        **{name: f.col(column) if isinstance(column, str) else column for name, column in columns.items()},
    }
    if detail is not None:
        values["detail"] = _details(**detail)
    return [values.get(column.name, f.lit(None)).cast(column.type).alias(column.name) for column in TABLE.columns]


def _details(**values: Expression) -> Expression:
    """Return a map of the values that are not null."""
    entries = f.array(
        *(f.struct(f.lit(name).alias("key"), value.cast("string").alias("value")) for name, value in values.items())
    )
    return f.map_from_entries(f.filter(entries, lambda entry: entry["value"].isNotNull()))


# Partitions


def _changed_partitions(agreed: DataFrame, same_topic: Expression) -> DataFrame:
    """Return a row for each partition that appears or vanishes: it was absent or of another topic before."""
    changed = agreed.where(~f.col("carried") & ~f.coalesce(same_topic, f.lit(False)))

    def rows(present: str, kind: SignalKind, change: int, *columns: Expression) -> DataFrame:
        fixed = (f.lit(kind.value).alias("kind"), f.lit(change).alias("change"), _hour_of_agreement())
        reported = ("cluster_id", "reported_by", "first_reported_at", "topic")
        return changed.where(present).select(*reported, *fixed, *columns)

    appeared = rows(
        "present",
        SignalKind.PARTITIONS_APPEARED,
        1,
        f.col("topic_id").alias("id"),
        f.col("was_known_id").alias("known_id"),
        f.col("was_known").alias("known"),
        f.col("partitions_before").alias("older"),
    )
    vanished = rows(
        "was_present",
        SignalKind.PARTITIONS_VANISHED,
        -1,
        f.col("was_topic_id").alias("id"),
        f.lit(None).cast("string").alias("known_id"),
        f.lit(False).alias("known"),
        f.col("was_partitions_before").alias("older"),
    )
    return appeared.unionByName(vanished)


def _topic_signals(agreed: DataFrame, same_topic: Expression) -> DataFrame:
    """Return appeared and vanished partitions by topic, with their time in microseconds as column `us`."""
    # 1. One signal for all partitions of a topic that one broker reported first at one time.
    summed = (
        _changed_partitions(agreed, same_topic)
        .groupBy("cluster_id", "kind", "reported_by", "first_reported_at", "topic", "id", FILED_AT)
        .agg(
            f.count("*").cast("int").alias("partitions"),
            f.max("known_id").alias("known_id"),
            f.max("known").alias("known"),
            f.max("older").alias("older"),
            f.sum("change").alias("change"),
        )
    )
    # 2. The number of partitions before the signal distinguishes a new topic from added partitions: the number before
    #    the window (`older`), and the earlier signals of the window.
    of_topic = Window.partitionBy("cluster_id", "topic", "id").orderBy(
        FILED_AT, "first_reported_at", "kind", "reported_by"
    )
    earlier = f.sum("change").over(of_topic.rowsBetween(Window.unboundedPreceding, -1))
    before = f.coalesce("older", f.lit(0)) + f.coalesce(earlier, f.lit(0))
    return summed.withColumn("before", f.when(f.col("id").isNotNull() & (before > 0), before)).select(
        *signal_columns(
            f.col("kind"),
            at=f.timestamp_micros("first_reported_at"),
            reported_by="reported_by",
            topic="topic",
            partitions="partitions",
            topics=f.array("topic"),
            detail={
                "topic_id": f.col("id"),
                "was_topic_id": f.col("known_id"),
                "known": f.when(f.col("known"), f.lit("true")),
                "before": f.col("before"),
            },
        ),
        f.col("first_reported_at").alias("us"),
        FILED_AT,
    )


def _partition_signals(agreed: DataFrame, same_topic: Expression) -> DataFrame:
    """Return the other changes of partitions, summed up, with their time in microseconds as column `us`."""
    # One row for each fact about one partition, then one signal for equal facts of one broker and time.
    facts = agreed.where(~f.col("carried")).select(
        "cluster_id",
        "reported_by",
        "first_reported_at",
        "topic",
        f.xxhash64("topic", "partition").alias("hash"),
        _hour_of_agreement(),
        f.explode(f.filter(_facts(same_topic), lambda fact: fact.isNotNull())).alias("fact"),
    )
    return (
        facts.select("cluster_id", "reported_by", "first_reported_at", FILED_AT, "topic", "hash", "fact.*")
        .groupBy(
            "cluster_id", "reported_by", "first_reported_at", FILED_AT, "kind", "broker_id", "other_broker_id", "step"
        )
        .agg(
            f.count("*").cast("int").alias("partitions"),
            f.sort_array(f.collect_set("topic")).alias("topics"),
            f.collect_set("hash").alias("partition_hashes"),
        )
        .select(
            *signal_columns(
                f.col("kind"),
                at=f.timestamp_micros("first_reported_at"),
                detail={"step": f.col("step")},
                **{name: name for name in ("reported_by", "broker_id", "other_broker_id")},
                **{name: name for name in ("partitions", "topics", "partition_hashes")},
            ),
            f.col("first_reported_at").alias("us"),
            FILED_AT,
        )
    )


def _hour_of_agreement() -> Expression:
    return f.date_trunc("hour", f.timestamp_micros("since")).alias(FILED_AT)


def _facts(same_topic: Expression) -> Expression:
    """Return what one change of a partition shows, as an array of facts with nulls among them."""
    nothing = f.array().cast(_FACTS_TYPE)
    of_isr = f.when(same_topic, f.concat(*_isr_facts())).otherwise(nothing)
    return f.concat(
        _leader_facts(same_topic, nothing),
        _replica_facts(same_topic, nothing),
        of_isr,
        _each(SignalKind.OUT_OF_SYNC, f.array_except("out_of_sync", "was_out_of_sync")),
        _each(SignalKind.BACK_IN_SYNC, f.array_except("was_out_of_sync", "out_of_sync")),
    )


def _fact(
    kind: SignalKind,
    broker_id: Expression | None = None,
    other_broker_id: Expression | None = None,
    step: Expression | None = None,
) -> Expression:
    def broker(value: Expression | None) -> Expression:
        return (value if value is not None else f.lit(-1)).cast("int")

    return f.struct(
        f.lit(kind.value).alias("kind"),
        broker(broker_id).alias("broker_id"),
        broker(other_broker_id).alias("other_broker_id"),
        (step if step is not None else f.lit(None).cast("string")).alias("step"),
    )


def _each(kind: SignalKind, brokers: Expression, other_broker_id: Expression | None = None) -> Expression:
    """Return a fact for each broker of an array."""
    return f.transform(brokers, lambda broker: _fact(kind, broker, other_broker_id))


def _leader_facts(same_topic: Expression, nothing: Expression) -> Expression:
    leader, before = f.col("leader"), f.col("previous_leader")
    moved = same_topic & (leader >= 0) & (before >= 0) & (leader != before)
    lost = same_topic & (leader < 0)
    electing, was_electing = f.col("electing"), f.col("was_electing")
    reassigning = (f.size("adding") > 0) | (f.size("was_adding") > 0)
    replicas_changed = f.col("was_replicas") != f.col("replicas")
    move = (
        f.when(
            replicas_changed | ~f.array_contains("replicas", before),
            _fact(SignalKind.LEADER_REASSIGNED, before, leader),
        )
        .when(~f.array_contains("isr", before), _fact(SignalKind.LEADER_LOST, before, leader))
        .when(reassigning, _fact(SignalKind.LEADER_REASSIGNED, before, leader))
        .when(leader == f.element_at("replicas", 1), _fact(SignalKind.PREFERRED_LEADER_ELECTED, before, leader))
        .otherwise(_fact(SignalKind.LEADER_MOVED, before, leader))
    )
    return (
        f.when(moved, f.array(move))
        .when(lost & electing & ~was_electing, f.array(_fact(SignalKind.ELECTING, before)))
        .when(
            lost & ~electing & ((f.col("was_leader") >= 0) | was_electing),
            f.array(_fact(SignalKind.LEADERLESS, before)),
        )
        .otherwise(nothing)
    )


def _replica_facts(same_topic: Expression, nothing: Expression) -> Expression:
    replicas_changed = f.col("was_replicas") != f.col("replicas")
    adding, was_adding = f.size("adding") > 0, f.size("was_adding") > 0
    only_removed = f.size(f.array_except("replicas", "was_replicas")) == 0
    step = f.when(f.col("was_expanded") & only_removed, "end").otherwise("start")
    return f.concat(
        f.when(same_topic & replicas_changed, f.array(_fact(SignalKind.REPLICAS_CHANGED, step=step))).otherwise(
            nothing
        ),
        f.when(adding & ~was_adding, f.array(_fact(SignalKind.ADDING_REPLICAS)))
        .when(was_adding & ~adding, f.array(_fact(SignalKind.REPLICAS_ADDED)))
        .otherwise(nothing),
    )


def _isr_facts() -> list[Expression]:
    leader = f.col("leader")
    left = f.array_intersect(f.array_except("was_isr", "isr"), f.col("replicas"))
    joined = f.array_intersect(f.array_except("isr", "was_isr"), f.col("was_replicas"))
    return [
        _each(SignalKind.ISR_LEFT, left, leader),
        _each(SignalKind.ISR_JOINED, joined, leader),
        _each(SignalKind.REPLICA_OFFLINE, f.array_except("offline", "was_offline")),
    ]


# Polls, broker lists, controllers, and configs


def _poll_signals(metadata: DataFrame) -> DataFrame:
    order = Window.partitionBy("cluster_id", "broker_id").orderBy("polled_at")
    rows = metadata.withColumn("failure_before", f.lag("failure").over(order))
    after_failure = f.coalesce("failed_before", f.lit(False))
    first_two_or_different = (
        ~after_failure
        | ~f.coalesce("failed_twice_before", f.lit(False))
        | (f.col("failure") != f.col("failure_before"))
    )
    failed = rows.where(f.col("failed") & first_two_or_different).select(
        *signal_columns(
            SignalKind.POLL_FAILED,
            at="polled_at",
            not_before="answered_before",
            broker_id="broker_id",
            detail={"failure": f.col("failure")},
        )
    )
    recovered = rows.where(~f.col("failed") & after_failure).select(
        *signal_columns(
            SignalKind.POLL_RECOVERED,
            at="polled_at",
            not_before="before",
            broker_id="broker_id",
            reported_by="broker_id",
        )
    )
    # Repeated every hour, so that any window of hours can be read by itself.
    hourly = rows.groupBy("cluster_id", f.date_trunc("hour", "polled_at").alias("hour"), "broker_id").agg(
        f.min(f.when(~f.col("failed"), f.col("polled_at"))).alias("first_response"),
        f.min("polled_at").alias("first"),
        f.max("polled_at").alias("last"),
        f.max("interval").alias("interval"),
    )
    responses = hourly.where(f.col("first_response").isNotNull()).select(
        *signal_columns(SignalKind.FIRST_RESPONSE, at="first_response", broker_id="broker_id", reported_by="broker_id")
    )
    intervals = hourly.groupBy("cluster_id", "hour").agg(
        f.max("last").alias("last"), f.min("first").alias("first"), f.max("interval").alias("interval")
    )
    detail = {"interval_us": f.floor(f.col("interval") * 1e6), "end": f.unix_micros("last")}
    intervals = intervals.select(*signal_columns(SignalKind.POLL_INTERVAL, at="first", detail=detail))
    return failed.unionByName(recovered).unionByName(responses).unionByName(intervals)


def _listing_signals(brokers: DataFrame, metadata: DataFrame) -> DataFrame:
    polls = metadata.select(
        "cluster_id",
        "broker_id",
        f.col("polled_at").alias("at"),
        "suspect",
        f.col("answered_before").alias("not_before"),
    )
    order = Window.partitionBy("cluster_id", "broker_id", "node_id").orderBy("at")
    rows = brokers.withColumn("before", f.lag("change").over(order))
    rows = rows.where((f.col("change") == "gone") | (f.col("before") == "gone"))
    rows = rows.join(polls, ["cluster_id", "broker_id", "at"], "left").where(~f.coalesce("suspect", f.lit(False)))
    unlisted, listed = SignalKind.BROKER_UNLISTED.value, SignalKind.BROKER_LISTED.value
    kind = f.when(f.col("change") == "gone", unlisted).otherwise(listed)
    return rows.select(
        *signal_columns(kind, at="at", not_before="not_before", reported_by="broker_id", broker_id="node_id")
    )


def _controller_signals(metadata: DataFrame) -> DataFrame:
    """Return changes of the controller, of clusters where it is steady (see `STEADY_CONTROLLER`)."""
    order = Window.partitionBy("cluster_id", "broker_id").orderBy("polled_at")
    rows = metadata.where(~f.col("failed") & (f.col("controller_id") >= 0)).select(
        "cluster_id",
        "broker_id",
        "polled_at",
        "answered_before",
        "controller_id",
        f.lag("controller_id").over(order).alias("old_controller_id"),
    )
    changed = f.coalesce(f.col("controller_id") != f.col("old_controller_id"), f.lit(False))
    rows = rows.withColumn("changed", changed)
    share = f.avg(f.col("changed").cast("int"))
    steady = rows.groupBy("cluster_id").agg((share < STEADY_CONTROLLER).alias("steady"))
    rows = rows.where("changed").join(steady, "cluster_id").where("steady")
    return rows.select(
        *signal_columns(
            SignalKind.CONTROLLER_CHANGED,
            at="polled_at",
            not_before="answered_before",
            reported_by="broker_id",
            broker_id="controller_id",
            other_broker_id="old_controller_id",
        )
    )


def _config_signals(changes: DataFrame) -> DataFrame:
    own = changes.where("origin = 'own'")
    names = {"scope": "resource_type", **{name: name for name in ("resource", "key", "old_value", "value")}}
    detail = {name: f.col(column) for name, column in names.items()}
    return own.select(
        *signal_columns(
            SignalKind.CONFIG_CHANGED, at="at", not_before="not_before", reported_by="reported_by", detail=detail
        )
    )
