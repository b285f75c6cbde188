"""ShareGroupStatePartitionMetadata: partitions with a state in `__share_group_state` (KIP-932)."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, int32, string, uuid


class ShareGroupStatePartitionMetadataKey(Message, record_type=15, versions="0"):
    """The group that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""


class ShareGroupStatePartitionMetadataValue(Message, record_type=15, versions="0", flexible="0+"):
    """The partitions by the progress of their state."""

    initializing_topics: array[TopicPartitionsInfo]
    """Partitions that wait for their first state."""
    initialized_topics: array[TopicPartitionsInfo]
    """Topics that have records in `__share_group_state`."""
    deleting_topics: array[TopicInfo]
    """Topics that wait for the deletion of their state."""


class TopicPartitionsInfo(Struct, key="topic_id"):
    """Partitions of a topic."""

    topic_id: uuid
    """The id of the topic (KIP-516)."""
    topic_name: string
    """The name at the time of the record."""
    partitions: array[int32]
    """The indexes within the topic, from 0."""


class TopicInfo(Struct, key="topic_id"):
    """A topic."""

    topic_id: uuid
    """The id of the topic (KIP-516)."""
    topic_name: string
    """The name at the time of the record."""
