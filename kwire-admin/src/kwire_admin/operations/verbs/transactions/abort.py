"""`kafka transactions abort`."""

from __future__ import annotations

import time

from kwire._util.light_typing import TYPE_CHECKING, Annotated
from kwire.client.admin import AdminError
from kwire.client.admin.hanging_transactions import MAX_TRANSACTION_TIMEOUT_MS
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Conflict, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange
from kwire_admin.operations.verbs.topic_partitions import PARTITION, parse_partition
from kwire_admin.operations.verbs.transactions.find_hanging import OlderThan

if TYPE_CHECKING:
    from kwire.client.admin import TopicPartition


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
