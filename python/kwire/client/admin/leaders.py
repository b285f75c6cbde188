"""Find the leaders of partitions, and send requests to them."""

from __future__ import annotations

from collections import defaultdict

from kwire._util.bounded_gather import bounded_gather
from kwire._util.light_typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from kwire.client.admin.answer import lacking, result_error
from kwire.client.admin.cluster_router import FIRST_PAUSE, BrokerTarget, back_off, is_final
from kwire.client.admin.errors import AdminError, BrokerNotFound, OutcomeUnknown, UnfinishedChange
from kwire.client.admin.topic_metadata import read_metadata
from kwire.client.admin.tries import attempt, later_outcome
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.client.admin.group_values import TopicPartition
    from kwire.messages.kafka.metadata import MetadataResponsePartition

    Send: TypeAlias = Callable[[BrokerTarget, Sequence[TopicPartition]], Awaitable[Mapping[TopicPartition, Any]]]

Result = TypeVar("Result")

MOVED = frozenset({ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
"""Error codes of a partition that has another leader now: the request had no effect on it."""
UNANSWERED = (ConnectionFault, BrokerNotFound, OutcomeUnknown)
"""Errors of a partition whose leader did not respond."""
LEADERLESS_SECONDS = 5.0
"""Timeout in seconds of an election, if a partition has no leader. Chosen, not measured."""


async def at_leaders(
    router: ClusterRouter, partitions: Iterable[TopicPartition], send: Send, result: Callable[[Any], Result]
) -> dict[TopicPartition, Result | AdminError]:
    """Do the same as `results_at_leaders`. A leader that cannot be reached is an error of its partitions only: 5.

    Raises:
        ConnectionFault: a leader and this client cannot understand each other, so that waiting is in vain.
    """
    results: dict[TopicPartition, Result | AdminError] = {}
    for partition, answer in (await results_at_leaders(router, partitions, send, result)).items():
        if isinstance(answer, ConnectionFault) and is_final(answer):
            raise answer
        if isinstance(answer, ConnectionFault | BrokerNotFound):
            reason = f"its leader does not answer: {answer}"
            results[partition] = AdminError.of_kafka(ErrorCode.LEADER_NOT_AVAILABLE, str(partition), reason)
        elif isinstance(answer, OutcomeUnknown):
            results[partition] = UnfinishedChange.of_kafka(ErrorCode.REQUEST_TIMED_OUT, str(partition), str(answer))
        else:
            results[partition] = answer
    return results


async def results_at_leaders(
    router: ClusterRouter, partitions: Iterable[TopicPartition], send: Send, result: Callable[[Any], Result]
) -> dict[TopicPartition, Result | AdminError | ConnectionFault | BrokerNotFound]:
    """Send requests for partitions to their leaders, and again to the new leader of a partition that has moved.

    Leaders that the client knows already are not looked up.

    Args:
        send: sends one request to a broker for some partitions, and returns a part of the response for each.
        result: converts a part of a response, unless its `error_code` is an error.

    Returns:
        The result, or an error, for each partition: a ConnectionFault if its leader did not respond in time, and
        BrokerNotFound if the cluster did not list the leader, unless another broker became the leader.
    """
    requested = list(dict.fromkeys(partitions))
    outcomes: dict[TopicPartition, Any] = {}
    unfinished = requested
    started = router.metadata.clock()
    pause = 0.0
    while unfinished:
        by_leader = await _leaders(router, unfinished, outcomes)
        for results in await bounded_gather(lambda item: _attempt(send, *item), by_leader.items()):
            outcomes |= {item: later_outcome(outcomes.get(item), new, MOVED) for item, new in results.items()}
        passed = router.metadata.clock() - started
        retried = [
            partition
            for partition in unfinished
            if passed < _patience(router, partition, outcomes.get(partition), started)
        ]
        for partition in retried:
            router.metadata.forget_topic(partition.topic)
        unfinished = retried
        if unfinished:  # an old entry of the cache may be the reason, so the first look-up does not wait
            pause = await back_off(pause) if pause else FIRST_PAUSE
    answers: dict[TopicPartition, Any] = {item: _answer(item, outcomes.get(item)) for item in requested}
    for partition, answer in answers.items():
        if not isinstance(answer, (AdminError, *UNANSWERED)):
            answers[partition] = result(answer)
    return answers


async def _attempt(
    send: Send, leader: BrokerTarget, partitions: Sequence[TopicPartition]
) -> Mapping[TopicPartition, Any]:
    """Return the results of one request, or its fault for each partition: those of other leaders do not suffer."""
    try:
        return await attempt(send, leader, partitions)
    except ConnectionFault as fault:
        return dict.fromkeys(partitions, fault)


async def _leaders(
    router: ClusterRouter, partitions: Sequence[TopicPartition], outcomes: dict[TopicPartition, Any]
) -> dict[BrokerTarget, list[TopicPartition]]:
    """Return partitions by leader. A partition without a leader gets an error in `outcomes`."""
    from kwire.client.admin.group_values import TopicPartition

    cache = router.metadata
    unknown = [topic for topic in by_topic(partitions) if cache.topic(topic) is None]
    if unknown:
        await read_metadata(router, unknown)  # updates the cache
    leaders: dict[BrokerTarget, list[TopicPartition]] = defaultdict(list)
    for topic, indexes in by_topic(partitions).items():
        described = cache.topic(topic)
        reported = {} if described is None else {part.partition_index: part for part in described.partitions}
        for index in indexes:
            partition = TopicPartition(topic, index)
            if index not in reported:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if described is None else described.error_code
                outcomes[partition] = AdminError.of_kafka(code or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(partition))
            elif reported[index].leader_id < 0:
                is_lost = _all_offline(reported[index])
                offline = ", ".join(map(str, reported[index].offline_replicas))
                reason = f"there is no leader, and no replica in sync to elect (offline: {offline})"
                outcomes[partition] = AdminError.of_kafka(
                    ErrorCode.LEADER_NOT_AVAILABLE, str(partition), reason if is_lost else None
                )
            else:
                leaders[BrokerTarget(reported[index].leader_id, is_single=True)].append(partition)
    return leaders


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the indexes of partitions by topic."""
    grouped: dict[str, list[int]] = defaultdict(list)
    for topic, index in partitions:
        grouped[topic].append(index)
    return grouped


def by_partition(topics: Iterable[Any]) -> dict[TopicPartition, Any]:
    """Return the partitions of a response. `topics` have `name` and `partitions`, which have `partition_index`."""
    from kwire.client.admin.group_values import TopicPartition

    return {
        TopicPartition(topic.name, partition.partition_index): partition
        for topic in topics
        for partition in topic.partitions
    }


def _patience(router: ClusterRouter, partition: TopicPartition, result: Any, started: float) -> float:
    """Return the seconds for which a partition with this result is tried again."""
    code = getattr(result, "code", None) if isinstance(result, Exception) else getattr(result, "error_code", None)
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        is_new = router.metadata.topic(partition.topic, not_before=started) is not None
        return 0.0 if is_new else router.timeout
    if isinstance(result, ConnectionFault) and not result.retriable:
        return 0.0
    if isinstance(result, AdminError):
        may_pass = code == ErrorCode.LEADER_NOT_AVAILABLE and not _has_lost_replicas(router, partition, started)
        return LEADERLESS_SECONDS if may_pass else 0.0
    return router.timeout if isinstance(result, Exception) or code is None or code in MOVED else 0.0


def _has_lost_replicas(router: ClusterRouter, partition: TopicPartition, started: float) -> bool:
    """Return whether no replica can be elected, as metadata since `started` says: all in sync are offline (KIP-112)."""
    topic = router.metadata.topic(partition.topic, not_before=started)
    return topic is not None and any(
        described.partition_index == partition.partition and _all_offline(described) for described in topic.partitions
    )


def _all_offline(partition: MetadataResponsePartition) -> bool:
    """Return whether no replica in sync is alive. With eligible leader replicas (KIP-966), the ISR can be empty."""
    return bool(partition.offline_replicas) and {*partition.isr_nodes} <= {*partition.offline_replicas}


def _answer(partition: TopicPartition, result: Any) -> Any:
    """Return the part of a response for a partition, or its error."""
    if result is None:
        return lacking(str(partition))
    if isinstance(result, (AdminError, *UNANSWERED)):
        return result
    return result_error(result, str(partition)) or result
