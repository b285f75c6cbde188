"""CreateTopic version 2: many topics a message (the batched draft of KIP-4)."""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int32, string
from kwire.messages.kip4.structures import ConfigEntry, PartitionReplicas, TopicResult


class CreateTopicRequest_V2(Request["CreateTopicResponse_V2"], api_key=13, versions="2", dialect="kip4"):
    """Asks the controller for new topics."""

    topics: array[TopicCreation]
    """What to create. Of several that name one topic the last counts, silently.

    Under ``admin.batch.strict=true`` such a topic is answered with 1012 instead (decision D9).
    """


class TopicCreation(Struct):
    """A topic to be created: by numbers, or by a full assignment; with both the assignment wins.

    A name alone, from a client whose id is ``consumer``, takes both numbers from the cluster's defaults (decision
    D10). From anybody else it is 1002 when there are neither partitions nor an assignment, and 1004 when there are
    partitions and no factor (decision D15).
    """

    topic_name: string
    """1 to 249 of the characters ``a-zA-Z0-9._-``, not ``.`` or ``..``; ``.`` and ``_`` count as one."""
    partitions: int32 = -1
    """How many partitions; -1 when not set."""
    replication_factor: int32 = -1
    """How many copies of each partition; -1 when not set. The draft also calls it Replicas."""
    replica_assignment: array[PartitionReplicas] = ()
    """Which brokers hold which partition; empty when not set: the controller chooses."""
    config_entries: array[ConfigEntry] = ()
    """Settings of the topic; empty means the defaults."""


class CreateTopicResponse_V2(Message, api_key=13, versions="2", dialect="kip4"):
    """Which topics are being created. They are there once every broker's metadata has them, with leaders."""

    topics: array[TopicResult]
    """One result a distinct topic of the request."""
