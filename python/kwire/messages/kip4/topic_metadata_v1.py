"""TopicMetadata version 1, `TopicMetadataRequest_V1` of the batched draft (KIP-4).

Admin requests are asynchronous: to detect their completion, request the topics from every broker until the change is
visible. Kafka later used version 1 of key 3 for another layout.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, string
from kwire.messages.kip4.structures import Broker, ConfigEntry


class TopicMetadataRequest_V1(Request["TopicMetadataResponse_V1"], api_key=3, versions="1", dialect="kip4"):
    """Requests topics from any broker. Never creates a topic."""

    topic_names: array[string]
    """The topics to describe; empty for all."""


class TopicMetadataResponse_V1(Message, api_key=3, versions="1", dialect="kip4"):
    """The brokers and the topics, with overridden configs and the lag of each replica."""

    brokers: array[Broker]
    """The live brokers, in no particular order."""
    topics: array[TopicMetadata]
    """The requested topics, or all topics, each with its own error."""


class TopicMetadata(Struct, key="topic_name"):
    """A topic with its overridden configs."""

    topic_error_code: int16
    """An `ErrorCode`; 0 on success, 3 if the topic does not exist."""
    topic_name: string
    """The name of the topic, also set on error."""
    partitions: array[PartitionMetadata]
    """The partitions of the topic; empty on error."""
    config_entries: array[ConfigEntry]
    """The configs that override defaults."""


class PartitionMetadata(Struct, key="partition_id"):
    """A partition as the responding broker knows it."""

    partition_error_code: int16
    """An `ErrorCode`; 0 on success."""
    partition_id: int32
    """The index of the partition within its topic, starting at 0."""
    leader: int32
    """The broker id of the leader; -1 if there is no leader."""
    replicas_lag: array[ReplicaLag]
    """The replicas in assignment order, the preferred leader first, each with its lag."""
    isr: array[int32]
    """The broker ids of the in-sync replicas."""


class ReplicaLag(Struct):
    """A replica and its lag. The draft only has `[int32 int32]`; kwire defines the order."""

    replica_id: int32
    """The id of the broker that holds the replica."""
    lag: int32
    """The number of messages behind the leader; -1 if unknown."""
