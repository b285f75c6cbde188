"""`signals`: what was seen of each cluster, summed up by instant and witness; what `incidents` are made from.

Cost follows the number of different things seen, not of partitions: a dead broker is a handful of rows. So incidents
that last for days can be thought about anew each hour.

Kinds, and what their columns mean:

| kind | broker | other | seen |
|---|---|---|---|
| `rhythm` | | | detail: `interval_us` between polls of a broker (the slowest one's), if any was polled twice; `end` |
| `heard` | who answered | | its first answer in an hour |
| `failed` | who did not answer | | first and second failure in a row, and each of another class; detail `failure` |
| `answered` | who answered again | | after failures |
| `unlisted`, `listed` | whom | | `reported_by` dropped it from its list of brokers, or has it again |
| `appeared`, `vanished` | | | partitions of `topic`; detail: see below |
| `isr_left`, `isr_joined` | the replica | leader | left or joined ISRs |
| `ailing`, `healed` | the replica | | became out of sync or offline, or ceased to be; not counting those being added |
| `replica_offline` | the replica | | was called offline |
| `moved` | leader before | leader | the one before is out of sync: it was lost |
| `elected` | leader before | leader | to the preferred replica from one in sync |
| `reassigned` | leader before | leader | together with replica lists, or while replicas move |
| `shifted` | leader before | leader | from one in sync, not to the preferred replica |
| `leaderless`, `electing` | leader before | | no leader: under a new leader epoch, under the old one |
| `replicas` | | | replica lists changed; detail `step`: start or end |
| `adding`, `added` | | | partitions with replicas that are still to come, and ceasing to be such |
| `controller` | new | old | told another controller than before (not under KRaft) |
| `config` | | | a configuration changed; detail `scope`, `resource`, `key`, `was`, `value` |

The detail of `appeared`: `topic_id`; `known` when the name was known before, then under `was_topic_id`; `before`, how
many older partitions there are; `initial` when a witness tells for the first time. Likewise that of `vanished`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from kwire.spark.gold.tables import Column, Table

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame

TABLE = Table(
    "signals",
    "What was seen of a cluster, by instant and witness.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("kind", "string", "what was seen"),
        Column("at", "timestamp", "the answer that told it first, or the failure", "UTC"),
        Column("not_before", "timestamp", "when its witness had told otherwise last; null for never", "UTC"),
        Column("reported_by", "int", "the witness; -1 for the poller itself"),
        Column("broker", "int", "whom it is about; -1 for nobody"),
        Column("other", "int", "the other broker in it; -1 for none"),
        Column("topic", "string", "the topic that came or went; null otherwise"),
        Column("partitions", "int", "how many partitions it is about", "partitions"),
        Column("topics", "array<string>", "of which topics they are, sorted"),
        Column("detail", "map<string,string>", "the rest"),
    ),
)

_NO_TOPICS = "array<string>"
_NO_DETAIL = "map<string,string>"


def signals(
    transitions: DataFrame, metadata: DataFrame, brokers: DataFrame, configs: DataFrame, first_run: bool
) -> DataFrame:
    """All signals of a time, from what `transitions`, `answering` and `config_changes` say about it.

    ``first_run``: nothing is known of an earlier time, so what the very first answer lists was there before.
    """
    seen = _of_partitions(transitions)
    witnesses = metadata.where(~f.col("failed")).select(
        "cluster_id",
        f.col("broker_id").alias("reported_by"),
        f.unix_micros("polled_at").alias("us"),
        f.col("answered_before").alias("not_before"),
    )
    seen = seen.join(witnesses, ["cluster_id", "reported_by", "us"], "left").drop("us")
    if first_run:
        # The first word of a witness says how things are, not that they have changed.
        initial = f.col("not_before").isNull()
        seen = seen.where(~initial | f.col("kind").isin("appeared", "ailing", "healed", "adding", "added"))
        mark = f.map_concat("detail", f.create_map(f.lit("initial"), f.lit("true")))
        seen = seen.withColumn("detail", f.when(initial, mark).otherwise(f.col("detail")))
    parts = [seen, _of_polls(metadata), _of_lists(brokers, metadata), _of_controllers(metadata), _of_configs(configs)]
    everything = parts[0].select(*TABLE.names)
    for part in parts[1:]:
        everything = everything.unionByName(part.select(*TABLE.names))
    return everything


def _signal(
    kind: str | Expression,
    *,
    at: str,
    not_before: str | None = None,
    reported_by: str | None = None,
    broker: str | None = None,
    other: str | None = None,
    detail: Expression | None = None,
) -> list[Expression]:
    def whom(name: str | None) -> Expression:
        return f.col(name).cast("int") if name else f.lit(-1)

    return [
        f.col("cluster_id"),
        (f.lit(kind) if isinstance(kind, str) else kind).alias("kind"),
        f.col(at).alias("at"),
        (f.col(not_before) if not_before else f.lit(None).cast("timestamp")).alias("not_before"),
        whom(reported_by).alias("reported_by"),
        whom(broker).alias("broker"),
        whom(other).alias("other"),
        f.lit(None).cast("string").alias("topic"),
        f.lit(0).alias("partitions"),
        f.lit(None).cast(_NO_TOPICS).alias("topics"),
        (detail if detail is not None else f.lit(None).cast(_NO_DETAIL)).alias("detail"),
    ]


def _of_partitions(transitions: DataFrame) -> DataFrame:
    """What changes of partitions say, summed up; with a column ``us``, its time in microseconds."""
    new = transitions.where(~f.col("carried"))
    same = f.col("present") & f.col("was_present") & f.col("topic_id").eqNullSafe(f.col("was_topic_id"))
    appeared = f.col("present") & ~f.coalesce(same, f.lit(False))
    vanished = f.coalesce(f.col("was_present"), f.lit(False)) & ~f.coalesce(same, f.lit(False))

    topics = new.where(appeared | vanished)
    came = topics.where(appeared).select(
        "cluster_id",
        f.lit("appeared").alias("kind"),
        "reported_by",
        "first_reported_at",
        "topic",
        f.col("topic_id").alias("of"),
        f.col("was_known_id").alias("known_id"),
        f.col("was_known").alias("known"),
    )
    went = topics.where(vanished).select(
        "cluster_id",
        f.lit("vanished").alias("kind"),
        "reported_by",
        "first_reported_at",
        "topic",
        f.col("was_topic_id").alias("of"),
        f.lit(None).cast("string").alias("known_id"),
        f.lit(False).alias("known"),
    )
    listed = (
        came.unionByName(went)
        .groupBy("cluster_id", "kind", "reported_by", "first_reported_at", "topic", "of")
        .agg(
            f.count("*").cast("int").alias("partitions"),
            f.max("known_id").alias("known_id"),
            f.max("known").alias("known"),
        )
    )
    # Partitions of the topic that are older than these.
    before = (
        transitions.where("carried and present")
        .groupBy("cluster_id", "topic", f.col("topic_id").alias("of"))
        .agg(f.count("*").alias("before"))
    )
    listed = listed.join(before, ["cluster_id", "topic", "of"], "left")
    listed = listed.select(
        "cluster_id",
        "kind",
        f.timestamp_micros("first_reported_at").alias("at"),
        "reported_by",
        f.lit(-1).alias("broker"),
        f.lit(-1).alias("other"),
        "topic",
        "partitions",
        f.array("topic").alias("topics"),
        _details(
            topic_id=f.col("of"),
            was_topic_id=f.col("known_id"),
            known=f.when(f.col("known"), f.lit("true")),
            before=f.col("before").cast("string"),
        ).alias("detail"),
        f.col("first_reported_at").alias("us"),
    )

    facts = new.select(
        "cluster_id",
        "reported_by",
        "first_reported_at",
        "topic",
        f.explode(f.filter(_facts(same), lambda x: x.isNotNull())).alias("fact"),
    )
    summed = (
        facts.select("cluster_id", "reported_by", "first_reported_at", "topic", "fact.*")
        .groupBy("cluster_id", "reported_by", "first_reported_at", "kind", "broker", "other", "step")
        .agg(f.count("*").cast("int").alias("partitions"), f.sort_array(f.collect_set("topic")).alias("topics"))
        .select(
            "cluster_id",
            "kind",
            f.timestamp_micros("first_reported_at").alias("at"),
            "reported_by",
            "broker",
            "other",
            f.lit(None).cast("string").alias("topic"),
            "partitions",
            "topics",
            _details(step=f.col("step")).alias("detail"),
            f.col("first_reported_at").alias("us"),
        )
    )
    return listed.unionByName(summed)


def _facts(same: Expression) -> Expression:
    """All that one change of a partition says, as an array of (kind, broker, other, step), nulls among them."""
    nobody = f.lit(-1)

    def fact(
        kind: str, broker: Expression = nobody, other: Expression = nobody, step: Expression | None = None
    ) -> Expression:
        return f.struct(
            f.lit(kind).alias("kind"),
            broker.cast("int").alias("broker"),
            other.cast("int").alias("other"),
            (step if step is not None else f.lit(None).cast("string")).alias("step"),
        )

    def each(kind: str, brokers: Expression, other: Expression = nobody) -> Expression:
        return f.transform(brokers, lambda broker: fact(kind, broker, other))

    leader, before, held = f.col("leader"), f.col("previous_leader"), f.col("isr")
    replicas_changed = f.col("was_replicas") != f.col("replicas")
    led = same & (leader >= 0) & (before >= 0) & (leader != before)
    lost = same & (leader < 0)
    nothing = f.array().cast("array<struct<kind:string,broker:int,other:int,step:string>>")
    some_added = f.size("adding") > 0
    some_were = f.size("was_adding") > 0
    move = (
        f.when(replicas_changed | ~f.array_contains("replicas", before), fact("reassigned", before, leader))
        .when(~f.array_contains(held, before), fact("moved", before, leader))
        .when(some_added | some_were, fact("reassigned", before, leader))
        .when(leader == f.element_at("replicas", 1), fact("elected", before, leader))
        .otherwise(fact("shifted", before, leader))
    )
    step = f.when(f.col("was_grown") & (f.size(f.array_except("replicas", "was_replicas")) == 0), "end").otherwise(
        "start"
    )
    return f.concat(
        f.when(led, f.array(move)).otherwise(nothing),
        f.when(lost & f.col("electing") & ~f.col("was_electing"), f.array(fact("electing", before)))
        .when(
            lost & ~f.col("electing") & ((f.col("was_leader") >= 0) | f.col("was_electing")),
            f.array(fact("leaderless", before)),
        )
        .otherwise(nothing),
        f.when(same & replicas_changed, f.array(fact("replicas", step=step))).otherwise(nothing),
        f.when(some_added & ~some_were, f.array(fact("adding")))
        .when(some_were & ~some_added, f.array(fact("added")))
        .otherwise(nothing),
        f.when(
            same,
            f.concat(
                each("isr_left", f.array_intersect(f.array_except("was_isr", "isr"), f.col("replicas")), leader),
                each("isr_joined", f.array_intersect(f.array_except("isr", "was_isr"), f.col("was_replicas")), leader),
                each("replica_offline", f.array_except("offline", "was_offline")),
            ),
        ).otherwise(nothing),
        each("ailing", f.array_except("ailing", "was_ailing")),
        each("healed", f.array_except("was_ailing", "ailing")),
    )


def _details(**values: Expression) -> Expression:
    """A map of those values that are not null."""
    entries = f.array(
        *(f.struct(f.lit(name).alias("key"), value.cast("string").alias("value")) for name, value in values.items())
    )
    return f.map_from_entries(f.filter(entries, lambda entry: entry["value"].isNotNull()))


def _of_polls(metadata: DataFrame) -> DataFrame:
    order = Window.partitionBy("cluster_id", "broker_id").orderBy("polled_at")
    rows = metadata.withColumn("failure_before", f.lag("failure").over(order))
    after_failure = f.coalesce("failed_before", f.lit(False))
    fresh = (
        ~after_failure
        | ~f.coalesce("failed_twice_before", f.lit(False))
        | (f.col("failure") != f.col("failure_before"))
    )
    failed = rows.where(f.col("failed") & fresh).select(
        *_signal(
            "failed",
            at="polled_at",
            not_before="answered_before",
            broker="broker_id",
            detail=_details(failure=f.col("failure")),
        )
    )
    answered = rows.where(~f.col("failed") & after_failure).select(
        *_signal("answered", at="polled_at", not_before="before", broker="broker_id", reported_by="broker_id")
    )
    # Each hour anew, so that any stretch of hours can be read by itself.
    hourly = rows.groupBy("cluster_id", f.date_trunc("hour", "polled_at").alias("hour"), "broker_id").agg(
        f.min(f.when(~f.col("failed"), f.col("polled_at"))).alias("first_answer"),
        f.min("polled_at").alias("first"),
        f.max("polled_at").alias("last"),
        f.max("interval").alias("interval"),
    )
    heard = hourly.where(f.col("first_answer").isNotNull()).select(
        *_signal("heard", at="first_answer", broker="broker_id", reported_by="broker_id")
    )
    rhythm = hourly.groupBy("cluster_id", "hour").agg(
        f.max("last").alias("last"), f.min("first").alias("first"), f.max("interval").alias("interval")
    )
    detail = _details(interval_us=(f.col("interval") * 1e6).cast("long"), end=f.unix_micros("last"))
    rhythm = rhythm.select(*_signal("rhythm", at="first", detail=detail))
    return failed.unionByName(answered).unionByName(heard).unionByName(rhythm)


def _of_lists(brokers: DataFrame, metadata: DataFrame) -> DataFrame:
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
    kind = f.when(f.col("change") == "gone", "unlisted").otherwise("listed")
    return rows.select(*_signal(kind, at="at", not_before="not_before", reported_by="broker_id", broker="node_id"))


def _of_controllers(metadata: DataFrame) -> DataFrame:
    """Changes of the controller, of clusters where it is a steady thing.

    Under KRaft an answer names any live broker: it changes at every second answer or more often. Where it changes at
    more than one in ten it is no controller.
    """
    order = Window.partitionBy("cluster_id", "broker_id").orderBy("polled_at")
    rows = metadata.where(~f.col("failed") & (f.col("controller_id") >= 0)).select(
        "cluster_id",
        "broker_id",
        "polled_at",
        "answered_before",
        "controller_id",
        f.lag("controller_id").over(order).alias("was"),
    )
    changed = f.coalesce(f.col("controller_id") != f.col("was"), f.lit(False))
    rows = rows.withColumn("changed", changed)
    steady = rows.groupBy("cluster_id").agg((f.avg(f.col("changed").cast("int")) < 0.1).alias("steady"))
    rows = rows.where("changed").join(f.broadcast(steady), "cluster_id").where("steady")
    return rows.select(
        *_signal(
            "controller",
            at="polled_at",
            not_before="answered_before",
            reported_by="broker_id",
            broker="controller_id",
            other="was",
        )
    )


def _of_configs(changes: DataFrame) -> DataFrame:
    own = changes.where("origin = 'own'")
    detail = _details(
        scope=f.col("resource_type"),
        resource=f.col("resource"),
        key=f.col("key"),
        was=f.col("old_value"),
        value=f.col("value"),
    )
    return own.select(*_signal("config", at="at", not_before="not_before", reported_by="reported_by", detail=detail))
