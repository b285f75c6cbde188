"""AlterTopic version 2, for several topics (batched draft of KIP-4)."""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int32, string
from kwire.messages.kip4.structures import ConfigEntry, PartitionReplicas, TopicResult


class AlterTopicRequest_V2(Request["AlterTopicResponse_V2"], api_key=14, versions="2", dialect="kip4"):
    """Changes topics."""

    topics: array[TopicAlteration]
    """The changes. If several name one topic, the last one wins; with `admin.batch.strict=true`, the topic fails with
    error 1012 instead."""


class TopicAlteration(Struct):
    """The changes of one topic: configs, and one of three ways to change partitions and replicas.

    The assignment takes precedence over the replication factor, which takes precedence over the number of partitions.
    With `admin.batch.strict=true`, only one of the five fields may be set.
    """

    topic_name: string
    """The name of the topic to change; error 3 if it does not exist."""
    partitions: int32 = -1
    """The new number of partitions; -1 if not set. Fewer than now is error 1003; as many as now has no effect."""
    replication_factor: int32 = -1
    """The new number of replicas, for which the controller reassigns all partitions; -1 if not set."""
    replica_assignment: array[PartitionReplicas] = ()
    """Existing partitions to move and new partitions to add; empty if not set. The ids of new partitions follow the
    existing ones."""
    added_config_entries: array[ConfigEntry] = ()
    """The configs to set."""
    deleted_configs: array[string] = ()
    """The keys of the configs to reset to their defaults."""


class AlterTopicResponse_V2(Message, api_key=14, versions="2", dialect="kip4"):
    """The result for each topic.

    A reassignment has completed once the replicas equal the target and are in the ISR.
    """

    topics: array[TopicResult]
    """The result for each distinct topic of the request."""
