"""ConsumerProtocolAssignment: the partitions of a consumer in a classic group.

It is the assignment of SyncGroup in groups with protocol type `consumer`, preceded by its version as an int16. The
versions are those of ConsumerProtocolSubscription and do not differ.
"""

from __future__ import annotations

from kwire.declare import Message, Struct, array, int32, nullable, string


class ConsumerProtocolAssignment(Message, versions="0-3"):
    """The assignment of a member."""

    assigned_partitions: array[TopicPartition]
    """The partitions that the member reads, by topic."""
    user_data: nullable[bytes] = None
    """Any data of the assignor for the member; None if there is none."""


class TopicPartition(Struct, key="topic"):
    """Partitions of a topic."""

    topic: string
    """The name of the topic that the partitions belong to."""
    partitions: array[int32]
    """The partition indexes within the topic."""
