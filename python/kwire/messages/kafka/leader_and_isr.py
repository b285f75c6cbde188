"""LeaderAndIsr (key 4): the controller tells a broker which partitions it leads and which it follows.

Gone since Kafka 4.0, where brokers read that out of the log of the KRaft quorum.

Versions:
    1  tells new replicas from lost ones (KIP-112, Kafka 1.0)
    2  partitions by topic; broker epochs (KIP-380, Kafka 2.2)
    3  reassignments that can be told from the rest (KIP-455, Kafka 2.4)
    4  flexible (KIP-482)
    5  topic ids; full updates that can be told from partial ones (KIP-516, Kafka 2.8)
    6  leaders that have to recover (KIP-704, Kafka 3.2)
    7  controllers of KRaft during a migration (KIP-866, Kafka 3.4)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, int64, string, uuid, zero


class LeaderAndIsrRequest(Request["LeaderAndIsrResponse"], api_key=4, versions="0-7", flexible="4+"):
    """What the receiver shall lead and follow from now on."""

    controller_id: int32
    """Broker id of the sender."""
    is_kraft_controller: bool = field(since=7, default=False, name="isKRaftController")
    """True while a KRaft quorum leads brokers that still stand on ZooKeeper (KIP-866, Kafka 3.4)."""
    controller_epoch: int32
    """Rises with each new controller; a broker that has seen a higher one answers 11."""
    broker_epoch: int64 = field(since=2, default=-1, ignorable=True)
    """Which life of the receiver is meant: the czxid of its registration (KIP-380, Kafka 2.2); -1 for any. A broker
    that has registered anew since answers 77."""
    type: int8 = field(since=5, default=0)
    """0 not said; 1 only what changed; 2 every partition of the receiver, which may drop all others (KIP-516)."""
    ungrouped_partition_states: array[LeaderAndIsrPartitionState] = field(until=1, default=())
    """The partitions, each with the name of its topic."""
    topic_states: array[LeaderAndIsrTopicState] = field(since=2, default=())
    """The partitions by topic, so that a name is sent once and not once a partition."""
    live_leaders: array[LeaderAndIsrLiveLeader]
    """The live brokers that lead any of these partitions."""


class LeaderAndIsrPartitionState(Struct):
    """Who leads and who follows in one partition."""

    topic_name: string = field(until=1, default="", ignorable=True)
    """The partition's topic; later versions say it once, in TopicState."""
    partition_index: int32
    """Its id within the topic, from 0."""
    controller_epoch: int32
    """Epoch of the controller that last changed this partition; the sender's may be higher."""
    leader: int32
    """Broker id of the leader; -1 when it has none."""
    leader_epoch: int32
    """Rises with each change of leader; a broker that has seen a higher one for the partition ignores this state."""
    isr: array[int32]
    """Broker ids of the replicas in sync, the leader among them."""
    partition_epoch: int32
    """Rises with each change of leader or ISR: the version of the partition's state node, which a leader must name to
    change the ISR."""
    replicas: array[int32]
    """Broker ids in the order of assignment: the first is the preferred leader."""
    adding_replicas: array[int32] = field(since=3, default=(), ignorable=True)
    """Those of ``replicas`` that a reassignment brings in (KIP-455, Kafka 2.4)."""
    removing_replicas: array[int32] = field(since=3, default=(), ignorable=True)
    """Those of ``replicas`` that a reassignment takes away when it ends (KIP-455)."""
    is_new: bool = field(since=1, default=False, ignorable=True)
    """True when the replica is to be made. When it is not, and the broker lacks it while a disk of its is offline, the
    replica is taken to be on that disk and is not made anew (KIP-112, Kafka 1.0)."""
    leader_recovery_state: int8 = field(since=6, default=0)
    """0 the leader's log is whole; 1 it was elected out of sync and has yet to recover (KIP-704, Kafka 3.2)."""


class LeaderAndIsrTopicState(Struct):
    """The partitions of one topic."""

    topic_name: string
    """The topic that the partitions belong to."""
    topic_id: uuid = field(since=5, default=zero, ignorable=True)
    """What tells a topic from a later one of the same name (KIP-516, Kafka 2.8); zero when it was never given one."""
    partition_states: array[LeaderAndIsrPartitionState]
    """Those that the receiver holds a replica of."""


class LeaderAndIsrLiveLeader(Struct):
    """Where followers find a leader."""

    broker_id: int32
    """Its ``broker.id``: the number that the partitions above name as their leader."""
    host_name: string
    """Where to connect, on the listener for traffic between brokers."""
    port: int32
    """The TCP port that goes with ``host_name``."""


class LeaderAndIsrResponse(Message, api_key=4, versions="0-7", flexible="4+"):
    """What the broker made of it."""

    error_code: int16
    """0 the partitions decide; 11 the sender is no longer the controller; 77 it meant an earlier life of the broker."""
    partition_errors: array[LeaderAndIsrPartitionError] = field(until=4, default=())
    """The outcomes, each with the name of its topic."""
    topics: array[LeaderAndIsrTopicError] = field(since=5, default=())
    """The outcomes by topic id (KIP-516)."""


class LeaderAndIsrPartitionError(Struct):
    """Whether the broker did as told for one partition."""

    topic_name: string = field(until=4, default="", ignorable=True)
    """The partition's topic; later versions give its id, in TopicErrors."""
    partition_index: int32
    """Its id within the topic, from 0."""
    error_code: int16
    """0; 56 the replica's disk has failed; 11 the state was older than what the broker knew."""


class LeaderAndIsrTopicError(Struct):
    """The outcomes in one topic."""

    topic_id: uuid
    """Which topic these results are about, by the id that it was created with (KIP-516)."""
    partition_errors: array[LeaderAndIsrPartitionError]
    """One entry a partition of the request."""
