"""ConsumerProtocolSubscription: what a consumer subscribes to in a classic group.

It is the metadata of JoinGroup in groups with protocol type `consumer`, preceded by its version as an int16. A reader
treats a newer version as the newest it knows, so new versions only append fields.

Versions:
    1  owned partitions, for cooperative rebalances (KIP-429, Kafka 2.4)
    2  generation of the owned partitions (KIP-792, Kafka 3.4)
    3  racks (KIP-881, Kafka 3.5)
"""

from __future__ import annotations

from kwire.declare import Message, Struct, array, field, int32, nullable, string


class ConsumerProtocolSubscription(Message, versions="0-3"):
    """The subscription of a member."""

    topics: array[string]
    """The names of the topics that the member subscribes to."""
    user_data: nullable[bytes] = None
    """Any data of the assignor, for example the previous assignment for `sticky`; None if there is none."""
    owned_partitions: array[TopicPartition] = field(since=1, default=(), ignorable=True)
    """The partitions that the member owned before the rebalance (KIP-429, Kafka 2.4)."""
    generation_id: int32 = field(since=2, default=-1, ignorable=True)
    """The generation in which the member owned them, to ignore outdated claims (KIP-792, Kafka 3.4); -1 if unknown."""
    rack_id: nullable[string] = field(since=3, default=None, ignorable=True)
    """The rack of the consumer (`client.rack`), for assignments within a rack (KIP-881, Kafka 3.5); None if not
    configured."""


class TopicPartition(Struct, key="topic"):
    """Partitions of a topic."""

    topic: string
    """The name of the topic that the partitions belong to."""
    partitions: array[int32]
    """The partition indexes within the topic."""
