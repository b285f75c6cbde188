"""Find the leaders of partitions, and send requests to them."""

from __future__ import annotations

from collections import defaultdict

from kwire._util.light_typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from kwire.client.admin.answer import result_error
from kwire.client.admin.errors import AdminError
from kwire.client.admin.group_values import TopicPartition
from kwire.client.admin.responsible_brokers import UNANSWERED, at_responsible_brokers, error_of_item
from kwire.client.admin.topic_descriptions import read_metadata
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.client.admin.errors import BrokerNotFound
    from kwire.client.admin.targets import BrokerTarget
    from kwire.messages.kafka.metadata import MetadataResponsePartition

    Send: TypeAlias = Callable[[BrokerTarget, Sequence[TopicPartition]], Awaitable[Mapping[TopicPartition, Any]]]

Result = TypeVar("Result")

MOVED = frozenset({ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
"""Error codes of a partition that has another leader now: the request had no effect on it."""
LEADERLESS_SECONDS = 5.0
"""Timeout in seconds of an election, if a partition has no leader. Chosen, not measured."""


async def at_leaders(
    router: ClusterRouter, partitions: Iterable[TopicPartition], send: Send, result: Callable[[Any], Result]
) -> dict[TopicPartition, Result | AdminError]:
    """Do the same as `results_at_leaders`. A leader that cannot be reached is an error of its partitions only: 5.

    Raises:
        ConnectionFault: a leader and this client cannot understand each other, so that waiting is in vain.
    """
    answers = await results_at_leaders(router, partitions, send, result)
    code = ErrorCode.LEADER_NOT_AVAILABLE
    return {partition: error_of_item(str(partition), answer, "leader", code) for partition, answer in answers.items()}


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
    started = router.metadata.clock()
    outcomes = await at_responsible_brokers(
        router,
        partitions,
        locate=lambda unfinished: _leaders(router, unfinished),
        send=send,
        patience=lambda partition, outcome: _patience(router, partition, outcome, started),
        forget=lambda partition: router.metadata.forget_topic(partition.topic),
        moved=MOVED,
    )

    def converted(partition: TopicPartition, outcome: Any) -> Any:
        if isinstance(outcome, (AdminError, *UNANSWERED)):
            return outcome
        return result_error(outcome, str(partition)) or result(outcome)

    return {partition: converted(partition, outcome) for partition, outcome in outcomes.items()}


async def _leaders(
    router: ClusterRouter, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int | AdminError]:
    """Return the ids of the leaders of partitions, or the error of a partition without one."""
    cache = router.metadata
    unknown = [topic for topic in by_topic(partitions) if cache.topic(topic) is None]
    if unknown:
        await read_metadata(router, unknown)  # updates the cache
    topics = {topic.name: topic for topic in map(cache.topic, by_topic(partitions)) if topic is not None}
    reported = {
        (name, partition.partition_index): partition for name, topic in topics.items() for partition in topic.partitions
    }
    leaders: dict[TopicPartition, int | AdminError] = {}
    for partition in partitions:
        described = reported.get(partition)
        if described is None:
            code = topics[partition.topic].error_code if partition.topic in topics else 0
            unknown_partition = code or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            leaders[partition] = AdminError.of_kafka(unknown_partition, str(partition))
        elif described.leader_id >= 0:
            leaders[partition] = described.leader_id
        else:
            offline = ", ".join(map(str, described.offline_replicas))
            reason = f"there is no leader, and no replica in sync to elect (offline: {offline})"
            leaders[partition] = AdminError.of_kafka(
                ErrorCode.LEADER_NOT_AVAILABLE, str(partition), reason if _all_offline(described) else None
            )
    return leaders


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the indexes of partitions by topic."""
    grouped: dict[str, list[int]] = defaultdict(list)
    for topic, index in partitions:
        grouped[topic].append(index)
    return grouped


def by_partition(topics: Iterable[Any]) -> dict[TopicPartition, Any]:
    """Return the partitions of a response. `topics` have `name` and `partitions`, which have `partition_index`."""
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
