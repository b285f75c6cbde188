"""`kafka transactions`."""

from __future__ import annotations

import time

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated, TypeAlias
from kwire.client.admin import AdminError, TopicDescription, TopicPartition
from kwire.client.admin.hanging_transactions import MAX_TRANSACTION_TIMEOUT_MS
from kwire_admin.operations.changes import ItemChange
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Conflict, Danger, Option
from kwire_admin.operations.partitions import (
    PARTITION,
    AllOrNamedPartitions,
    parse_partition,
    partitions_of,
)
from kwire_admin.operations.rows import column, rows_of
from kwire_admin.operations.run import Run
from kwire_admin.operations.visibility import explain_if_hidden, warn_if_hidden, warn_of_unknown


@dataclass(frozen=True, slots=True)
class TransactionSummary:
    """A transactional id in a list. See `kwire.client.admin.TransactionListing`."""

    name: str
    producer_id: int
    state: str
    coordinator: int


@operation(
    nothing="No transactions.",
    lists="transactions",
    dialects=("kafka",),
    examples=("transactions list", "transactions list --state Ongoing"),
)
async def list_(
    run: Run,
    state: Annotated[list[str], Option("Only these states, such as Ongoing.", "STATE")] = [],
) -> Rows[TransactionSummary]:
    """List transactional ids with the states of their transactions."""
    unanswered: dict[int, Exception] = {}
    rows: Rows[TransactionSummary] = [
        TransactionSummary(*transaction)
        for transaction in await run.admin.list_transactions(states=state, unanswered=unanswered)
    ]
    await warn_of_unknown(run, "transactional ids", unanswered)
    await warn_if_hidden(run, len(rows), "transactional ids", filtered=bool(state))
    return rows


@dataclass(frozen=True, slots=True)
class TransactionDetails:
    """A transaction. See `kwire.client.admin.TransactionDescription`."""

    name: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int = field(metadata=column(unit="ms"))
    started_ms: int | None = field(metadata=column(unit="time"))
    partitions: tuple[str, ...]


@operation(dialects=("kafka",), examples=("transactions describe payments",))
async def describe(
    run: Run,
    transactions: Annotated[list[str], Argument("Transactional ids.", "ID", "transactions", item="transactional id")],
) -> Rows[TransactionDetails]:
    """Describe transactions with the partitions that they have written to."""
    return rows_of(
        await run.admin.describe_transactions(transactions),
        lambda _, described: TransactionDetails(*described[:-1], tuple(map(str, described.partitions))),
    )


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
    partitions: AllOrNamedPartitions,
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


@operation(
    Danger.DESTROYS,
    dialects=("kafka",),
    examples=("transactions abort orders:0 --start-offset 1200 --dry-run",),
)
async def abort(
    run: Run,
    partition: Annotated[str, Argument("The partition as TOPIC:N.", "TOPIC:N", "topics", syntax=PARTITION)],
    start_offset: Annotated[
        int,
        Option("Where the transaction starts, as `find-hanging` reports it.", "OFFSET", minimum=0, maximum=2**63 - 1),
    ],
    older_than: OlderThan = MAX_TRANSACTION_TIMEOUT_MS // 1000,
) -> Rows[ItemChange]:
    """End a hanging transaction of a partition with an abort marker. Its records are lost.

    A transaction that find-hanging does not list is refused: its producer can still commit it, and the commit would
    succeed without the records of this partition.
    """
    named = parse_partition(partition)
    hanging = await run.admin.find_hanging_transactions([named], older_than_ms=older_than * 1000)
    match = next(
        (transaction for transaction in hanging if transaction.producer.transaction_start_offset == start_offset), None
    )
    if match is None:
        raise Conflict(await _why_not(run, named, start_offset, older_than))
    producer = match.producer
    if match.transactional_id is None:
        run.warn(f"no coordinator reports a transactional id of producer {producer.producer_id}: it has expired.")
    if run.dry_run:
        await run.admin.abort_transaction(named, producer, validate_only=True)
        return [ItemChange(str(named), "would be aborted", 1)]
    run.confirm(f"Abort the transaction of producer {producer.producer_id} on {named} from {start_offset} on?")
    await run.admin.abort_transaction(named, producer)
    return [ItemChange(str(named), "aborted", 1)]


async def _why_not(run: Run, partition: TopicPartition, start_offset: int, older_than: int) -> str:
    """Return why no transaction that starts at an offset is hanging.

    Raises:
        AdminError: the producers of the partition cannot be described.
    """
    producers = (await run.admin.describe_producers([partition]))[partition]
    if isinstance(producers, AdminError):
        raise producers
    open_at = {
        producer.transaction_start_offset: producer
        for producer in producers
        if producer.transaction_start_offset is not None
    }
    if start_offset not in open_at:
        others = f"there are some at {', '.join(map(str, sorted(open_at)))}" if open_at else "there is none at all"
        return f"no open transaction of {partition} starts at {start_offset}: {others}"
    producer = open_at[start_offset]
    seconds = time.time() - (producer.last_timestamp_ms or 0) / 1000
    if seconds < older_than:
        return (
            f"the transaction of producer {producer.producer_id} on {partition} can be alive: its last write was "
            f"{max(seconds, 0):.0f} s ago. Try again {older_than} s after it, or give the transaction.max.timeout.ms "
            "of the brokers as --older-than"
        )
    return (
        f"the transaction of producer {producer.producer_id} on {partition} is alive: its coordinator knows it, and "
        "ends it when its timeout is over"
    )
