"""TopicMetadata version 0: what Kafka 0.8 calls Metadata, under the names it had then.

Version 1 of the batched draft has a layout of its own: ``topic_metadata_v1``.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, string
from kwire.messages.kip4.structures import Broker


class TopicMetadataRequest(Request["TopicMetadataResponse"], api_key=3, versions="0", dialect="kip4"):
    """Asks any broker about topics.

    A topic that is named and does not exist is created, where the broker has ``auto.create.topics.enable``.
    """

    topic_names: array[string]
    """The topics to tell about; empty means all."""


class TopicMetadataResponse(Message, api_key=3, versions="0", dialect="kip4"):
    """Brokers and topics."""

    brokers: array[Broker]
    """The brokers alive now, in no particular order."""
    topics: array[TopicMetadata]
    """One entry for each that the request named, or all that exist; unknown ones carry their error."""


class TopicMetadata(Struct, key="topic_name"):
    """One topic."""

    topic_error_code: int16
    """0, or what is wrong with this topic: ``ErrorCode``."""
    topic_name: string
    """Which topic it is, also when there is an error."""
    partitions: array[PartitionMetadata]
    """Its partitions; empty when there is an error."""


class PartitionMetadata(Struct, key="partition_id"):
    """One partition as the answering broker knows it."""

    partition_error_code: int16
    """0, or what is wrong with this partition: ``ErrorCode``."""
    partition_id: int32
    """Number of the partition within its topic, from 0."""
    leader: int32
    """Id of the broker that leads it; -1 while it has no leader."""
    replicas: array[int32]
    """Ids of the brokers that hold it, the preferred leader first."""
    isr: array[int32]
    """Those of the replicas that are in sync with the leader."""
