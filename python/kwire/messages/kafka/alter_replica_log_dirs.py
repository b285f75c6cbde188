"""AlterReplicaLogDirs (key 34): move replicas between the log directories of a broker (KIP-113, Kafka 1.1).

The response does not wait for the data to move. DescribeLogDirs shows the future replica until it replaces the current
one.

Versions:
    1  throttled responses are sent at once, and the client must wait (KIP-219)
    2  flexible
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, string


class AlterReplicaLogDirsRequest(Request["AlterReplicaLogDirsResponse"], api_key=34, versions="0-2", flexible="2+"):
    """Moves replicas of the receiving broker to other log directories."""

    dirs: array[AlterReplicaLogDir]
    """The target directories, each at most once."""


class AlterReplicaLogDir(Struct):
    """A target directory and the replicas to move there."""

    path: string
    """The absolute path, spelled as in `log.dirs` of the broker; error 57 for any other path."""
    topics: array[AlterReplicaLogDirTopic]
    """The topics with partitions to move."""


class AlterReplicaLogDirTopic(Struct):
    """A topic with replicas to move."""

    name: string
    """The name of the topic that the partitions belong to."""
    partitions: array[int32]
    """The partition indexes. A partition without a replica on the broker is created in this directory later."""


class AlterReplicaLogDirsResponse(Message, api_key=34, versions="0-2", flexible="2+"):
    """The result for each replica."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    results: array[AlterReplicaLogDirTopicResult]
    """The result for each topic, across all directories of the request."""


class AlterReplicaLogDirTopicResult(Struct):
    """The results for the replicas of a topic."""

    topic_name: string
    """The name of the topic that the partitions belong to."""
    partitions: array[AlterReplicaLogDirPartitionResult]
    """The result for each partition of the request."""


class AlterReplicaLogDirPartitionResult(Struct):
    """The result for one replica."""

    partition_index: int32
    """The index of the partition within its topic."""
    error_code: int16
    """0; 9 no replica on the broker yet (the broker stores the directory); 31 not authorized; 56 disk error; 57 unknown
    directory."""
