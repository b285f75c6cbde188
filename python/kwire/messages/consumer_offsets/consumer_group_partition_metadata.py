"""ConsumerGroupPartitionMetadata: the topics that a consumer group subscribes to (KIP-848). Kafka 4.1 and newer store a
hash in ConsumerGroupMetadata instead.
"""

from __future__ import annotations

from kwire.declare import Message, Struct, array, int32, string, uuid


class ConsumerGroupPartitionMetadataKey(Message, record_type=4, versions="0"):
    """The group that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""


class ConsumerGroupPartitionMetadataValue(Message, record_type=4, versions="0", flexible="0+"):
    """The topics of a group and the number of their partitions."""

    topics: array[TopicMetadata]
    """The subscribed topics at the time of the record."""


class TopicMetadata(Struct, key="topic_id"):
    """A topic that the group subscribes to."""

    topic_id: uuid
    """The id of the topic (KIP-516)."""
    topic_name: string
    """The name at the time of the record."""
    num_partitions: int32
    """The size of the topic at the time of the record."""
    partition_metadata: array[PartitionMetadata]
    """The racks of replicas; not used since Kafka 4.0."""


class PartitionMetadata(Struct):
    """The racks of a partition. Not used since Kafka 4.0."""

    partition: int32
    """The index within the topic, from 0."""
    racks: array[string]
    """The racks (`broker.rack`) with a replica."""
