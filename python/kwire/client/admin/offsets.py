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

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin.change_checks import check_change
from kwire.client.admin.errors import AdminError
from kwire.client.admin.group_values import EARLIEST, LATEST, PartitionOffset, TopicPartition
from kwire.client.admin.leaders import at_leaders, by_partition, by_topic
from kwire.client.admin.topics import describe_topics
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.group_values import OffsetSpec
    from kwire.client.admin.session import AdminSession
    from kwire.client.admin.targets import BrokerTarget
    from kwire.client.admin.values import TopicDescription
    from kwire.messages.kafka.delete_records import DeleteRecordsRequest
    from kwire.messages.kafka.list_offsets import ListOffsetsRequest

END_OF_LOG = -1
"""Stands for the end of a log in a deletion of records."""


async def list_offsets(
    admin: AdminSession, specs: Mapping[TopicPartition, OffsetSpec], *, committed_only: bool = False
) -> dict[TopicPartition, PartitionOffset | AdminError]:
    """Look up offsets of partitions.

    Errors of a partition: 3 unknown partition; 5 it has no leader.

    Args:
        specs: the offset to look up, by partition.
        committed_only: end at the last stable offset: ignore open transactions.
    """
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
            timeout_ms=admin.router.timeout_ms,
        )

    async def send(leader: BrokerTarget, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Any]:
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
    admin: AdminSession, before: Mapping[TopicPartition, int], *, validate_only: bool = False
) -> dict[TopicPartition, int | AdminError]:
    """Delete the records of partitions before an offset. The command is repeated: it has the same effect again.

    Errors of a partition: 1 the offset is after the end of the log; 3 unknown partition; 17 the topic is internal; 44
    it is compacted.

    Args:
        before: the first offset to keep, by partition; -1 for the end of the log.
        validate_only: check the offsets and the topics, and delete nothing. Brokers cannot do so, so the client does. A
            topic with configs that the user cannot describe is not known to be compacted.

    Returns:
        The first offset of the log afterwards, by partition.
    """
    if validate_only:
        return await _check_deletions(admin, before)
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
            timeout_ms=admin.router.timeout_ms,
        )

    async def send(leader: BrokerTarget, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Any]:
        # -1 is another offset if records were written meanwhile, which a second execution would delete as well.
        is_fixed = all(before[partition] >= 0 for partition in partitions)
        answer = await admin.router.command(request(partitions), leader, repeatable=is_fixed)
        return by_partition(answer.response.topics)

    return await at_leaders(admin.router, before, send, attrgetter("low_watermark"))


async def _check_deletions(
    admin: AdminSession, before: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | AdminError]:
    """Return what a deletion of records would, by the rules of ReplicaManager and Partition in Kafka."""
    from kwire.messages.kafka.delete_records import DeleteRecordsRequest

    starts = await list_offsets(admin, dict.fromkeys(before, EARLIEST))
    ends = await list_offsets(admin, dict.fromkeys(before, LATEST))
    topics = await describe_topics(admin, {partition.topic for partition in before}, configs=True) if before else {}
    results: dict[TopicPartition, int | AdminError] = {}
    for partition, offset in before.items():
        start, end = starts[partition], ends[partition]
        if isinstance(start, AdminError):
            results[partition] = start
        elif isinstance(end, AdminError):
            results[partition] = end
        else:
            low, high = start.offset or 0, end.offset or 0
            results[partition] = (
                _refusal_of_topic(partition.topic, topics[partition.topic])
                or _out_of_range(partition, offset, high)
                or max(low, high if offset == END_OF_LOG else offset)
            )
    if results:
        await check_change(admin, DeleteRecordsRequest)
    return results


def _refusal_of_topic(name: str, topic: TopicDescription | AdminError) -> AdminError | None:
    """Return why brokers delete no records of a topic: it is internal or compacted."""
    if isinstance(topic, AdminError):
        return topic
    policy = (topic.configs or {}).get("cleanup.policy") or "delete"
    if topic.is_internal:
        reason = f"Cannot delete records of internal topic {name}."
        return AdminError.of_kafka(ErrorCode.INVALID_TOPIC_EXCEPTION, name, reason)
    if "delete" not in policy:
        reason = f"records of a topic with cleanup.policy={policy} are not deleted"
        return AdminError.of_kafka(ErrorCode.POLICY_VIOLATION, name, reason)
    return None


def _out_of_range(partition: TopicPartition, offset: int, end: int) -> AdminError | None:
    if END_OF_LOG <= offset <= end:
        return None
    return AdminError.of_kafka(
        ErrorCode.OFFSET_OUT_OF_RANGE,
        str(partition),
        f"offset {offset} is after the end, {end}" if offset > end else None,
    )
