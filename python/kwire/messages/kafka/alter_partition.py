"""AlterPartition (key 56): change the in-sync replicas of partitions (KIP-497, Kafka 2.7).

A partition leader sends it to the controller, which decides. Brokers of ZooKeeper clusters used it, too.

Versions:
    1  leader recovery state (KIP-704, Kafka 3.2)
    2  topic ids instead of names (KIP-841, Kafka 3.3)
    3  epochs of the replicas' brokers, so that a restarted broker is not added (KIP-903, Kafka 3.5)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, int64, string, uuid, zero


class AlterPartitionRequest(Request["AlterPartitionResponse"], api_key=56, versions="0-3", flexible="0+"):
    """Proposes new in-sync replicas."""

    broker_id: int32
    """The broker id of the leader that sends the request."""
    broker_epoch: int64 = -1
    """The epoch from its registration; error 77 if it has registered again since. -1 if unknown."""
    topics: array[TopicData]
    """The partitions to change, by topic."""


class TopicData(Struct):
    """The partitions of a topic."""

    topic_name: string = field(until=1, default="", ignorable=True)
    """The name of the topic, up to version 1."""
    topic_id: uuid = field(since=2, default=zero, ignorable=True)
    """The topic id, since version 2; error 100 if unknown."""
    partitions: array[PartitionData]
    """The partitions to change, all led by the sender."""


class PartitionData(Struct):
    """The proposed state of a partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    leader_epoch: int32
    """The epoch of the sender's leadership; error 74 if another leader was elected."""
    new_isr: array[int32] = field(until=2, default=())
    """The broker ids of the proposed in-sync replicas, up to version 2."""
    new_isr_with_epochs: array[BrokerState] = field(since=3, default=())
    """The proposed in-sync replicas with their broker epochs (KIP-903, Kafka 3.5)."""
    leader_recovery_state: int8 = field(since=1, default=0)
    """0 recovered; 1 recovering after an unclean election (KIP-704, Kafka 3.2)."""
    partition_epoch: int32
    """The partition epoch that the change is based on; error 95 if the partition has changed since."""


class BrokerState(Struct):
    """A proposed in-sync replica."""

    broker_id: int32
    """The broker id of the replica, which can be the leader itself."""
    broker_epoch: int64 = -1
    """The epoch of the broker when it fetched, error 107 if it has registered again; -1 to skip the check."""


class AlterPartitionResponse(Message, api_key=56, versions="0-3", flexible="0+"):
    """The new state of each partition."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """The error of the whole request: 31 not authorized; 41 not the controller; 77 stale broker epoch; 0 otherwise."""
    topics: array[TopicDataResponse]
    """The results by topic, as in the request."""


class TopicDataResponse(Struct):
    """The results for the partitions of a topic."""

    topic_name: string = field(until=1, default="", ignorable=True)
    """The name of the topic, up to version 1."""
    topic_id: uuid = field(since=2, default=zero, ignorable=True)
    """The unique id of the topic, as in the request (KIP-841)."""
    partitions: array[PartitionDataResponse]
    """The result for each partition of the request."""


class PartitionDataResponse(Struct):
    """The state of one partition after the change."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 3 or 100 unknown topic; 42 invalid request; 74 another leader was elected; 95 outdated partition epoch; 107
    ineligible replica; 108 the leader changed because of this request."""
    leader_id: int32
    """The broker id of the leader; -1 if there is no leader."""
    leader_epoch: int32
    """The epoch of the leader, which increases with every election."""
    isr: array[int32]
    """The broker ids of the in-sync replicas."""
    leader_recovery_state: int8 = field(since=1, default=0, ignorable=True)
    """0 recovered; 1 recovering after an unclean election (KIP-704, Kafka 3.2)."""
    partition_epoch: int32
    """The new partition epoch, which increases with every change of leader or in-sync replicas."""
