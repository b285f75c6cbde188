"""The struct that the target assignments of groups share."""

from __future__ import annotations

from kwire.declare import Struct, array, int32, uuid


class TopicPartition(Struct, key="topic_id"):
    """Partitions of a topic."""

    topic_id: uuid
    """The id of the topic (KIP-516)."""
    partitions: array[int32]
    """The indexes within the topic, from 0."""
