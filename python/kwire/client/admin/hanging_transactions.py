"""Hanging transactions: open on a partition although no coordinator will ever end them (KIP-664).

They keep consumers with `read_committed` from reading further, and compaction from cleaning the log. They are found
from the producers of partitions, as Kafka's own tool does, and ended with a marker that the client writes itself.

Examples:
    >>> from kwire.client.admin import NewTopic, TopicPartition
    >>> admin.create_topics({"ledger": NewTopic(partitions=1)}).raise_first()
    >>> admin.wait_until_created({"ledger": 1})
    >>> for transaction in admin.find_hanging_transactions([TopicPartition("ledger", 0)]):
    ...     admin.abort_transaction(transaction.partition, transaction.producer)
    >>> admin.delete_topics(["ledger"]).raise_first()
"""

from __future__ import annotations

import time
from operator import attrgetter

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire._util.readable import counted
from kwire.client.admin.change_checks import check_change
from kwire.client.admin.errors import AdminError
from kwire.client.admin.internal_topics import TRANSACTIONS, leaderless_partitions
from kwire.client.admin.leaders import at_leaders, by_partition
from kwire.client.admin.permissions import missing_permission
from kwire.client.admin.transactions import (
    ProducerDescription,
    TransactionDescription,
    describe_producers,
    describe_transactions,
    list_transactions,
    may_describe_transactional_id,
)
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.group_values import TopicPartition
    from kwire.client.admin.session import AdminSession
    from kwire.client.admin.targets import BrokerTarget

MAX_TRANSACTION_TIMEOUT_MS = 900_000
"""The default of the broker's `transaction.max.timeout.ms`: no transaction that is alive is older."""


class HangingTransaction(NamedTuple):
    """An open transaction of a partition that no coordinator knows.

    Attributes:
        partition: the partition.
        producer: its producer, with the offset where the transaction starts.
        transactional_id: the transactional id of the producer; None if no coordinator knows the producer.
    """

    partition: TopicPartition
    producer: ProducerDescription
    transactional_id: str | None


async def find_hanging_transactions(
    admin: AdminSession, partitions: Iterable[TopicPartition], *, older_than_ms: int = MAX_TRANSACTION_TIMEOUT_MS
) -> list[HangingTransaction]:
    """Return the open transactions of partitions that no coordinator knows, sorted by partition.

    Args:
        partitions: the partitions to search.
        older_than_ms: minimum time without a write in milliseconds, at least the brokers'
            `transaction.max.timeout.ms`: a younger transaction may be alive.

    Raises:
        AdminError: a partition cannot be described, or a broker refused the request; 15 or 53 there are candidates, and
            not every coordinator can be asked for their transactions, so that they may be alive.
    """
    newest = time.time_ns() // 1_000_000 - older_than_ms
    candidates = [
        (partition, producer)
        for partition, producers in (await describe_producers(admin, partitions)).items()
        for producer in _accepted(producers)
        if producer.transaction_start_offset is not None and (producer.last_timestamp_ms or 0) < newest
    ]
    if not candidates:
        return []
    listed = await list_transactions(admin, producer_ids={producer.producer_id for _, producer in candidates})
    ids = {transaction.producer_id: transaction.transactional_id for transaction in listed}
    if any(producer.producer_id not in ids for _, producer in candidates):
        await _check_all_listed(admin)
    transactions = await describe_transactions(admin, ids.values())
    for transaction in transactions.values():
        if isinstance(transaction, AdminError) and transaction.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise transaction
    return sorted(
        HangingTransaction(partition, producer, ids.get(producer.producer_id))
        for partition, producer in candidates
        if not _is_known(partition, transactions.get(ids.get(producer.producer_id, "")))
    )


async def _check_all_listed(admin: AdminSession) -> None:
    """Check that a transactional id that no broker lists does not exist: aborting a live transaction loses records.

    Raises:
        AdminError: a coordinator is missing, or the user lacks Describe on a transactional id.
    """
    from uuid import uuid4

    leaderless = await leaderless_partitions(admin, TRANSACTIONS)
    if leaderless:
        reason = f"{counted(len(leaderless), 'partition')} of {TRANSACTIONS} without a leader may have the transactions"
        raise AdminError.of_kafka(ErrorCode.COORDINATOR_NOT_AVAILABLE, "", reason)
    unused = f"kwire-no-such-name-{uuid4()}"  # a random name, so that no permission of a prefix covers it
    if not await may_describe_transactional_id(admin, unused):
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        needs = missing_permission("describe_transactions", code)
        raise AdminError.of_kafka(code, "", "lists lack the transactional ids of others", needs=needs)


async def abort_transaction(
    admin: AdminSession, partition: TopicPartition, producer: ProducerDescription, *, validate_only: bool = False
) -> None:
    """End a hanging transaction of a partition with an abort marker. The command is never repeated.

    Only use it for a transaction that `find_hanging_transactions` returns: the partition of a transaction that is
    alive would lose records that its producer commits.

    Args:
        partition: the partition.
        producer: its producer, as `describe_producers` returns it.
        validate_only: check that the partition has the open transaction, and end nothing.

    Raises:
        AdminError: 3 unknown partition; 31 not authorized; 47 the epoch of the producer is old; 52 the
            epoch of the coordinator is old; 48, only with `validate_only`, the producer has no open transaction.
            Brokers write the marker even then.
        OutcomeUnknown: the response was lost.
    """
    from kwire.messages.kafka.write_txn_markers import (
        WritableTxnMarker,
        WritableTxnMarkerTopic,
        WriteTxnMarkersRequest,
    )

    if validate_only:
        await _check_open(admin, partition, producer)
        await check_change(admin, WriteTxnMarkersRequest, str(partition))
        return
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=(WritableTxnMarkerTopic(name=partition.topic, partition_indexes=(partition.partition,)),),
        coordinator_epoch=producer.coordinator_epoch or 0,
    )

    async def send(leader: BrokerTarget, of_leader: Sequence[TopicPartition]) -> Mapping[TopicPartition, Any]:
        del of_leader  # there is only one
        answer = await admin.router.command(WriteTxnMarkersRequest(markers=(marker,)), leader)
        return by_partition(topic for result in answer.response.markers for topic in result.topics)

    _accepted((await at_leaders(admin.router, [partition], send, attrgetter("error_code")))[partition])


async def _check_open(admin: AdminSession, partition: TopicPartition, producer: ProducerDescription) -> None:
    """Check that a partition has an open transaction of a producer.

    Raises:
        AdminError: it has none, or the epochs are old.
    """
    producers = _accepted((await describe_producers(admin, [partition]))[partition])
    current = next((active for active in producers if active.producer_id == producer.producer_id), None)
    item = str(partition)
    if current is None or current.transaction_start_offset is None:
        reason = f"producer {producer.producer_id} has no open transaction on {partition}"
        raise AdminError.of_kafka(ErrorCode.INVALID_TXN_STATE, item, reason)
    if producer.producer_epoch < current.producer_epoch:
        raise AdminError.of_kafka(ErrorCode.INVALID_PRODUCER_EPOCH, item)
    if (producer.coordinator_epoch or 0) < (current.coordinator_epoch or 0):
        raise AdminError.of_kafka(ErrorCode.TRANSACTION_COORDINATOR_FENCED, item)


def _accepted(result: Any) -> Any:
    """Return a result, or raise it if it is an error."""
    if isinstance(result, AdminError):
        raise result
    return result


def _is_known(partition: TopicPartition, transaction: TransactionDescription | AdminError | None) -> bool:
    """Return whether the coordinator will end the transaction on a partition."""
    return isinstance(transaction, TransactionDescription) and partition in transaction.partitions
