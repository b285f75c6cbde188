"""`signals`: what the brokers reported, summed up by time, broker, and kind. `incidents` are computed from them.

The cost depends on the number of different changes, not of partitions: a failed broker is a handful of rows.
`SignalKind` describes the kinds and what their columns mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.diagnosis.signal import SignalKind
from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.gold.transitions import FILED_AT, IS_SAME_TOPIC
from kwire_pipeline.in_process import aggregate, select, time_literal, with_columns
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

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

_FACT = "struct<kind:string,broker_id:int,other_broker_id:int,step:string>"
"""The type of what a change of one partition shows."""

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
    reporters = select(
        metadata.where("NOT failed"),
        "cluster_id, broker_id AS reported_by, unix_micros(polled_at) AS us, answered_before AS not_before",
    )
    seen = _topic_signals(agreed).unionByName(_partition_signals(agreed))
    seen = seen.drop("not_before").join(reporters, ["cluster_id", "reported_by", "us"], "left").drop("us")
    if start is None:
        # The first response of a broker shows how things are, not that they have changed.
        kinds = (
            SignalKind.PARTITIONS_APPEARED,
            SignalKind.OUT_OF_SYNC,
            SignalKind.BACK_IN_SYNC,
            SignalKind.ADDING_REPLICAS,
            SignalKind.REPLICAS_ADDED,
        )
        seen = seen.where(f"not_before IS NOT NULL OR kind IN ({', '.join(map(repr, map(str, kinds)))})")
        initial = "map_concat(detail, map_from_entries(array(struct('initial', 'true'))))"
        seen = with_columns(seen, detail=f"CASE WHEN not_before IS NULL THEN {initial} ELSE detail END")
    parts = [
        *_poll_signals(metadata),
        _listing_signals(brokers, metadata),
        _controller_signals(metadata),
        _config_signals(config_changes),
    ]
    everything = seen.select(*TABLE.names, FILED_AT)
    for part in parts:
        rows = select(part, f"*, at AS {FILED_AT}")
        everything = everything.unionByName(rows if start is None else rows.where(f"at >= {time_literal(start)}"))
    return everything


def signals_of(
    rows: DataFrame, kind: str, *also: str, detail: Mapping[str, str] | None = None, **columns: str
) -> DataFrame:
    """Return rows as signals. All arguments are expressions.

    Args:
        rows: the rows, with the column `cluster_id`.
        kind: the kind of all signals (a `SignalKind`), or of each.
        also: names of further columns of the result.
        detail: further facts; nulls are left out [default: null].
        columns: other columns of signals. Missing ones have the values of a signal without a subject.
    """
    values = {
        "cluster_id": "cluster_id",
        "kind": f"'{kind}'" if isinstance(kind, SignalKind) else kind,
        **dict.fromkeys(("broker_id", "other_broker_id", "reported_by"), "-1"),
        "partitions": "0",
        **columns,
    }
    if detail is not None:
        facts = (f"struct('{name}', CAST({value} AS string))" for name, value in detail.items())
        entries = f"CAST(array({', '.join(facts)}) AS array<struct<key:string,value:string>>)"
        values["detail"] = f"map_from_entries(filter({entries}, fact -> fact.value IS NOT NULL))"
    typed = (f"CAST({values.get(column.name, 'NULL')} AS {column.type}) AS {column.name}" for column in TABLE.columns)
    return rows.selectExpr(*typed, *also)


# Partitions

_HOUR_OF_AGREEMENT = f"date_trunc('hour', timestamp_micros(since)) AS {FILED_AT}"


def _topic_signals(agreed: DataFrame) -> DataFrame:
    """Return appeared and vanished partitions by topic, with their time in microseconds as column `us`."""
    # 1. One signal for all partitions of a topic that one broker reported first at one time. A partition appears or
    #    vanishes if it was absent or of another topic before.
    changed = agreed.where(f"NOT carried AND NOT coalesce({IS_SAME_TOPIC}, false)")
    reported = f"cluster_id, reported_by, first_reported_at, topic, {_HOUR_OF_AGREEMENT}"
    appeared = select(
        changed.where("present"),
        f"""{reported}, '{SignalKind.PARTITIONS_APPEARED}' AS kind, 1 AS change, topic_id AS id,
        was_known_id AS known_id, was_known AS known, partitions_before AS older""",
    )
    vanished = select(
        changed.where("was_present"),
        f"""{reported}, '{SignalKind.PARTITIONS_VANISHED}' AS kind, -1 AS change, was_topic_id AS id,
        CAST(NULL AS string) AS known_id, false AS known, was_partitions_before AS older""",
    )
    summed = aggregate(
        appeared.unionByName(vanished),
        f"cluster_id, kind, reported_by, first_reported_at, topic, id, {FILED_AT}",
        """CAST(count(*) AS int) AS partitions, max(known_id) AS known_id, max(known) AS known, max(older) AS older,
        CAST(sum(change) AS bigint) AS change""",
    )
    # 2. The number of partitions before the signal distinguishes a new topic from added partitions: the number before
    #    the window (`older`), and the earlier signals of the window.
    counted = select(
        summed,
        f"""*, first_reported_at AS us, coalesce(older, 0) + coalesce(CAST(sum(change) OVER (
            PARTITION BY cluster_id, topic, id ORDER BY {FILED_AT}, first_reported_at, kind, reported_by
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bigint), 0) AS before""",
    )
    return signals_of(
        counted,
        "kind",
        "us",
        FILED_AT,
        at="timestamp_micros(us)",
        **{name: name for name in ("reported_by", "topic", "partitions")},
        topics="array(topic)",
        detail={
            "topic_id": "id",
            "was_topic_id": "known_id",
            "known": "CASE WHEN known THEN 'true' END",
            "before": "CASE WHEN id IS NOT NULL AND before > 0 THEN before END",
        },
    )


def _partition_signals(agreed: DataFrame) -> DataFrame:
    """Return the other changes of partitions, summed up, with their time in microseconds as column `us`."""
    # One row for each fact about one partition, then one signal for equal facts of one broker and time.
    facts = select(
        agreed.where("NOT carried"),
        f"""cluster_id, reported_by, first_reported_at AS us, topic, xxhash64(topic, partition) AS hash,
        {_HOUR_OF_AGREEMENT}, explode(filter({_facts()}, fact -> fact IS NOT NULL)) AS fact""",
    )
    summed = aggregate(
        select(facts, f"cluster_id, reported_by, us, {FILED_AT}, topic, hash, fact.*"),
        f"cluster_id, reported_by, us, {FILED_AT}, kind, broker_id, other_broker_id, step",
        """CAST(count(*) AS int) AS partitions, sort_array(collect_set(topic)) AS topics,
        collect_set(hash) AS partition_hashes""",
    )
    brokers, partitions = ("reported_by", "broker_id", "other_broker_id"), ("partitions", "topics", "partition_hashes")
    return signals_of(
        summed,
        "kind",
        "us",
        FILED_AT,
        at="timestamp_micros(us)",
        **{name: name for name in (*brokers, *partitions)},
        detail={"step": "step"},
    )


def _facts() -> str:
    """Return what one change of a partition shows, as an array of facts with nulls among them."""
    reassigning = "(size(adding) > 0 OR size(was_adding) > 0)"
    moved = "(leader >= 0 AND previous_leader >= 0 AND leader <> previous_leader)"
    lost = "(leader < 0 AND (was_leader >= 0 OR was_electing))"
    step = "CASE WHEN was_expanded AND size(array_except(replicas, was_replicas)) = 0 THEN 'end' ELSE 'start' END"
    left, joined = (
        "array_intersect(array_except(was_isr, isr), replicas)",
        "array_intersect(array_except(isr, was_isr), was_replicas)",
    )
    of_leaders = f"""CASE
        WHEN {moved} THEN CASE
            WHEN was_replicas <> replicas OR NOT array_contains(replicas, previous_leader)
                THEN {_fact(SignalKind.LEADER_REASSIGNED, "previous_leader", "leader")}
            WHEN NOT array_contains(isr, previous_leader)
                THEN {_fact(SignalKind.LEADER_LOST, "previous_leader", "leader")}
            WHEN {reassigning} THEN {_fact(SignalKind.LEADER_REASSIGNED, "previous_leader", "leader")}
            WHEN leader = try_element_at(replicas, 1)
                THEN {_fact(SignalKind.PREFERRED_LEADER_ELECTED, "previous_leader", "leader")}
            ELSE {_fact(SignalKind.LEADER_MOVED, "previous_leader", "leader")} END
        WHEN leader < 0 AND electing AND NOT was_electing THEN {_fact(SignalKind.ELECTING, "previous_leader")}
        WHEN {lost} AND NOT electing THEN {_fact(SignalKind.LEADERLESS, "previous_leader")} END"""
    of_replicas = f"CASE WHEN was_replicas <> replicas THEN {_fact(SignalKind.REPLICAS_CHANGED, step=step)} END"
    of_reassignments = f"""CASE
        WHEN size(adding) > 0 AND size(was_adding) = 0 THEN {_fact(SignalKind.ADDING_REPLICAS)}
        WHEN size(was_adding) > 0 AND size(adding) = 0 THEN {_fact(SignalKind.REPLICAS_ADDED)} END"""
    of_same_topic = f"""concat(
        array({of_leaders}, {of_replicas}),
        {_each(SignalKind.ISR_LEFT, left, "leader")},
        {_each(SignalKind.ISR_JOINED, joined, "leader")},
        {_each(SignalKind.REPLICA_OFFLINE, "array_except(offline, was_offline)")})"""
    return f"""concat(
        CASE WHEN {IS_SAME_TOPIC} THEN {of_same_topic} ELSE CAST(array() AS array<{_FACT}>) END,
        array({of_reassignments}),
        {_each(SignalKind.OUT_OF_SYNC, "array_except(out_of_sync, was_out_of_sync)")},
        {_each(SignalKind.BACK_IN_SYNC, "array_except(was_out_of_sync, out_of_sync)")})"""


def _fact(kind: SignalKind, broker_id: str = "-1", other_broker_id: str = "-1", step: str = "NULL") -> str:
    return f"CAST(struct('{kind}', {broker_id}, {other_broker_id}, {step}) AS {_FACT})"


def _each(kind: SignalKind, brokers: str, other_broker_id: str = "-1") -> str:
    """Return a fact for each broker of an array."""
    return f"transform({brokers}, broker -> {_fact(kind, 'broker', other_broker_id)})"


# Polls, broker lists, controllers, and configs


def _poll_signals(metadata: DataFrame) -> list[DataFrame]:
    rows = select(
        metadata, "*, lag(failure) OVER (PARTITION BY cluster_id, broker_id ORDER BY polled_at) AS failure_before"
    )
    failed = signals_of(
        rows.where(
            """failed AND (NOT coalesce(failed_before, false) OR NOT coalesce(failed_twice_before, false)
            OR failure <> failure_before)"""
        ),
        SignalKind.POLL_FAILED,
        at="polled_at",
        not_before="answered_before",
        broker_id="broker_id",
        detail={"failure": "failure"},
    )
    recovered = signals_of(
        rows.where("NOT failed AND failed_before"),
        SignalKind.POLL_RECOVERED,
        at="polled_at",
        not_before="before",
        broker_id="broker_id",
        reported_by="broker_id",
    )
    # Repeated every hour, so that any window of hours can be read by itself.
    hourly = aggregate(
        rows,
        "cluster_id, date_trunc('hour', polled_at) AS hour, broker_id",
        """min(CASE WHEN NOT failed THEN polled_at END) AS first_response, min(polled_at) AS first,
        max(polled_at) AS last, max(`interval`) AS `interval`""",
    )
    responses = signals_of(
        hourly.where("first_response IS NOT NULL"),
        SignalKind.FIRST_RESPONSE,
        at="first_response",
        broker_id="broker_id",
        reported_by="broker_id",
    )
    intervals = aggregate(
        hourly, "cluster_id, hour", "max(last) AS last, min(first) AS first, max(`interval`) AS `interval`"
    )
    detail = {"interval_us": "CAST(floor(`interval` * 1e6) AS bigint)", "end": "unix_micros(last)"}
    return [failed, recovered, responses, signals_of(intervals, SignalKind.POLL_INTERVAL, at="first", detail=detail)]


def _listing_signals(brokers: DataFrame, metadata: DataFrame) -> DataFrame:
    polls = select(metadata, "cluster_id, broker_id, polled_at AS at, suspect, answered_before AS not_before")
    rows = select(
        brokers, "*, lag(change) OVER (PARTITION BY cluster_id, broker_id, node_id ORDER BY at) AS change_before"
    )
    rows = rows.where("change = 'gone' OR change_before = 'gone'")
    return signals_of(
        rows.join(polls, ["cluster_id", "broker_id", "at"], "left").where("NOT coalesce(suspect, false)"),
        f"CASE WHEN change = 'gone' THEN '{SignalKind.BROKER_UNLISTED}' ELSE '{SignalKind.BROKER_LISTED}' END",
        at="at",
        not_before="not_before",
        reported_by="broker_id",
        broker_id="node_id",
    )


def _controller_signals(metadata: DataFrame) -> DataFrame:
    """Return changes of the controller, of clusters where it is steady (see `STEADY_CONTROLLER`)."""
    rows = select(
        metadata.where("NOT failed AND controller_id >= 0"),
        """*, lag(controller_id) OVER (PARTITION BY cluster_id, broker_id ORDER BY polled_at) AS old_controller_id""",
    )
    rows = select(rows, "*, coalesce(controller_id <> old_controller_id, false) AS changed")
    steady = aggregate(rows, "cluster_id", f"avg(CAST(changed AS int)) < {STEADY_CONTROLLER} AS steady")
    return signals_of(
        rows.where("changed").join(steady, ["cluster_id"]).where("steady"),
        SignalKind.CONTROLLER_CHANGED,
        at="polled_at",
        not_before="answered_before",
        reported_by="broker_id",
        broker_id="controller_id",
        other_broker_id="old_controller_id",
    )


def _config_signals(changes: DataFrame) -> DataFrame:
    return signals_of(
        changes.where("origin = 'own'"),
        SignalKind.CONFIG_CHANGED,
        **{name: name for name in ("at", "not_before", "reported_by")},
        detail={"scope": "resource_type", **{name: name for name in ("resource", "key", "old_value", "value")}},
    )
