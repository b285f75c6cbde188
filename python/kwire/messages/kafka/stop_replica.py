"""StopReplica (key 5): the controller stops replicas of a broker, and optionally deletes them.

Removed in Kafka 4.0, where brokers read this from the KRaft metadata log.

Versions:
    1  partitions by topic; broker epochs (KIP-380, Kafka 2.2)
    2  flexible (KIP-482)
    3  leader epochs, and deletion for each partition (KIP-570, Kafka 2.6)
    4  KRaft controllers during a migration (KIP-866, Kafka 3.4)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, string


class StopReplicaRequest(Request["StopReplicaResponse"], api_key=5, versions="0-4", flexible="2+"):
    """The replicas that the receiving broker must stop."""

    controller_id: int32
    """The broker id of the controller that sends the request."""
    is_kraft_controller: bool = field(since=4, default=False, name="isKRaftController")
    """True if a KRaft controller sends the request during a migration from ZooKeeper (KIP-866, Kafka 3.4)."""
    controller_epoch: int32
    """The epoch of the controller. Error 11 if the broker has seen a higher one."""
    broker_epoch: int64 = field(since=1, default=-1, ignorable=True)
    """The epoch of the receiving broker: the czxid of its registration (KIP-380, Kafka 2.2); -1 for any. Error 77 if
    the broker has registered again since."""
    delete_partitions: bool = field(until=2, default=False)
    """True to delete all of the replicas; since version 3 decided for each replica."""
    ungrouped_partitions: array[StopReplicaPartitionV0] = field(until=0, default=())
    """The partitions, each with its topic name."""
    topics: array[StopReplicaTopicV1] = field(since=1, until=2, default=())
    """The partitions, grouped by topic."""
    topic_states: array[StopReplicaTopicState] = field(since=3, default=())
    """The partitions by topic, each with its leader epoch and whether to delete it (KIP-570, Kafka 2.6)."""


class StopReplicaPartitionV0(Struct):
    """A partition to stop (version 0)."""

    topic_name: string
    """The name of the topic that the partition belongs to."""
    partition_index: int32
    """The index of the partition within its topic, starting at 0."""


class StopReplicaTopicV1(Struct):
    """The partitions of a topic to stop (versions 1 and 2)."""

    name: string
    """The name of the topic that the partitions belong to."""
    partition_indexes: array[int32]
    """The partition indexes, starting at 0."""


class StopReplicaTopicState(Struct):
    """The partitions of a topic to stop (version 3)."""

    topic_name: string
    """The name of the topic that the partitions belong to."""
    partition_states: array[StopReplicaPartitionState]
    """The partitions with a replica on the receiving broker."""


class StopReplicaPartitionState(Struct):
    """A partition to stop (version 3)."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    leader_epoch: int32 = -1
    """The epoch of the leader. The broker rejects a lower one than it knows (KIP-570). -1 to skip the check, -2 if the
    topic is being deleted, which is always accepted."""
    delete_partition: bool
    """True to delete the replica from disk."""


class StopReplicaResponse(Message, api_key=5, versions="0-4", flexible="2+"):
    """The result for each partition."""

    error_code: int16
    """0; 11 stale controller epoch; 77 stale broker epoch. With 0, each partition has its own error."""
    partition_errors: array[StopReplicaPartitionError]
    """The result for each partition of the request."""


class StopReplicaPartitionError(Struct):
    """The result for one partition."""

    topic_name: string
    """The name of the topic that the partition belongs to."""
    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 56 the log directory of the replica is offline; 74 stale leader epoch (version 3)."""
