"""Changes of the topics, offsets, and groups of a fake cluster by requests, and the responses about them.

The broker that must carry out a change does it as Kafka's: the coordinator changes a group, which must have no members,
and the leader deletes records. Every broker accepts deletions of topics, as with KRaft.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.messages.kafka.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from kwire.messages.kafka.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kwire.messages.kafka.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kwire.messages.kafka.offset_delete import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kwire.testing.fake_offsets import FakeGroup, coordinator_of

if TYPE_CHECKING:
    from kwire.declare import Message
    from kwire.testing.cluster_state import ClusterState
    from kwire.testing.fake_offsets import FakeOffsets

__all__ = ["SERVED", "change"]

SERVED = {8: (2, 9), 20: (1, 5), 21: (0, 2), 42: (0, 3), 47: (0, 0)}
"""The lowest and highest served version by API key. Later versions of OffsetCommit and DeleteTopics name topics by
their ids."""
TOPIC = 2
"""The type of a topic as a resource of configs."""
END = -1
"""The end of the log, in place of an offset."""


def change(offsets: FakeOffsets, state: ClusterState, broker: int, message: Any) -> Message | None:
    """Carry out a request and return the response; None if it belongs to another API."""
    match message.api_key:
        case 8:
            return _commit(offsets, state, broker, message)
        case 20:
            topics = [_delete_topic(offsets, state, name) for name in message.topic_names]
            return DeleteTopicsResponse(responses=tuple(topics))
        case 21:
            return _delete_records(offsets, state, broker, message)
        case 42:
            groups = [_delete_group(offsets, state, broker, group_id) for group_id in message.groups_names]
            return DeleteGroupsResponse(throttle_time_ms=0, results=tuple(groups))
        case 47:
            return _delete_offsets(offsets, state, broker, message)
        case _:
            return None


def _commit(offsets: FakeOffsets, state: ClusterState, broker: int, message: Any) -> OffsetCommitResponse:
    group = offsets.groups.get(message.group_id, FakeGroup({}, 0))
    error = 0
    if coordinator_of(state, message.group_id) != broker:
        error = ErrorCode.NOT_COORDINATOR
    elif group.members:  # the request of an administrator names no member
        error = ErrorCode.UNKNOWN_MEMBER_ID
    committed = {topic: dict(of) for topic, of in group.offsets.items()}
    topics = []
    for topic in message.topics:
        partitions = []
        for requested in topic.partitions:
            at = requested.partition_index
            unknown = _leader(state, topic.name, at) is None
            code = error or (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if unknown else 0)
            if not code:
                committed.setdefault(topic.name, {})[at] = requested.committed_offset
            partitions.append(OffsetCommitResponsePartition(partition_index=at, error_code=code))
        topics.append(OffsetCommitResponseTopic(name=topic.name, partitions=tuple(partitions)))
    if not error:
        offsets.groups = offsets.groups | {message.group_id: group._replace(offsets=committed)}
    return OffsetCommitResponse(topics=tuple(topics))


def _delete_topic(offsets: FakeOffsets, state: ClusterState, name: str) -> DeletableTopicResult:
    error = 0 if name in state.topics else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not error:
        offsets.delete_topic(name)
    return DeletableTopicResult(name=name, error_code=error)


def _delete_group(offsets: FakeOffsets, state: ClusterState, broker: int, group_id: str) -> DeletableGroupResult:
    group = offsets.groups.get(group_id)
    error = 0
    if coordinator_of(state, group_id) != broker:
        error = ErrorCode.NOT_COORDINATOR
    elif group is None:
        error = ErrorCode.GROUP_ID_NOT_FOUND
    elif group.members:
        error = ErrorCode.NON_EMPTY_GROUP
    else:
        offsets.groups = {id: other for id, other in offsets.groups.items() if id != group_id}
    return DeletableGroupResult(group_id=group_id, error_code=error)


def _delete_offsets(offsets: FakeOffsets, state: ClusterState, broker: int, message: Any) -> OffsetDeleteResponse:
    group = offsets.groups.get(message.group_id)
    if coordinator_of(state, message.group_id) != broker or group is None:
        error = ErrorCode.GROUP_ID_NOT_FOUND if group is None else ErrorCode.NOT_COORDINATOR
        return OffsetDeleteResponse(error_code=error, throttle_time_ms=0, topics=())
    left = {topic: dict(of) for topic, of in group.offsets.items()}
    topics = []
    for topic in message.topics:
        partitions = []
        for requested in topic.partitions:
            is_subscribed = bool(group.members) and topic.name in group.offsets
            if not is_subscribed:
                left.get(topic.name, {}).pop(requested.partition_index, None)
            code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_subscribed else 0
            partitions.append(OffsetDeleteResponsePartition(partition_index=requested.partition_index, error_code=code))
        topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=tuple(partitions)))
    kept = {topic: of for topic, of in left.items() if of}
    offsets.groups = offsets.groups | {message.group_id: group._replace(offsets=kept)}
    return OffsetDeleteResponse(error_code=0, throttle_time_ms=0, topics=tuple(topics))


def _delete_records(offsets: FakeOffsets, state: ClusterState, broker: int, message: Any) -> DeleteRecordsResponse:
    topics = []
    for topic in message.topics:
        starts, ends = dict(offsets.starts.get(topic.name, {})), offsets.ends.get(topic.name, {})
        partitions = []
        for requested in topic.partitions:
            at = requested.partition_index
            leader, end = _leader(state, topic.name, at), ends.get(at, 0)
            before = end if requested.offset == END else requested.offset
            error = 0
            if leader != broker:
                error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if leader is None else ErrorCode.NOT_LEADER_OR_FOLLOWER
            elif state.topics[topic.name].is_internal:
                error = ErrorCode.INVALID_TOPIC_EXCEPTION
            elif state.configs.get((TOPIC, topic.name), {}).get("cleanup.policy") == "compact":
                error = ErrorCode.POLICY_VIOLATION
            elif not 0 <= before <= end:
                error = ErrorCode.OFFSET_OUT_OF_RANGE
            else:
                starts[at] = max(before, starts.get(at, 0))
            partitions.append(
                DeleteRecordsPartitionResult(
                    partition_index=at, low_watermark=-1 if error else starts[at], error_code=error
                )
            )
        offsets.starts[topic.name] = starts
        topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=tuple(partitions)))
    return DeleteRecordsResponse(throttle_time_ms=0, topics=tuple(topics))


def _leader(state: ClusterState, topic: str, partition: int) -> int | None:
    """Return the leader of a partition, -1 without one; None if the partition does not exist."""
    metadata = state.topics.get(topic)
    partitions = () if metadata is None else metadata.partitions
    return next((each.leader_id for each in partitions if each.partition_index == partition), None)
