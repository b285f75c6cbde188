"""SubscriptionInfoData: the state of a Kafka Streams client in JoinGroup.

It is the `user_data` of the ConsumerProtocolSubscription of a member with the assignor `stream`. Its first field is its
version: `decode_versioned` reads it (SubscriptionInfo in Kafka).

Versions:
    2       the endpoint of interactive queries (KIP-67)
    3       the newest version of the client, for upgrades (KIP-268)
    4 to 6  no change; the assignments differ
    7       offsets instead of sets of tasks (KIP-441)
    8       a field that makes the subscription of a member unique
    9       an error of the client (KIP-671)
    10      named topologies
    11      tags of the client (KIP-708)

A leader that does not know a version reads only `version` and `latest_supported_version`.
"""

from __future__ import annotations

from kwire.declare import Message, Struct, array, field, int8, int32, int64, nullable, string, uuid


class SubscriptionInfoData(Message, versions="1-11"):
    """The subscription of a client."""

    version: int32
    """The version of this message, 1 to 11."""
    latest_supported_version: int32 = field(since=3, default=-1)
    """The newest version that the client reads."""
    process_id: uuid
    """The id of the client, which its threads share."""
    prev_tasks: array[TaskId] = field(until=6, default=())
    """The tasks that ran on the client before."""
    standby_tasks: array[TaskId] = field(until=6, default=())
    """The other tasks with state on the client."""
    user_end_point: bytes = field(since=2, default=b"")
    """`application.server` as `host:port`, for interactive queries; empty if not set."""
    task_offset_sums: array[TaskOffsetSum] = field(since=7, default=())
    """The tasks with state on the client."""
    unique_field: int8 = field(since=8, default=0)
    """A number that the client changes, because brokers ignore subscriptions that are the same as before."""
    error_code: int32 = field(since=9, default=0)
    """The error that the client reports to the leader (AssignorError in Kafka); 0 for none, 2 if it shuts down all."""
    client_tags: array[ClientTag] = field(since=11, default=())
    """The tags `client.tag.*` of the client, in UTF-8. Standby tasks are spread over their values."""


class TaskId(Struct):
    """A task in versions 1 to 6."""

    topic_group_id: int32
    """Number of the subtopology, as in the description of the topology."""
    partition: int32
    """Number of the task in its subtopology: the partition of its inputs."""


class TaskOffsetSum(Struct):
    """A task with state: a task in versions 10 and 11, the tasks of a subtopology before."""

    topic_group_id: int32
    """Number of the subtopology, as in the description of the topology."""
    partition: int32 = field(since=10, default=0)
    """Number of the task in its subtopology: the partition of its inputs."""
    offset_sum: int64 = field(since=10, default=0)
    """The sum of the offsets of its changelogs; -2 if the task is running, -3 if the sum is not known."""
    named_topology: nullable[string] = field(since=10, default="")
    """The name of the topology of the task, or None."""
    partition_to_offset_sum: array[PartitionToOffsetSum] = field(since=7, until=9, default=())
    """The tasks with state on the client, all of this subtopology."""


class PartitionToOffsetSum(Struct):
    """A task with state in versions 7 to 9."""

    partition: int32
    """Number of the task in its subtopology: the partition of its inputs."""
    offset_sum: int64
    """The sum of the offsets of its changelogs; -2 if the task is running, -3 if the sum is not known."""


class ClientTag(Struct):
    """A tag of a client."""

    key: bytes
    """The part of the config `client.tag.NAME` after the last dot, in UTF-8."""
    value: bytes
    """The config of the client, such as its zone, in UTF-8."""
