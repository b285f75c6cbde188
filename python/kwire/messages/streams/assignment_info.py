"""AssignmentInfo: the tasks of a Kafka Streams client in SyncGroup.

It is the `user_data` of the ConsumerProtocolAssignment of a member with the assignor `stream`. Its first field is its
version: `decode_versioned` reads it. It has no schema: AssignmentInfo in Kafka writes it with Java's DataOutputStream.
So strings with null characters or characters beyond U+FFFF have other bytes than UTF-8, and are invalid here.

Versions:
    2     the partitions of all hosts, for interactive queries (KIP-67)
    3     the newest version that all clients read (KIP-268)
    4     an error of the leader
    5     names of topics as a dictionary
    6     the partitions of standby tasks by host (KIP-535)
    7     the time of the next rebalance (KIP-441)
    8, 9  no change; the subscriptions differ
    10    named topologies
    11    no change
"""

from __future__ import annotations

from kwire.declare import Message, Struct, array, field, int32, int64, string, uint16


class AssignmentInfo(Message, versions="1-11"):
    """The assignment of a client."""

    version: int32
    """The version of this message, 1 to 11."""
    commonly_supported_version: int32 = field(since=3, default=-1)
    """The newest version that all clients of the group read."""
    active_tasks: array[ActiveTask]
    """The tasks to run, in the order of the partitions in the ConsumerProtocolAssignment."""
    standby_tasks: array[StandbyTask]
    """The tasks with state to keep up to date."""
    topics: array[TopicIndex] = field(since=5, default=())
    """The dictionary of the topics of all hosts."""
    partitions_by_host: array[HostPartitions] = field(since=2, default=())
    """The partitions of active tasks by client; only clients with `application.server`."""
    standby_partitions_by_host: array[HostPartitions] = field(since=6, default=())
    """The partitions of standby tasks by client."""
    error_code: int32 = field(since=4, default=0)
    """The error of the leader (AssignorError in Kafka); 0 for none, 1 if a topic is missing, 2 to shut down."""
    next_rebalance_ms: int64 = field(since=7, default=(1 << 63) - 1)
    """Time of the next rebalance, in milliseconds since the epoch; 2^63 - 1 for none."""


class ActiveTask(Struct):
    """A task that the client runs (TaskId in Kafka)."""

    topic_group_id: int32
    """Number of the subtopology, as in the description of the topology."""
    partition: int32
    """Number of the task in its subtopology: the partition of its inputs."""
    named_topology: array[uint16] = field(since=10, default=())
    """The UTF-16 code units of the name of the topology; empty without a name."""


class StandbyTask(Struct):
    """A task that the client keeps up to date."""

    topic_group_id: int32
    """Number of the subtopology, as in the description of the topology."""
    partition: int32
    """Number of the task in its subtopology: the partition of its inputs."""
    named_topology: array[uint16] = field(since=10, default=())
    """The UTF-16 code units of the name of the topology; empty without a name."""
    partitions: array[ChangelogPartition]
    """The partitions of changelogs from which its state is read."""


class ChangelogPartition(Struct):
    """A partition of a changelog."""

    topic: string
    """Name of the topic, with the application id if Streams has created it."""
    partition: int32
    """Number of the partition in its topic."""


class TopicIndex(Struct, key="index"):
    """A topic of the dictionary."""

    index: int32
    """The number of the topic in `HostPartition`."""
    topic: string
    """Name of the topic, with the application id if Streams has created it."""


class HostPartitions(Struct):
    """The partitions of a client."""

    host: string
    """The host of `application.server`."""
    port: int32
    """The port of `application.server`."""
    partitions: array[HostPartition]
    """The partitions of the input topics and changelogs of its tasks."""


class HostPartition(Struct):
    """A partition of a client."""

    topic: string = field(until=4, default="")
    """The topic in versions 2 to 4."""
    topic_index: int32 = field(since=5, default=0)
    """The number of the topic in the dictionary."""
    partition: int32
    """Number of the partition in its topic."""
