"""AssignReplicasToDirs (key 73): report which log directories store which replicas (KIP-858, Kafka 3.7).

A broker sends it to the KRaft controller. After the failure of a directory, the controller moves the leaders of the
replicas in it.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, int64, uuid


class AssignReplicasToDirsRequest(Request["AssignReplicasToDirsResponse"], api_key=73, versions="0", flexible="0+"):
    """Reports the directories of replicas."""

    broker_id: int32
    """The broker id (`node.id`) of the sender."""
    broker_epoch: int64 = -1
    """The epoch from its registration; error 77 if it has registered again since. -1 if unknown."""
    directories: array[DirectoryData]
    """The replicas by log directory."""


class DirectoryData(Struct):
    """The replicas in a log directory."""

    id: uuid
    """The random id of the log directory, as in its `meta.properties`."""
    topics: array[TopicData]
    """The replicas that the directory stores, by topic."""


class TopicData(Struct):
    """The replicas of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[PartitionData]
    """The partitions with a replica in the directory."""


class PartitionData(Struct):
    """A partition with a replica in the directory."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""


class AssignReplicasToDirsResponse(Message, api_key=73, versions="0", flexible="0+"):
    """The result for each replica."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """The error of the whole request: 31 not authorized; 41 not the controller; 77 stale broker epoch; 0 otherwise."""
    directories: array[DirectoryDataResponse]
    """The results by log directory."""


class DirectoryDataResponse(Struct):
    """The results for a log directory."""

    id: uuid
    """The id of the log directory, as in the request."""
    topics: array[TopicDataResponse]
    """The results for its replicas, by topic."""


class TopicDataResponse(Struct):
    """The results for the replicas of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[PartitionDataResponse]
    """The result for each replica."""


class PartitionDataResponse(Struct):
    """The result for one replica."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 3 or 100 unknown partition; 6 the broker has no replica of the partition."""
