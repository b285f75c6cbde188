"""TopicMetadata version 0: Metadata of Kafka 0.8, with the names of that time.

Version 1 of the batched draft has its own layout: `topic_metadata_v1`.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, string
from kwire.messages.kip4.structures import Broker


class TopicMetadataRequest(Request["TopicMetadataResponse"], api_key=3, versions="0", dialect="kip4"):
    """Requests topics from any broker.

    An unknown topic that is named is created if the broker has `auto.create.topics.enable`.
    """

    topic_names: array[string]
    """The topics to describe; empty for all."""


class TopicMetadataResponse(Message, api_key=3, versions="0", dialect="kip4"):
    """The brokers and the topics."""

    brokers: array[Broker]
    """The live brokers, in no particular order."""
    topics: array[TopicMetadata]
    """The requested topics, or all topics, each with its own error."""


class TopicMetadata(Struct, key="topic_name"):
    """A topic."""

    topic_error_code: int16
    """An `ErrorCode`; 0 on success."""
    topic_name: string
    """The name of the topic, also set on error."""
    partitions: array[PartitionMetadata]
    """The partitions of the topic; empty on error."""


class PartitionMetadata(Struct, key="partition_id"):
    """A partition as the responding broker knows it."""

    partition_error_code: int16
    """An `ErrorCode`; 0 on success."""
    partition_id: int32
    """The index of the partition within its topic, starting at 0."""
    leader: int32
    """The broker id of the leader; -1 if there is no leader."""
    replicas: array[int32]
    """The broker ids of the replicas, the preferred leader first."""
    isr: array[int32]
    """The broker ids of the in-sync replicas."""
