"""AlterTopic version 2: many topics a message (the batched draft of KIP-4)."""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int32, string
from kwire.messages.kip4.structures import ConfigEntry, PartitionReplicas, TopicResult


class AlterTopicRequest_V2(Request["AlterTopicResponse_V2"], api_key=14, versions="2", dialect="kip4"):
    """Asks the controller to change topics."""

    topics: array[TopicAlteration]
    """What to change. Of several that name one topic the last counts, silently.

    Under ``admin.batch.strict=true`` such a topic is answered with 1012 instead (decision D9).
    """


class TopicAlteration(Struct):
    """What shall change about one topic: settings first, then one of three ways to say where replicas stand.

    The assignment counts before the replication factor, and that before the number of partitions. Strict batches
    (``admin.batch.strict=true``) allow only one of the five (decision D9).
    """

    topic_name: string
    """The topic to change; one that does not exist is error 3."""
    partitions: int32 = -1
    """Number of partitions wanted; -1 when not set.

    Fewer than now is 1003 (decision D25), as many as now is a success with nothing to do (decision D12).
    """
    replication_factor: int32 = -1
    """Number of replicas wanted: the controller assigns all partitions anew; -1 when not set."""
    replica_assignment: array[PartitionReplicas] = ()
    """Existing partitions to move and new ones to add, which may be mixed (decision D11); empty when not set.

    The ids of new partitions go on where the existing ones end.
    """
    added_config_entries: array[ConfigEntry] = ()
    """Settings to set or overwrite."""
    deleted_configs: array[string] = ()
    """Keys of the settings that return to their defaults."""


class AlterTopicResponse_V2(Message, api_key=14, versions="2", dialect="kip4"):
    """Which changes were started. Moves have ended once replicas equal the target and the ISR contains it."""

    topics: array[TopicResult]
    """One result a distinct topic of the request."""
