"""Descriptions, offsets, and lags from responses about groups. Only programs that use groups import it."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from kwire.client.admin.errors import AdminError
from kwire.client.admin.group_values import (
    CommittedOffset,
    GroupDescription,
    GroupMember,
    GroupType,
    PartitionLag,
)
from kwire.errors import DecodeError
from kwire.messages.kafka.consumer_group_describe import ConsumerGroupDescribeRequest
from kwire.messages.kafka.consumer_protocol_assignment import ConsumerProtocolAssignment
from kwire.messages.kafka.describe_groups import DescribeGroupsRequest
from kwire.messages.kafka.share_group_describe import ShareGroupDescribeRequest
from kwire.messages.kafka.streams_group_describe import StreamsGroupDescribeRequest
from kwire.versioned import decode_versioned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire.client.admin.group_values import PartitionOffset, TopicPartition

D = TypeVar("D")


class DescribeQuery(NamedTuple, Generic[D]):
    """A query for groups of one type: the request, and the description of a group in its response."""

    request: Callable[[tuple[str, ...]], Any]
    description: Callable[[Any, int], D]


def committed_offset(partition: Any) -> CommittedOffset:
    """Return the committed offset for a partition of an OffsetFetch response."""
    epoch = partition.committed_leader_epoch
    return CommittedOffset(partition.committed_offset, None if epoch < 0 else epoch, partition.metadata or "")


def partition_lag(
    partition: TopicPartition,
    committed: CommittedOffset | None,
    end: PartitionOffset | AdminError,
    member: GroupMember | None,
) -> PartitionLag:
    """Return the lag of a partition for its committed offset, and its end or why that is unknown."""
    offset = None if committed is None or committed.offset < 0 else committed.offset
    lag = None if committed is None else committed.lag
    if isinstance(end, AdminError):
        return PartitionLag(*partition, offset, None, lag, end, member)
    if lag is None and offset is not None and end.offset is not None:
        lag = max(end.offset - offset, 0)
    return PartitionLag(*partition, offset, end.offset, lag, None, member)


def _classic(group: Any, coordinator: int) -> GroupDescription:
    return GroupDescription(
        group.group_id,
        GroupType.CLASSIC,
        group.group_state,
        coordinator,
        group.protocol_data,
        tuple(
            GroupMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                _classic_assignment(member.member_assignment) if group.protocol_type == "consumer" else {},
            )
            for member in group.members
        ),
    )


def _classic_assignment(data: bytes) -> Mapping[str, tuple[int, ...]] | None:
    """Decode the assignment of a consumer: its version as int16, and a ConsumerProtocolAssignment.

    Returns:
        The partitions by topic; None if the bytes, which come from a client, are not an assignment.
    """
    if not data:
        return {}
    try:
        _, assignment = decode_versioned(ConsumerProtocolAssignment, data, newer_as_newest=True)
    except DecodeError:
        return None
    return {
        assigned_partition.topic: assigned_partition.partitions for assigned_partition in assignment.assigned_partitions
    }


def _modern(kind: GroupType, assignment: Callable[[Any], Mapping[str, tuple[int, ...]]]) -> Any:
    """Return the function that describes a group of a type with epochs."""

    def description(group: Any, coordinator: int) -> GroupDescription:
        return GroupDescription(
            group.group_id,
            kind,
            group.group_state,
            coordinator,
            group.assignor_name or "",
            tuple(
                GroupMember(
                    member.member_id,
                    getattr(member, "instance_id", None),
                    member.client_id,
                    member.client_host,
                    assignment(member.assignment),
                    member.member_epoch,
                    member.rack_id,
                )
                for member in group.members
            ),
            group.group_epoch,
            _source_topics(group) if kind is GroupType.STREAMS else {},
        )

    return description


def _source_topics(group: Any) -> Mapping[str, tuple[str, ...]]:
    """Return the topics that the tasks of each subtopology read."""
    subtopologies = () if group.topology is None else group.topology.subtopologies or ()
    return {
        subtopology.subtopology_id: (
            *subtopology.source_topics,
            *(topic.name for topic in subtopology.repartition_source_topics),
        )
        for subtopology in subtopologies
    }


def _topics(assignment: Any) -> Mapping[str, tuple[int, ...]]:
    return {topic_partition.topic_name: topic_partition.partitions for topic_partition in assignment.topic_partitions}


def _tasks(assignment: Any) -> Mapping[str, tuple[int, ...]]:
    return {active_task.subtopology_id: active_task.partitions for active_task in assignment.active_tasks}


CLASSIC = DescribeQuery(lambda ids: DescribeGroupsRequest(groups=ids), _classic)
DESCRIBE_QUERIES: dict[GroupType, DescribeQuery[GroupDescription]] = {
    GroupType.CLASSIC: CLASSIC,
    GroupType.UNKNOWN: CLASSIC,
    GroupType.CONSUMER: DescribeQuery(
        lambda ids: ConsumerGroupDescribeRequest(group_ids=ids, include_authorized_operations=False),
        _modern(GroupType.CONSUMER, _topics),
    ),
    GroupType.SHARE: DescribeQuery(
        lambda ids: ShareGroupDescribeRequest(group_ids=ids, include_authorized_operations=False),
        _modern(GroupType.SHARE, _topics),
    ),
    GroupType.STREAMS: DescribeQuery(
        lambda ids: StreamsGroupDescribeRequest(group_ids=ids, include_authorized_operations=False),
        _modern(GroupType.STREAMS, _tasks),
    ),
}
"""Queries that describe groups, by type."""
