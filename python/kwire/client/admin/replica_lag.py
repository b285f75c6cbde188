"""The lag of replicas on Kafka: `ReplicasLag` of TopicMetadata_V1 in the drafts of KIP-4.

DescribeLogDirs does not tell it: there, a broker compares the end of a log with the high watermark that it knows, which
is never above that end in a follower. So each broker is asked for the ends of its own logs, as a debugging replica
does (ListOffsets with replica id -2), which followers answer.
"""

from __future__ import annotations

from collections import defaultdict

from kwire._util.concurrency import bounded_gather
from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin.errors import BrokerNotFound
from kwire.client.admin.group_values import TopicPartition
from kwire.client.admin.leaders import by_partition, by_topic
from kwire.client.admin.targets import BrokerTarget
from kwire.client.admin.values import TopicDescription
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.client.admin.session import Topics
    from kwire.client.admin.values import PartitionDescription
    from kwire.messages.kafka.list_offsets import ListOffsetsRequest

    Ends = Mapping[TopicPartition, int]

DEBUGGING_REPLICA = -2
LATEST = -1


async def with_lag(router: ClusterRouter, topics: Topics) -> Topics:
    """Return topics with the lag of each replica, in messages; None where its broker or its leader does not answer.

    The ends are read one after the other, so a replica that is in sync can be some messages behind while it is written.
    """
    described = [topic for topic in topics.values() if isinstance(topic, TopicDescription)]
    ends = await _ends(router, described)

    def lag(topic: str, partition: PartitionDescription) -> dict[int, int | None]:
        key = TopicPartition(topic, partition.partition)
        end = None if partition.leader is None else ends[partition.leader].get(key)
        own = {replica: ends[replica].get(key) for replica in partition.replicas}
        return {
            replica: None if end is None or log_end is None else max(end - log_end, 0)
            for replica, log_end in own.items()
        }

    return {
        name: topic._replace(
            partitions=tuple(partition._replace(lag=lag(name, partition)) for partition in topic.partitions)
        )
        if isinstance(topic, TopicDescription)
        else topic
        for name, topic in topics.items()
    }


async def _ends(router: ClusterRouter, topics: Sequence[TopicDescription]) -> Mapping[int, Ends]:
    """Return by broker the ends of the logs that it has."""
    hosted: dict[int, list[TopicPartition]] = defaultdict(list)
    for topic in topics:
        for partition in topic.partitions:
            for replica in partition.replicas:
                hosted[replica].append(TopicPartition(topic.name, partition.partition))
    answers = await bounded_gather(lambda item: _ends_at(router, *item), hosted.items())
    return defaultdict(dict, zip(hosted, answers, strict=True))


def latest_offsets_request(
    partitions: Iterable[TopicPartition], replica: int = DEBUGGING_REPLICA, timeout_ms: int = 0
) -> ListOffsetsRequest:
    """Return the request for the latest offsets that a replica sees: the debugging one sees the end of each log."""
    from kwire.messages.kafka.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

    return ListOffsetsRequest(
        replica_id=replica,
        isolation_level=0,
        topics=tuple(
            ListOffsetsTopic(
                name=topic,
                partitions=tuple(ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in indexes),
            )
            for topic, indexes in by_topic(partitions).items()
        ),
        timeout_ms=timeout_ms,
    )


async def _ends_at(router: ClusterRouter, broker: int, partitions: Sequence[TopicPartition]) -> Ends:
    request = latest_offsets_request(partitions)
    try:
        answer = await router.read(request, BrokerTarget(broker, is_single=True))
    except (ConnectionFault, BrokerNotFound):
        return {}  # a broker that is down: its replicas have an unknown lag
    ends = by_partition(answer.response.topics)
    return {partition: end.offset for partition, end in ends.items() if not end.error_code and end.offset >= 0}
