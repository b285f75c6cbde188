"""`kafka transactions find-hanging`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated, TypeAlias
from kwire.client.admin import TopicDescription, TopicPartition
from kwire.client.admin.hanging_transactions import MAX_TRANSACTION_TIMEOUT_MS
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Option
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.topic_partitions import PARTITIONS, partitions_of
from kwire_admin.operations.verbs.visibility import explain_if_hidden

OlderThan: TypeAlias = Annotated[
    int,
    Option(
        "Seconds without a write, at least the transaction.max.timeout.ms of brokers [default: 900].",
        "SECONDS",
        minimum=0,
        maximum=2**31,
    ),
]
"""The minimum age of the last write of a hanging transaction, in seconds."""


@dataclass(frozen=True, slots=True)
class Hanging:
    """A hanging transaction. See `kwire.client.admin.HangingTransaction`.

    Attributes:
        topic: the topic.
        partition: the partition.
        start_offset: start of the transaction.
        producer_id: the id of its producer.
        producer_epoch: the epoch of its producer.
        coordinator_epoch: the epoch of the coordinator that last ended a transaction of the producer; None if none did.
        transaction: the transactional id; None if no coordinator knows the producer.
        last_timestamp_ms: the time of its last message; None if there is none.
    """

    topic: str
    partition: int
    start_offset: int | None
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int | None
    transaction: str | None
    last_timestamp_ms: int | None = field(metadata=column(unit="time"))


@operation(
    nothing="No hanging transactions.",
    dialects=("kafka",),
    examples=("transactions find-hanging", "transactions find-hanging orders --broker 3 --older-than 3600"),
)
async def find_hanging(
    run: Run,
    partitions: Annotated[
        list[str],
        Argument("Topics, or partitions as TOPIC:N [default: all].", "TOPIC[:N]", "topics", syntax=PARTITIONS),
    ],
    broker: Annotated[
        int | None,
        Option("Only partitions with a replica on this broker.", "ID", "brokers", minimum=0, maximum=2**31 - 1),
    ] = None,
    older_than: OlderThan = MAX_TRANSACTION_TIMEOUT_MS // 1000,
) -> Rows[Hanging]:
    """Find open transactions that no coordinator knows, and that would therefore stay open forever."""
    wanted = await partitions_of(run.admin, partitions) if partitions else None
    if wanted is None or broker is not None:
        topics = await run.admin.describe_topics({partition.topic for partition in wanted or ()})
        if wanted is None and (reason := await explain_if_hidden(run, len(topics), "topics")) is not None:
            run.warn(f"{reason}.")
        described = {
            TopicPartition(topic.name, partition.partition): partition.replicas
            for topic in topics.values()
            if isinstance(topic, TopicDescription)
            for partition in topic.partitions
        }
        wanted = [
            partition
            for partition in (described if wanted is None else wanted)
            if broker is None or broker in described.get(partition, ())
        ]
    return [
        Hanging(
            *partition,
            producer.transaction_start_offset,
            producer.producer_id,
            producer.producer_epoch,
            producer.coordinator_epoch,
            transactional_id,
            producer.last_timestamp_ms,
        )
        for partition, producer, transactional_id in await run.admin.find_hanging_transactions(
            wanted, older_than_ms=older_than * 1000
        )
    ]
