"""TopicMetadata version 1, ``TopicMetadataRequest_V1`` of the batched draft (KIP-4).

Admin requests are asynchronous, and this is how their end is seen: ask every broker until it tells what was wanted.
Kafka later gave version 1 of key 3 to another layout.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, string
from kwire.messages.kip4.structures import Broker, ConfigEntry


class TopicMetadataRequest_V1(Request["TopicMetadataResponse_V1"], api_key=3, versions="1", dialect="kip4"):
    """Asks any broker about topics, and never creates one."""

    topic_names: array[string]
    """The topics to tell about; empty means all."""


class TopicMetadataResponse_V1(Message, api_key=3, versions="1", dialect="kip4"):
    """Brokers and topics, with the topics' own settings and the lag of each replica."""

    brokers: array[Broker]
    """The brokers alive now, in no particular order."""
    topics: array[TopicMetadata]
    """One entry for each that the request named, or all that exist; unknown ones carry their error."""


class TopicMetadata(Struct, key="topic_name"):
    """One topic."""

    topic_error_code: int16
    """0, or what is wrong with this topic: ``ErrorCode``; 3 when it does not exist."""
    topic_name: string
    """Which topic it is, also when there is an error."""
    partitions: array[PartitionMetadata]
    """Its partitions; empty when there is an error."""
    config_entries: array[ConfigEntry]
    """Settings that the topic overrides, and no others (decision D17)."""


class PartitionMetadata(Struct, key="partition_id"):
    """One partition as the answering broker knows it."""

    partition_error_code: int16
    """0, or what is wrong with this partition: ``ErrorCode``."""
    partition_id: int32
    """Number of the partition within its topic, from 0."""
    leader: int32
    """Id of the broker that leads it; -1 while it has no leader."""
    replicas_lag: array[ReplicaLag]
    """The replicas in the order of their assignment, so the first is the preferred leader (decision D8)."""
    isr: array[int32]
    """Ids of the replicas that are in sync with the leader."""


class ReplicaLag(Struct):
    """One replica and how far it is behind. The draft says only ``[int32 int32]``; the order is decision D8."""

    replica_id: int32
    """Id of the broker that holds the replica."""
    lag: int32
    """Messages by which it is behind the leader; -1 when that is not known (decision D8)."""
