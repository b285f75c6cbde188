"""DescribeTopic: partitions, replicas, and configs of a topic (version 0 of KAFKA-1694, version 1 of KIP-4).

Later drafts dropped it: TopicMetadata_V1 returns the same. The drafts do not define an API key; kwire uses 1001.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, maybe, string
from kwire.messages.kip4.structures import ConfigEntry


class DescribeTopicRequest(Request["DescribeTopicResponse"], api_key=1001, versions="0-1", dialect="kip4"):
    """Describes a topic."""

    topic_name: string
    """The name of the topic, not a pattern."""


class DescribeTopicResponse(Message, api_key=1001, versions="0-1", dialect="kip4"):
    """The described topic."""

    error_code: int16
    """0; 22 if the broker is not the controller; 21 for every other error."""
    error_description: maybe[string] = None
    """The error message; None on success."""
    topic_description: maybe[TopicDescription] = None
    """The described topic; None on error."""


class TopicDescription(Struct):
    """A topic with configs and partitions."""

    topic_name: string
    """The name of the topic, repeated from the request."""
    topic_config_details: TopicConfigDetails
    """The partition count, replication factor, and configs of the topic."""
    topic_partition_details: array[TopicPartitionDetails]
    """The partitions with their leaders and replicas."""


class TopicConfigDetails(Struct):
    """The counts and the configs of a topic."""

    partitions: int32
    """Number of partitions that the topic has."""
    replication_factor: int32
    """The number of replicas of each partition."""
    configs: array[string] = field(until=0, default=())
    """The configs that override defaults, each as `key=value`; the draft leaves their form open."""
    config_entries: array[ConfigEntry] = field(since=1, default=())
    """The configs that override defaults. Replaces `configs`."""


class TopicPartitionDetails(Struct, key="partition_id"):
    """A partition as the controller knows it."""

    partition_id: int32
    """The index of the partition within its topic, starting at 0."""
    leader: maybe[int32] = None
    """The broker id of the leader; None if there is no leader."""
    replicas: array[int32]
    """The broker ids of the replicas, the preferred leader first."""
    isr: array[int32]
    """The broker ids of the in-sync replicas."""
