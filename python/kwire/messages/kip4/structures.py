"""Structs that several messages of the KIP-4 drafts share."""

from __future__ import annotations

from kwire.declare import Struct, array, int16, int32, string


class Broker(Struct, key="node_id"):
    """A live broker and its address."""

    node_id: int32
    """The broker id (`broker.id`), unique in the cluster."""
    host: string
    """The advertised host name or address, resolved by the client."""
    port: int32
    """The advertised TCP port."""


class ConfigEntry(Struct, key="config_key"):
    """A config of a topic. The oldest draft has the text `key=value` instead."""

    config_key: string
    """The config key, for example `retention.ms`."""
    config_value: string
    """The value as text, whatever the type of the config."""


class PartitionReplicas(Struct):
    """The replicas of a partition."""

    partition_id: int32
    """The index of the partition within its topic, starting at 0."""
    replica_ids: array[int32]
    """The broker ids of the replicas, the preferred leader first."""


class TopicResult(Struct, key="topic_name"):
    """The result for one topic of a batch.

    A response has one result for each distinct topic, in the order of first occurrence in the request.
    """

    topic_name: string
    """The name of the topic, repeated from the request."""
    error_code: int16
    """An `ErrorCode`; 0 if the work has started. The response does not wait for its end."""


class ReplicationResult(Struct, key="topic"):
    """The result for one topic of a replication command; like `TopicResult`, with the names of its own draft."""

    topic: string
    """The name of the topic, as in the request; empty in the single entry of a failed request for all topics."""
    error_code: int16
    """An `ErrorCode`; 0 if the work has started. The response does not wait for its end."""


class TopicReassignment(Struct):
    """The new replicas of a topic."""

    topic: string
    """The name of the topic; error 3 if it does not exist."""
    partitions: array[PartitionReplicas]
    """The partitions to move, each with all of its new replicas. Other partitions stay unchanged."""
