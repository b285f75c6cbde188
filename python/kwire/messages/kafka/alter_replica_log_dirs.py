"""AlterReplicaLogDirs (key 34): moves replicas between the disks of one broker (KIP-113, Kafka 1.1).

Only starts the moves: DescribeLogDirs shows the growing copy until it takes the old one's place.

Versions:
    1  throttled clients are answered first, and have to wait by themselves (KIP-219)
    2  flexible
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, string


class AlterReplicaLogDirsRequest(Request["AlterReplicaLogDirsResponse"], api_key=34, versions="0-2", flexible="2+"):
    """Tells the broker that is asked where to keep some of its own replicas."""

    dirs: array[AlterReplicaLogDir]
    """The directories to move to, each at most once."""


class AlterReplicaLogDir(Struct):
    """One directory and what shall live there."""

    path: string
    """The directory, absolute and spelled as in the broker's ``log.dirs``; any other is error 57."""
    topics: array[AlterReplicaLogDirTopic]
    """The topics of which partitions shall live there."""


class AlterReplicaLogDirTopic(Struct):
    """The replicas of one topic that shall move."""

    name: string
    """The topic to which the partitions belong."""
    partitions: array[int32]
    """The numbers of the partitions. One the broker does not hold yet will be made in that directory later on."""


class AlterReplicaLogDirsResponse(Message, api_key=34, versions="0-2", flexible="2+"):
    """Which moves were started."""

    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 1 the client itself has to wait."""
    results: array[AlterReplicaLogDirTopicResult]
    """One entry a topic, over all directories of the request."""


class AlterReplicaLogDirTopicResult(Struct):
    """What became of the replicas of one topic."""

    topic_name: string
    """The topic to which the partitions belong."""
    partitions: array[AlterReplicaLogDirPartitionResult]
    """One entry a partition of the request."""


class AlterReplicaLogDirPartitionResult(Struct):
    """Whether one replica is on its way."""

    partition_index: int32
    """The number of the partition within its topic."""
    error_code: int16
    """0, 9 no such replica here yet (the wish is noted), 31 not permitted, 56 disk failed, 57 no such directory."""
