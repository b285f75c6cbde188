"""Offsets and groups of a fake cluster, and the responses about them.

A fake cluster keeps no records: a test sets the ends of logs and what groups have committed. Each group is coordinated
by the leader of its partition of `__consumer_offsets`, and by no broker while that has no leader. In a cluster without
the topic, the id of a group decides on one of the live brokers. A fake cluster has no transactions.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from kwire.client.admin.internal_topics import GROUPS, TRANSACTIONS, partition_of
from kwire.messages.kafka.consumer_protocol_assignment import ConsumerProtocolAssignment
from kwire.messages.kafka.consumer_protocol_assignment import TopicPartition as AssignedPartitions
from kwire.messages.kafka.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsResponse
from kwire.messages.kafka.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kwire.messages.kafka.describe_transactions import DescribeTransactionsResponse, TransactionState
from kwire.messages.kafka.find_coordinator import Coordinator, FindCoordinatorResponse
from kwire.messages.kafka.list_groups import ListedGroup, ListGroupsResponse
from kwire.messages.kafka.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kwire.messages.kafka.list_transactions import ListTransactionsResponse
from kwire.messages.kafka.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kwire.versioned import encode_versioned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kwire.declare import Message
    from kwire.testing.cluster_state import ClusterState

__all__ = ["SERVED", "FakeGroup", "FakeOffsets", "coordinator_of"]

SERVED = {2: (1, 7), 9: (1, 8), 10: (0, 4), 15: (0, 5), 16: (0, 5), 35: (1, 4), 65: (0, 0), 66: (0, 0)}
"""The lowest and highest served version by API key."""
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
DEBUGGING_REPLICA = -2
NOT_LEADER = 6
COORDINATOR_NOT_AVAILABLE = 15
NOT_COORDINATOR = 16
UNKNOWN_TRANSACTIONAL_ID = 105
UNKNOWN_TOPIC = 3


class FakeGroup(NamedTuple):
    """A group: its committed offsets by topic and partition, and its number of members."""

    offsets: Mapping[str, Mapping[int, int]]
    members: int

    @property
    def state(self) -> str:
        return "Stable" if self.members else "Empty"


class FakeOffsets:
    """The offsets and groups of one fake cluster. Changes replace values, so threads need no lock.

    Args:
        delete_topic: deletes a topic of the cluster.

    Attributes:
        ends: the end of each log by topic, then partition; 0 for others.
        behind: the number of records that followers lack, by topic, partition, then broker; 0 for others.
        ended_at: the timestamp of the newest records of a topic, in milliseconds since 1970.
        starts: the first offset of each log; 0 for others.
        groups: the groups by id.
    """

    def __init__(self, delete_topic: Callable[[str], None]) -> None:
        self.delete_topic = delete_topic
        self.ends: dict[str, Mapping[int, int]] = {}
        self.behind: dict[str, Mapping[int, Mapping[int, int]]] = {}
        self.ended_at: dict[str, int] = {}
        self.starts: dict[str, Mapping[int, int]] = {}
        self.groups: dict[str, FakeGroup] = {}

    def respond(self, state: ClusterState, broker: int, message: Any, version: int) -> Message | None:
        """Return the response to a request; None if it belongs to another API."""
        match message.api_key:
            case 2:
                return self._offsets(state, broker, message, version)
            case 9:
                return self._committed(state, broker, message, version)
            case 10:
                return _coordinators(state, message, version)
            case 15:
                described = tuple(self._described(state, broker, group) for group in message.groups)
                return DescribeGroupsResponse(groups=described)
            case 16:
                return ListGroupsResponse(error_code=0, groups=tuple(self._listed(state, broker)))
            case 35:
                return self._log_dirs(state, broker)
            case 65:
                transactions = tuple(_transaction(state, broker, key) for key in message.transactional_ids)
                return DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=transactions)
            case 66:
                return ListTransactionsResponse(
                    throttle_time_ms=0, error_code=0, unknown_state_filters=(), transaction_states=()
                )
            case _:
                return None

    def _offsets(self, state: ClusterState, broker: int, message: Any, version: int) -> ListOffsetsResponse:
        topics = []
        for topic in message.topics:
            metadata = state.topics.get(topic.name)
            hosted = {} if metadata is None else {one.partition_index: one for one in metadata.partitions}
            ends, starts = self.ends.get(topic.name, {}), self.starts.get(topic.name, {})
            partitions = []
            for requested in topic.partitions:
                index = requested.partition_index
                partition = hosted.get(index)
                is_debugging = message.replica_id == DEBUGGING_REPLICA  # which followers answer as well
                led = partition is not None and (partition.leader_id == broker or is_debugging)
                offset = (starts if requested.timestamp == EARLIEST else ends).get(index, 0)
                if requested.timestamp == LATEST and partition is not None:
                    # The high watermark is the lowest end of the replicas in sync.
                    behind = self.behind.get(topic.name, {}).get(index, {})
                    of = (broker,) if is_debugging else partition.isr_nodes
                    offset -= max((behind.get(replica, 0) for replica in of), default=0)
                timestamp = -1
                if requested.timestamp == MAX_TIMESTAMP:
                    offset -= 1  # an empty log has no newest record
                    timestamp = self.ended_at.get(topic.name, -1) if offset >= 0 else -1
                elif requested.timestamp > self.ended_at.get(topic.name, time.time() * 1000):
                    offset = -1  # no record is as late as this
                partitions.append(
                    ListOffsetsPartitionResponse(
                        partition_index=index,
                        error_code=0 if led else UNKNOWN_TOPIC if partition is None else NOT_LEADER,
                        timestamp=timestamp if led else -1,
                        offset=offset if led else -1,
                        leader_epoch=0 if led and version >= 4 else -1,  # earlier versions lack the field
                    )
                )
            topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=tuple(partitions)))
        return ListOffsetsResponse(throttle_time_ms=0, topics=tuple(topics))

    def _committed(self, state: ClusterState, broker: int, message: Any, version: int) -> OffsetFetchResponse:
        if version >= 8:
            groups = tuple(
                OffsetFetchResponseGroup(
                    group_id=group.group_id,
                    error_code=0 if coordinator_of(state, group.group_id) == broker else NOT_COORDINATOR,
                    topics=tuple(
                        OffsetFetchResponseTopics(
                            name=name, partitions=_partitions(OffsetFetchResponsePartitions, offsets)
                        )
                        for name, offsets in self._requested(group.group_id, group.topics)
                    ),
                )
                for group in message.groups
            )
            return OffsetFetchResponse(groups=groups)
        topics = tuple(
            OffsetFetchResponseTopic(name=name, partitions=_partitions(OffsetFetchResponsePartition, offsets))
            for name, offsets in self._requested(message.group_id, message.topics)
        )
        return OffsetFetchResponse(topics=topics, error_code=0)

    def _requested(self, group_id: str, topics: Any) -> Iterable[tuple[str, Mapping[int, int]]]:
        """Return the offsets of a group for topics, -1 without one; for None, all that it has committed."""
        group = self.groups.get(group_id)
        offsets = {} if group is None else group.offsets
        if topics is None:
            return offsets.items()
        return [
            (topic.name, {index: offsets.get(topic.name, {}).get(index, -1) for index in topic.partition_indexes})
            for topic in topics
        ]

    def _listed(self, state: ClusterState, broker: int) -> Iterable[ListedGroup]:
        for group_id, group in self.groups.items():
            if coordinator_of(state, group_id) == broker:
                yield ListedGroup(
                    group_id=group_id, protocol_type="consumer", group_state=group.state, group_type="classic"
                )

    def _described(self, state: ClusterState, broker: int, group_id: str) -> DescribedGroup:
        group = self.groups.get(group_id)
        is_here = coordinator_of(state, group_id) == broker
        members = () if group is None else tuple(_members(group_id, group))
        return DescribedGroup(
            error_code=0 if is_here else NOT_COORDINATOR,
            group_id=group_id,
            group_state="Dead" if group is None else group.state,
            protocol_type="consumer",
            protocol_data="range" if members else "",
            members=members,
        )

    def _log_dirs(self, state: ClusterState, broker: int) -> DescribeLogDirsResponse:
        topics = []
        for name, topic in state.topics.items():
            ends = self.ends.get(name, {})
            partitions = tuple(
                DescribeLogDirsPartition(
                    partition_index=partition.partition_index,
                    partition_size=ends.get(partition.partition_index, 0),
                    offset_lag=0,
                    is_future_key=False,
                )
                for partition in topic.partitions
                if broker in partition.replica_nodes
            )
            if partitions:
                topics.append(DescribeLogDirsTopic(name=name, partitions=partitions))
        result = DescribeLogDirsResult(error_code=0, log_dir="/data", topics=tuple(topics))
        return DescribeLogDirsResponse(throttle_time_ms=0, results=(result,))


def _partitions(struct: Any, offsets: Mapping[int, int]) -> tuple[Any, ...]:
    return tuple(
        [struct(partition_index=index, committed_offset=at, metadata="", error_code=0) for index, at in offsets.items()]
    )


def coordinator_of(state: ClusterState, key: str, topic: str = GROUPS) -> int:
    """Return the id of the broker that coordinates a group or a transactional id; -1 if none does."""
    internal = state.topics.get(topic)
    if internal is not None:
        index = partition_of(key, len(internal.partitions))
        return state.partition(topic, index).leader_id
    ids = sorted([broker.node_id for broker in state.brokers])
    return ids[crc32(key.encode()) % len(ids)] if ids else -1


def _coordinators(state: ClusterState, message: Any, version: int) -> FindCoordinatorResponse:
    keys: Sequence[str] = message.coordinator_keys if version >= 4 else (message.key,)
    found = [_coordinator(state, key, (GROUPS, TRANSACTIONS)[message.key_type]) for key in keys]
    if version < 4:
        [one] = found
        return FindCoordinatorResponse(error_code=one.error_code, node_id=one.node_id, host=one.host, port=one.port)
    return FindCoordinatorResponse(coordinators=tuple(found))


def _coordinator(state: ClusterState, key: str, topic: str) -> Coordinator:
    id = coordinator_of(state, key, topic)
    broker = next((broker for broker in state.brokers if broker.node_id == id), None)
    if broker is None:
        return Coordinator(
            key=key, node_id=-1, host="", port=-1, error_code=COORDINATOR_NOT_AVAILABLE, error_message=None
        )
    return Coordinator(key=key, node_id=id, host=broker.host, port=broker.port, error_code=0, error_message=None)


def _transaction(state: ClusterState, broker: int, key: str) -> TransactionState:
    is_here = coordinator_of(state, key, TRANSACTIONS) == broker
    return TransactionState(
        error_code=UNKNOWN_TRANSACTIONAL_ID if is_here else NOT_COORDINATOR,
        transactional_id=key,
        transaction_state="",
        transaction_timeout_ms=0,
        transaction_start_time_ms=-1,
        producer_id=-1,
        producer_epoch=-1,
        topics=(),
    )


def _members(group_id: str, group: FakeGroup) -> Iterable[DescribedGroupMember]:
    """Return the members of a group, which have its partitions in turn."""
    for number in range(group.members):
        assigned: dict[str, list[int]] = {}
        for topic, offsets in group.offsets.items():
            if indexes := [index for index in offsets if index % group.members == number]:
                assigned[topic] = indexes
        assignment = ConsumerProtocolAssignment(
            assigned_partitions=tuple(
                AssignedPartitions(topic=topic, partitions=tuple(of)) for topic, of in assigned.items()
            )
        )
        yield DescribedGroupMember(
            member_id=f"{group_id}-{number}",
            client_id="fake",
            client_host="/127.0.0.1",
            member_metadata=b"",
            member_assignment=encode_versioned(assignment, version=0),
        )
