"""DescribeTopic: partitions, replicas and settings of one topic (KAFKA-1694 as version 0, KIP-4 as version 1).

Later drafts dropped it: TopicMetadata_V1 tells the same. The drafts name no key, 1001 is decision D3.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, maybe, string
from kwire.messages.kip4.structures import ConfigEntry


class DescribeTopicRequest(Request["DescribeTopicResponse"], api_key=1001, versions="0-1", dialect="kip4"):
    """Asks the controller about one topic."""

    topic_name: string
    """The topic to describe, in full: there are no patterns."""


class DescribeTopicResponse(Message, api_key=1001, versions="0-1", dialect="kip4"):
    """A topic, or why it cannot be described."""

    error_code: int16
    """0, 22 from a broker that is not the controller, or 21 for all else that went wrong."""
    error_description: maybe[string] = None
    """Why, for a person; None on success."""
    topic_description: maybe[TopicDescription] = None
    """The topic; None on error."""


class TopicDescription(Struct):
    """A topic in full."""

    topic_name: string
    """As the request spelled it."""
    topic_config_details: TopicConfigDetails
    """Its size and its own settings."""
    topic_partition_details: array[TopicPartitionDetails]
    """One entry each, with the brokers that lead and hold it."""


class TopicConfigDetails(Struct):
    """The size of a topic and where it departs from the defaults."""

    partitions: int32
    """How many partitions it has."""
    replication_factor: int32
    """How many replicas each partition has."""
    configs: array[string] = field(until=0, default=())
    """Settings that the topic overrides, each as ``key=value``: the draft leaves their form open (decision D17)."""
    config_entries: array[ConfigEntry] = field(since=1, default=())
    """Settings that the topic overrides. It took the place of ``configs``."""


class TopicPartitionDetails(Struct, key="partition_id"):
    """One partition as the controller knows it."""

    partition_id: int32
    """Number of the partition within its topic, from 0."""
    leader: maybe[int32] = None
    """Id of the broker that leads it; None while it has no leader."""
    replicas: array[int32]
    """Ids of the brokers that hold it, the preferred leader first."""
    isr: array[int32]
    """Those of the replicas that are in sync with the leader."""
