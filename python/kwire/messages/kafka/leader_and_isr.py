"""LeaderAndIsr (key 4): the controller assigns leaders and followers of partitions to a broker.

Removed in Kafka 4.0, where brokers read this from the KRaft metadata log.

Versions:
    1  distinguishes new replicas from offline ones (KIP-112, Kafka 1.0)
    2  partitions by topic; broker epochs (KIP-380, Kafka 2.2)
    3  adding and removing replicas of reassignments (KIP-455, Kafka 2.4)
    4  flexible (KIP-482)
    5  topic ids; full and incremental updates (KIP-516, Kafka 2.8)
    6  leader recovery state (KIP-704, Kafka 3.2)
    7  KRaft controllers during a migration (KIP-866, Kafka 3.4)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, int64, string, uuid, zero


class LeaderAndIsrRequest(Request["LeaderAndIsrResponse"], api_key=4, versions="0-7", flexible="4+"):
    """The partitions that the receiving broker leads or follows."""

    controller_id: int32
    """The broker id of the controller that sends the request."""
    is_kraft_controller: bool = field(since=7, default=False, name="isKRaftController")
    """True if a KRaft controller sends the request during a migration from ZooKeeper (KIP-866, Kafka 3.4)."""
    controller_epoch: int32
    """The epoch of the controller. Error 11 if the broker has seen a higher one."""
    broker_epoch: int64 = field(since=2, default=-1, ignorable=True)
    """The epoch of the receiving broker: the czxid of its registration (KIP-380, Kafka 2.2); -1 for any. Error 77 if
    the broker has registered again since."""
    type: int8 = field(since=5, default=0)
    """The type of update: 0 unknown; 1 incremental; 2 full, after which the broker can delete all other partitions
    (KIP-516)."""
    ungrouped_partition_states: array[LeaderAndIsrPartitionState] = field(until=1, default=())
    """The partitions, each with its topic name."""
    topic_states: array[LeaderAndIsrTopicState] = field(since=2, default=())
    """The partitions, grouped by topic."""
    live_leaders: array[LeaderAndIsrLiveLeader]
    """The live brokers that lead any of the partitions."""


class LeaderAndIsrPartitionState(Struct):
    """The state of a partition."""

    topic_name: string = field(until=1, default="", ignorable=True)
    """The name of the topic; since version 2 in LeaderAndIsrTopicState."""
    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    controller_epoch: int32
    """The epoch of the controller that last changed the partition, which can be lower than the request's."""
    leader: int32
    """The broker id of the leader; -1 if there is no leader."""
    leader_epoch: int32
    """The epoch of the leader, which increases with every leader change. A state with a lower epoch is ignored."""
    isr: array[int32]
    """The broker ids of the in-sync replicas, including the leader."""
    partition_epoch: int32
    """The version of the partition's state znode, which increases with every change of leader or ISR. A leader needs it
    to change the ISR."""
    replicas: array[int32]
    """The broker ids of the replicas in assignment order; the first is the preferred leader."""
    adding_replicas: array[int32] = field(since=3, default=(), ignorable=True)
    """The replicas that a reassignment adds (KIP-455, Kafka 2.4)."""
    removing_replicas: array[int32] = field(since=3, default=(), ignorable=True)
    """The replicas that a reassignment removes when it completes (KIP-455)."""
    is_new: bool = field(since=1, default=False, ignorable=True)
    """True if the replica must be created. Otherwise a broker with an offline log directory assumes that a missing
    replica is in that directory (KIP-112, Kafka 1.0)."""
    leader_recovery_state: int8 = field(since=6, default=0)
    """0 recovered; 1 recovering after an unclean election (KIP-704, Kafka 3.2)."""


class LeaderAndIsrTopicState(Struct):
    """The partitions of a topic."""

    topic_name: string
    """The name of the topic that the partitions belong to."""
    topic_id: uuid = field(since=5, default=zero, ignorable=True)
    """The topic id, different from earlier topics' with the same name (KIP-516, Kafka 2.8); zero if none
    was assigned."""
    partition_states: array[LeaderAndIsrPartitionState]
    """The partitions with a replica on the receiving broker."""


class LeaderAndIsrLiveLeader(Struct):
    """The address of a leader."""

    broker_id: int32
    """The broker id of the leader, as used in the partition states."""
    host_name: string
    """The host name of the listener for traffic between brokers."""
    port: int32
    """The TCP port of the listener."""


class LeaderAndIsrResponse(Message, api_key=4, versions="0-7", flexible="4+"):
    """The result for each partition."""

    error_code: int16
    """0; 11 stale controller epoch; 77 stale broker epoch. With 0, each partition has its own error."""
    partition_errors: array[LeaderAndIsrPartitionError] = field(until=4, default=())
    """The results, each with its topic name."""
    topics: array[LeaderAndIsrTopicError] = field(since=5, default=())
    """The results by topic id (KIP-516)."""


class LeaderAndIsrPartitionError(Struct):
    """The result for one partition."""

    topic_name: string = field(until=4, default="", ignorable=True)
    """The name of the topic; since version 5, LeaderAndIsrTopicError has its id."""
    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 56 the log directory of the replica is offline; 11 stale state."""


class LeaderAndIsrTopicError(Struct):
    """The results for the partitions of a topic."""

    topic_id: uuid
    """The unique id of the topic (KIP-516)."""
    partition_errors: array[LeaderAndIsrPartitionError]
    """The result for each partition of the request."""
