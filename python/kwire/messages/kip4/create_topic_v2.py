"""CreateTopic version 2, for several topics (batched draft of KIP-4)."""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int32, string
from kwire.messages.kip4.structures import ConfigEntry, PartitionReplicas, TopicResult


class CreateTopicRequest_V2(Request["CreateTopicResponse_V2"], api_key=13, versions="2", dialect="kip4"):
    """Creates topics."""

    topics: array[TopicCreation]
    """The topics to create. If several have one name, the last one wins; with `admin.batch.strict=true`, the topic
    fails with error 1012 instead."""


class TopicCreation(Struct):
    """A topic to create, with given counts or a full assignment. With both, the assignment wins.

    With only a name, a client with the id `consumer` gets the default counts of the cluster. Other clients get error
    1002 without partitions and assignment, and error 1004 with partitions but without a replication factor.
    """

    topic_name: string
    """The name of the topic: 1 to 249 of the characters `a-zA-Z0-9._-`, except `.` and `..`. Names that differ only in
    `.` and `_` collide."""
    partitions: int32 = -1
    """The number of partitions; -1 if not set."""
    replication_factor: int32 = -1
    """The number of replicas of each partition; -1 if not set. The draft also calls it Replicas."""
    replica_assignment: array[PartitionReplicas] = ()
    """The replicas of each partition; empty to let the controller assign them."""
    config_entries: array[ConfigEntry] = ()
    """The configs of the topic; empty for the defaults."""


class CreateTopicResponse_V2(Message, api_key=13, versions="2", dialect="kip4"):
    """The result for each topic.

    A topic is ready once the metadata of every broker has it, with leaders.
    """

    topics: array[TopicResult]
    """The result for each distinct topic of the request."""
