"""StopReplica (key 5): the controller tells a broker to stop following partitions, and perhaps to delete its copies.

Gone since Kafka 4.0, where brokers read that out of the log of the KRaft quorum.

Versions:
    1  partitions by topic; broker epochs (KIP-380, Kafka 2.2)
    2  flexible (KIP-482)
    3  leader epochs, and a decision for each partition (KIP-570, Kafka 2.6)
    4  controllers of KRaft during a migration (KIP-866, Kafka 3.4)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, string


class StopReplicaRequest(Request["StopReplicaResponse"], api_key=5, versions="0-4", flexible="2+"):
    """Which replicas the receiver shall stop."""

    controller_id: int32
    """Broker id of the sender."""
    is_kraft_controller: bool = field(since=4, default=False, name="isKRaftController")
    """True while a KRaft quorum leads brokers that still stand on ZooKeeper (KIP-866, Kafka 3.4)."""
    controller_epoch: int32
    """Rises with each new controller; a broker that has seen a higher one answers 11."""
    broker_epoch: int64 = field(since=1, default=-1, ignorable=True)
    """Which life of the receiver is meant: the czxid of its registration (KIP-380, Kafka 2.2); -1 for any. A broker
    that has registered anew since answers 77."""
    delete_partitions: bool = field(until=2, default=False)
    """True: delete all these copies from disk; later versions decide it for each."""
    ungrouped_partitions: array[StopReplicaPartitionV0] = field(until=0, default=())
    """The partitions, each with the name of its topic."""
    topics: array[StopReplicaTopicV1] = field(since=1, until=2, default=())
    """The partitions by topic, so that a name is sent once and not once a partition."""
    topic_states: array[StopReplicaTopicState] = field(since=3, default=())
    """The partitions by topic, each with its leader epoch and its own fate (KIP-570, Kafka 2.6)."""


class StopReplicaPartitionV0(Struct):
    """One partition to stop (version 0)."""

    topic_name: string
    """Which topic the replica to stop belongs to."""
    partition_index: int32
    """Its id within the topic, from 0."""


class StopReplicaTopicV1(Struct):
    """The partitions of one topic to stop (versions 1 and 2)."""

    name: string
    """Which topic the replicas to stop belong to."""
    partition_indexes: array[int32]
    """Which of its partitions, by their ids from 0."""


class StopReplicaTopicState(Struct):
    """The partitions of one topic to stop (version 3)."""

    topic_name: string
    """The topic that the partitions belong to."""
    partition_states: array[StopReplicaPartitionState]
    """Those that the receiver holds a replica of."""


class StopReplicaPartitionState(Struct):
    """One partition to stop, and what to do with the copy (version 3)."""

    partition_index: int32
    """Its id within the topic, from 0."""
    leader_epoch: int32 = -1
    """Rises with each change of leader; a broker that has seen a higher one refuses (KIP-570). -1 for no check, -2
    when the topic is being deleted, which no epoch stops."""
    delete_partition: bool
    """True: delete the copy from disk."""


class StopReplicaResponse(Message, api_key=5, versions="0-4", flexible="2+"):
    """What the broker made of it."""

    error_code: int16
    """0 the partitions decide; 11 the sender is no longer the controller; 77 it meant an earlier life of the broker."""
    partition_errors: array[StopReplicaPartitionError]
    """One entry a partition of the request."""


class StopReplicaPartitionError(Struct):
    """Whether the broker did as told for one partition."""

    topic_name: string
    """Which topic the stopped replica belonged to, echoed."""
    partition_index: int32
    """Its id within the topic, from 0."""
    error_code: int16
    """0; 56 the replica's disk has failed; 74 the leader epoch was older than what the broker knew (version 3)."""
