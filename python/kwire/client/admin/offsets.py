"""Offsets of partitions: look them up, and delete the records before them. Leaders answer for their partitions.

Examples:
    >>> from kwire.client.admin import EARLIEST, LATEST, NewTopic, TopicPartition
    >>> admin.create_topics({"clicks": NewTopic(partitions=1)}).raise_first()
    >>> admin.wait_until_created({"clicks": 1})
    >>> partition = TopicPartition("clicks", 0)
    >>> admin.list_offsets({partition: LATEST})[partition].offset
    0
    >>> admin.delete_records({partition: 0})
    {TopicPartition(topic='clicks', partition=0): 0}
    >>> admin.delete_topics(["clicks"]).raise_first()
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from kwire.client.admin.leaders import at_leaders, by_partition, by_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin.backend import AdminSession
    from kwire.client.admin.cluster_router import BrokerTarget
    from kwire.client.admin.errors import AdminError
    from kwire.client.admin.group_values import OffsetSpec, PartitionOffset, TopicPartition
    from kwire.messages.kafka.delete_records import DeleteRecordsRequest
    from kwire.messages.kafka.list_offsets import ListOffsetsRequest


async def list_offsets(
    admin: AdminSession, specs: Mapping[TopicPartition, OffsetSpec], *, committed_only: bool = False
) -> dict[TopicPartition, PartitionOffset | AdminError]:
    """Look up offsets of partitions.

    Errors of a partition: 3 unknown partition; 5 it has no leader.

    Args:
        specs: the offset to look up, by partition.
        committed_only: end at the last stable offset: ignore open transactions.
    """
    from kwire.client.admin.group_values import PartitionOffset, TopicPartition
    from kwire.messages.kafka.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

    def request(partitions: Iterable[TopicPartition]) -> ListOffsetsRequest:
        return ListOffsetsRequest(
            replica_id=-1,
            isolation_level=1 if committed_only else 0,
            topics=tuple(
                ListOffsetsTopic(
                    name=topic,
                    partitions=tuple(
                        ListOffsetsPartition(
                            partition_index=index, timestamp=specs[TopicPartition(topic, index)].timestamp_ms
                        )
                        for index in indexes
                    ),
                )
                for topic, indexes in by_topic(partitions).items()
            ),
            timeout_ms=int(admin.router.timeout * 1000),
        )

    async def send(leader: BrokerTarget, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, Any]:
        return by_partition((await admin.router.read(request(partitions), leader)).response.topics)

    def result(reported: Any) -> PartitionOffset:
        return PartitionOffset(
            # Brokers report -1 for an offset, a timestamp, or an epoch that does not exist.
            None if reported.offset < 0 else reported.offset,
            None if reported.timestamp < 0 else reported.timestamp,
            None if reported.leader_epoch < 0 else reported.leader_epoch,
        )

    return await at_leaders(admin.router, specs, send, result)


async def delete_records(
    admin: AdminSession, before: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | AdminError]:
    """Delete the records of partitions before an offset. The command is repeated: it has the same effect again.

    Errors of a partition: 1 the offset is after the end of the log; 3 unknown partition; 44 the topic is compacted.

    Args:
        before: the first offset to keep, by partition; -1 for the end of the log.

    Returns:
        The first offset of the log afterwards, by partition.
    """
    from kwire.client.admin.group_values import TopicPartition
    from kwire.messages.kafka.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic

    def request(partitions: Iterable[TopicPartition]) -> DeleteRecordsRequest:
        return DeleteRecordsRequest(
            topics=tuple(
                DeleteRecordsTopic(
                    name=topic,
                    partitions=tuple(
                        DeleteRecordsPartition(partition_index=index, offset=before[TopicPartition(topic, index)])
                        for index in indexes
                    ),
                )
                for topic, indexes in by_topic(partitions).items()
            ),
            timeout_ms=int(admin.router.timeout * 1000),
        )

    async def send(leader: BrokerTarget, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, Any]:
        # -1 is another offset if records were written meanwhile, but records that exist now go in any case.
        answer = await admin.router.command(request(partitions), leader, repeatable=True)
        return by_partition(answer.response.topics)

    return await at_leaders(admin.router, before, send, attrgetter("low_watermark"))
