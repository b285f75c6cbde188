"""Structures that several messages of the KIP-4 drafts have in common."""

from __future__ import annotations

from kwire.declare import Struct, array, int16, int32, string


class Broker(Struct, key="node_id"):
    """A live broker and where clients reach it."""

    node_id: int32
    """What its settings call ``broker.id``; unique in the cluster."""
    host: string
    """Name or address, as the broker advertises it; resolving it is left to the client."""
    port: int32
    """TCP port on that host."""


class ConfigEntry(Struct, key="config_key"):
    """One setting of a topic. The newer drafts carry the pair where the oldest had the text ``key=value``."""

    config_key: string
    """Which setting, such as ``retention.ms``."""
    config_value: string
    """Its value as text, whatever the type of the setting."""


class PartitionReplicas(Struct):
    """The brokers that hold, or shall hold, one partition."""

    partition_id: int32
    """Number of the partition within its topic, from 0."""
    replica_ids: array[int32]
    """Ids of the brokers, the preferred leader first."""


class TopicResult(Struct, key="topic_name"):
    """What became of one topic of a batch.

    An answer is a map: it has one of these a distinct topic, in the order in which the request first named them.
    """

    topic_name: string
    """The topic, as the request named it."""
    error_code: int16
    """0 when the work was started (nothing waits for its end), else why it was not: ``ErrorCode``."""


class ReplicationResult(Struct, key="topic"):
    """What became of one topic of a replication command; as ``TopicResult``, under the names of its own draft."""

    topic: string
    """The topic, as the request named it; empty where the one entry speaks for a request about all topics."""
    error_code: int16
    """0 when the work was started (nothing waits for its end), else why it was not: ``ErrorCode``."""


class TopicReassignment(Struct):
    """Where the replicas of one topic shall stand."""

    topic: string
    """The topic whose replicas move; one that does not exist is error 3."""
    partitions: array[PartitionReplicas]
    """The partitions to move, with their whole target list each; partitions left out stay where they are."""
