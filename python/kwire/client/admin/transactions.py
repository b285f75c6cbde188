"""Transactions and producers (KIP-664): list and describe them, and find producers of a partition.

Examples:
    >>> from kwire.client.admin import NewTopic, TopicPartition
    >>> admin.create_topics({"transfers": NewTopic(partitions=1)}).raise_first()
    >>> admin.wait_until_created({"transfers": 1})
    >>> admin.list_transactions(states=["Ongoing"])
    []
    >>> admin.describe_transactions(["bank"])["bank"].name
    'TRANSACTIONAL_ID_NOT_FOUND'
    >>> admin.describe_producers([TopicPartition("transfers", 0)])
    {TopicPartition(topic='transfers', partition=0): ()}
    >>> admin.delete_topics(["transfers"]).raise_first()
"""

from __future__ import annotations

from collections import defaultdict

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire.client.admin.answer import complete, result_error
from kwire.client.admin.coordinators import KeyType, at_coordinators, of_coordinators
from kwire.client.admin.every_broker import at_every_broker
from kwire.client.admin.group_values import TopicPartition
from kwire.client.admin.leaders import at_leaders, by_partition, by_topic
from kwire.client.admin.session import strings_tuple
from kwire.client.admin.targets import ANY, BrokerTarget
from kwire.client.admin.tries import FIRST_PAUSE, back_off
from kwire.client.admin.values import Outcomes
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.coordinators import Result
    from kwire.client.admin.errors import AdminError
    from kwire.client.admin.session import AdminSession

TERMINATION_TIMEOUT_MS = 30_000
"""Transaction timeout of an id whose transaction is terminated, as in Kafka's Admin. Its next producer sets its
own."""


class TransactionListing(NamedTuple):
    """A transactional id in a list, and the broker that coordinates it."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


class TransactionDescription(NamedTuple):
    """A transaction.

    Attributes:
        transactional_id: its id.
        state: such as `Ongoing`.
        producer_id: the id of its producer.
        producer_epoch: the epoch of its producer.
        timeout_ms: its timeout in milliseconds.
        started_ms: the time of its start, in milliseconds since 1970; None if it is not in progress.
        partitions: the partitions that it has written to.
    """

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int | None
    partitions: tuple[TopicPartition, ...]


class ProducerDescription(NamedTuple):
    """A producer that wrote to a partition.

    Attributes:
        producer_id: its id.
        producer_epoch: its epoch.
        last_sequence: the sequence number of its last message; None if there is none.
        last_timestamp_ms: the time of its last message; None if there is none.
        transaction_start_offset: the first offset of its open transaction; None without one.
        coordinator_epoch: the epoch of the coordinator that last ended a transaction of it here; None if none did.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int | None
    last_timestamp_ms: int | None
    transaction_start_offset: int | None
    coordinator_epoch: int | None = None


async def list_transactions(
    admin: AdminSession,
    *,
    states: Iterable[str] = (),
    producer_ids: Iterable[int] = (),
    running_longer_ms: int | None = None,
    id_pattern: str | None = None,
    unanswered: dict[int, Exception] | None = None,
) -> list[TransactionListing]:
    """Return all transactional ids, sorted.

    The ids of a partition of `__transaction_state` without a leader are missing: no broker knows them.

    Args:
        states: only transactions in these states, such as `Ongoing`.
        producer_ids: only transactions of these producers.
        running_longer_ms: only transactions that run longer than this, in milliseconds (KIP-994, Kafka 3.8).
        id_pattern: only ids that match this RE2 regular expression (KIP-1152, Kafka 4.1).
        unanswered: receives the errors of brokers that do not answer, and whose ids are therefore missing; None to
            raise them.

    Raises:
        AdminError: a broker refused the request.
        ConnectionFault: a broker does not answer; with `unanswered`, no broker does.
        EncodeError: a broker is too old for a filter.
    """
    from kwire.messages.kafka.list_transactions import ListTransactionsRequest

    request = ListTransactionsRequest(
        state_filters=strings_tuple(states),
        producer_id_filters=tuple(producer_ids),
        duration_filter=-1 if running_longer_ms is None else running_longer_ms,
        transactional_id_pattern=id_pattern,
    )
    listed: dict[str, dict[int, TransactionListing]] = defaultdict(dict)
    for broker, answer in (await at_every_broker(admin.router, request, unanswered=unanswered)).items():
        for state in answer.accepted(f"broker {broker}").transaction_states:
            listing = TransactionListing(state.transactional_id, state.producer_id, state.transaction_state, broker)
            listed[state.transactional_id][broker] = listing
    return sorted((await of_coordinators(admin.router, listed, KeyType.TRANSACTION)).values())


async def describe_transactions(
    admin: AdminSession, transactional_ids: Iterable[str]
) -> dict[str, TransactionDescription | AdminError]:
    """Return transactions by id. Errors: 105 unknown transactional id."""
    from kwire.messages.kafka.describe_transactions import DescribeTransactionsRequest

    async def send(coordinator: BrokerTarget, ids: Sequence[str]) -> Mapping[str, Result[TransactionDescription]]:
        answer = await admin.router.read(DescribeTransactionsRequest(transactional_ids=tuple(ids)), coordinator)
        return {
            transaction.transactional_id: answer.error(transaction, transaction.transactional_id)
            or TransactionDescription(
                transaction.transactional_id,
                transaction.transaction_state,
                transaction.producer_id,
                transaction.producer_epoch,
                transaction.transaction_timeout_ms,
                None if transaction.transaction_start_time_ms < 0 else transaction.transaction_start_time_ms,
                tuple(TopicPartition(topic.topic, index) for topic in transaction.topics for index in topic.partitions),
            )
            for transaction in answer.response.transaction_states
        }

    return await at_coordinators(admin.router, strings_tuple(transactional_ids), send, KeyType.TRANSACTION)


async def may_describe_transactional_id(admin: AdminSession, transactional_id: str) -> bool:
    """Return whether the user may describe a transactional id, which need not exist.

    Every broker knows the permissions, so no coordinator is looked up: that would create the topic of transactions.
    """
    from kwire.messages.kafka.describe_transactions import DescribeTransactionsRequest

    answer = await admin.router.read(DescribeTransactionsRequest(transactional_ids=(transactional_id,)), ANY)
    refusal = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return all(result.error_code != refusal for result in answer.response.transaction_states)


async def terminate_transactions(admin: AdminSession, transactional_ids: Iterable[str]) -> Outcomes:
    """Abort the open transactions of transactional ids, and fence their producers.

    An id gets a new producer epoch, so that its producer fails at its next request. An unknown id is registered. The
    command is repeated: it has the same effect again.

    Errors: 51 the transaction is being ended, so that it is still open; 53 not authorized.
    """
    from kwire.messages.kafka.init_producer_id import InitProducerIdRequest

    async def send(coordinator: BrokerTarget, ids: Sequence[str]) -> Mapping[str, Result[None]]:
        results: dict[str, Result[None]] = {}
        for id in ids:
            request = InitProducerIdRequest(transactional_id=id, transaction_timeout_ms=TERMINATION_TIMEOUT_MS)
            answer = await admin.router.command(request, coordinator, repeatable=True)
            results[id] = answer.error(answer.response, id)
        return results

    unfinished = strings_tuple(transactional_ids)
    outcomes: dict[str, Result[None]] = {}
    deadline = admin.router.metadata.clock() + admin.router.timeout
    pause = FIRST_PAUSE
    while unfinished:
        outcomes |= await at_coordinators(admin.router, unfinished, send, KeyType.TRANSACTION)
        # The first request aborts an open transaction and asks the client to try again until its markers are written.
        unfinished = tuple(id for id in unfinished if _is_being_ended(outcomes[id]))
        if admin.router.metadata.clock() >= deadline:
            break
        if unfinished:
            pause = await back_off(pause)
    return Outcomes(outcomes)


def _is_being_ended(error: AdminError | None) -> bool:
    return error is not None and error.code == ErrorCode.CONCURRENT_TRANSACTIONS


async def describe_producers(
    admin: AdminSession, partitions: Iterable[TopicPartition], *, broker_id: int | None = None
) -> dict[TopicPartition, tuple[ProducerDescription, ...] | AdminError]:
    """Return the active producers of partitions. Errors: 3 unknown partition; 6 the broker has no replica.

    Args:
        partitions: the partitions.
        broker_id: the replica that reports them; None for the leaders.

    Raises:
        BrokerNotFound: no live broker has the id.
    """
    from kwire.messages.kafka.describe_producers import DescribeProducersRequest, TopicRequest

    async def send(leader: BrokerTarget, of_leader: Iterable[TopicPartition]) -> Mapping[TopicPartition, Any]:
        request = DescribeProducersRequest(
            topics=tuple(
                TopicRequest(name=topic, partition_indexes=tuple(indexes))
                for topic, indexes in by_topic(of_leader).items()
            )
        )
        return by_partition((await admin.router.read(request, leader)).response.topics)

    def result(described: Any) -> tuple[ProducerDescription, ...]:
        return tuple(
            ProducerDescription(
                producer.producer_id,
                producer.producer_epoch,
                None if producer.last_sequence < 0 else producer.last_sequence,
                None if producer.last_timestamp < 0 else producer.last_timestamp,
                None if producer.current_txn_start_offset < 0 else producer.current_txn_start_offset,
                None if producer.coordinator_epoch < 0 else producer.coordinator_epoch,
            )
            for producer in described.active_producers
        )

    requested = tuple(partitions)
    if broker_id is None:
        return await at_leaders(admin.router, requested, send, result)
    reported = {
        partition: result_error(answer, str(partition)) or result(answer)
        for partition, answer in (await send(BrokerTarget(broker_id), requested)).items()
    }
    return complete(requested, reported)
