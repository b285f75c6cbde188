"""Offsets of partitions: look them up, and delete the records before them. Leaders answer for their partitions."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from kwire.client.admin.answer import result_error
from kwire.client.admin.cluster_router import ANY, FIRST_PAUSE, Broker, back_off
from kwire.client.admin.errors import AdminError
from kwire.client.admin.group_values import PartitionOffset, TopicPartition
from kwire.messages.kafka.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kwire.messages.kafka.metadata import MetadataRequest, MetadataRequestTopic

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.client.admin.group_values import OffsetSpec

MOVED = frozenset({ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
"""Error codes of a partition that has another leader now: the request had no effect on it."""
LEADERLESS_SECONDS = 5.0
"""How long to wait for an election if a partition has no leader."""


class OffsetOperations:
    """Operations on the offsets of partitions."""

    _router: ClusterRouter

    async def list_offsets(
        self, specs: Mapping[TopicPartition, OffsetSpec], *, committed_only: bool = False
    ) -> dict[TopicPartition, PartitionOffset | AdminError]:
        """Look up offsets of partitions.

        Errors of a partition: 3 unknown partition; 5 it has no leader.

        Args:
            specs: which offset, by partition.
            committed_only: end at the last stable offset: ignore open transactions.
        """

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
                timeout_ms=int(self._router.timeout * 1000),
            )

        async def send(broker: int, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, Any]:
            response = (await self._router.read(request(partitions), Broker(broker))).response
            return {
                TopicPartition(topic.name, each.partition_index): each
                for topic in response.topics
                for each in topic.partitions
            }

        found = await at_leaders(self._router, specs, send)
        return {
            partition: each
            if isinstance(each, AdminError)
            else PartitionOffset(
                None if each.offset < 0 else each.offset,
                None if each.timestamp < 0 else each.timestamp,
                None if each.leader_epoch < 0 else each.leader_epoch,
            )
            for partition, each in found.items()
        }

    async def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | AdminError]:
        """Delete the records of partitions before an offset. The command is repeated: it has the same effect again.

        Errors of a partition: 1 the offset is after the end of the log; 3 unknown partition; 44 the topic is compacted.

        Args:
            before: the first offset to keep, by partition; -1 for the end of the log.

        Returns:
            The first offset of the log afterwards, by partition.
        """

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
                timeout_ms=int(self._router.timeout * 1000),
            )

        async def send(broker: int, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, Any]:
            # -1 is another offset if records were written meanwhile, but records that exist now go in any case.
            response = (await self._router.command(request(partitions), Broker(broker), repeatable=True)).response
            return {
                TopicPartition(topic.name, each.partition_index): each
                for topic in response.topics
                for each in topic.partitions
            }

        found = await at_leaders(self._router, before, send)
        return {
            partition: each if isinstance(each, AdminError) else each.low_watermark for partition, each in found.items()
        }


async def at_leaders(
    router: ClusterRouter,
    partitions: Iterable[TopicPartition],
    send: Callable[[int, Iterable[TopicPartition]], Awaitable[Mapping[TopicPartition, Any]]],
) -> dict[TopicPartition, Any]:
    """Send requests for partitions to their leaders, and again to the new leader of a partition that has moved.

    Args:
        send: sends one request to a broker for some partitions, and returns a result with `error_code` for each.

    Returns:
        The result, or an AdminError, for each partition.
    """
    found: dict[TopicPartition, Any] = {}
    unfinished = list(partitions)
    clock = asyncio.get_running_loop().time
    started = clock()
    pause = FIRST_PAUSE
    while unfinished:
        by_leader = await _leaders(router, unfinished, found)
        results = await asyncio.gather(*(send(leader, each) for leader, each in by_leader.items()))
        for each in results:
            found.update(each)
        passed = clock() - started
        unfinished = [
            each for each in unfinished if passed < min(router.timeout, _patience(found.get(each), router.timeout))
        ]
        if unfinished:
            pause = await back_off(pause)
    return {each: _result(each, found.get(each)) for each in partitions}


async def _leaders(
    router: ClusterRouter, partitions: Iterable[TopicPartition], found: dict[TopicPartition, Any]
) -> dict[int, list[TopicPartition]]:
    """Return partitions by leader. Those without a leader get an error in `found`."""
    topics = tuple(MetadataRequestTopic(name=topic) for topic in by_topic(partitions))
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    response = (await router.read(request, ANY, lambda response: response.error_code)).response
    codes = {topic.name: topic.error_code for topic in response.topics}
    known = {
        TopicPartition(topic.name, each.partition_index): each.leader_id
        for topic in response.topics
        if topic.name is not None
        for each in topic.partitions
    }
    leaders: dict[int, list[TopicPartition]] = defaultdict(list)
    for partition in partitions:
        leader = known.get(partition)
        if leader is None:
            code = codes.get(partition.topic) or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            found[partition] = AdminError.of_kafka(code, str(partition))
        elif leader < 0:
            found[partition] = AdminError.of_kafka(ErrorCode.LEADER_NOT_AVAILABLE, str(partition))
        else:
            leaders[leader].append(partition)
    return leaders


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the indexes of partitions by topic."""
    grouped: dict[str, list[int]] = defaultdict(list)
    for topic, index in partitions:
        grouped[topic].append(index)
    return grouped


def _patience(result: Any, timeout: float) -> float:
    """Return the seconds for which a partition with this result is tried again."""
    if isinstance(result, AdminError):
        return LEADERLESS_SECONDS if result.code == ErrorCode.LEADER_NOT_AVAILABLE else 0.0
    return timeout if result is None or result.error_code in MOVED else 0.0


def _result(partition: TopicPartition, result: Any) -> Any:
    """Return the result of a partition, or its error."""
    if result is None:
        lacking = "the response of the broker lacks it"
        return AdminError.of_kafka(ErrorCode.UNKNOWN_SERVER_ERROR, str(partition), lacking)
    return result if isinstance(result, AdminError) else result_error(result, str(partition)) or result
