"""OffsetFetch (key 9): the committed offsets of groups.

Versions:
     1  stored by the coordinator instead of ZooKeeper
     2  null requests all topics; top-level error code (KIP-88, Kafka 0.10.2)
     3  throttle time
     4  throttled responses are sent at once, and the client must wait (KIP-219)
     5  leader epochs (KIP-320, Kafka 2.1)
     6  flexible (KIP-482)
     7  stable offsets only, on request (KIP-447, Kafka 2.5)
     8  several groups in one request (KIP-709, Kafka 3.0)
     9  members of the consumer protocol (KIP-848)
    10  topic ids instead of names (KIP-848, Kafka 4.1)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string, uuid, zero


class OffsetFetchRequest(Request["OffsetFetchResponse"], api_key=9, versions="0-10", flexible="6+"):
    """Requests committed offsets. The coordinator of the groups responds."""

    group_id: string = field(until=7, default="")
    """The single group that offsets are fetched for, up to version 7."""
    topics: nullable[array[OffsetFetchRequestTopic]] = field(until=7, nullable_since=2, default=())
    """The topics to fetch; None for all topics with offsets (KIP-88, Kafka 0.10.2)."""
    groups: array[OffsetFetchRequestGroup] = field(since=8, default=())
    """The groups to fetch, all of the same coordinator."""
    require_stable: bool = field(since=7, default=False)
    """True to return error 88 instead of an offset that an open transaction can change (KIP-447, Kafka 2.5)."""


class OffsetFetchRequestTopic(Struct):
    """A topic to fetch offsets for."""

    name: string
    """The name of the topic that the partitions belong to."""
    partition_indexes: array[int32]
    """The partition indexes; a partition without a committed offset is returned with offset -1."""


class OffsetFetchRequestGroup(Struct):
    """A group to fetch offsets of."""

    group_id: string
    """The group that offsets are fetched for."""
    member_id: nullable[string] = field(since=9, default=None, ignorable=True)
    """The member that fetches, in the consumer protocol; None from clients outside the group."""
    member_epoch: int32 = field(since=9, default=-1, ignorable=True)
    """The epoch of the member, which detects a fenced member; -1 from clients outside the group."""
    topics: nullable[array[OffsetFetchRequestTopics]]
    """The topics to fetch; None for all topics with offsets."""


class OffsetFetchRequestTopics(Struct):
    """A topic to fetch offsets for."""

    name: string = field(until=9, default="", ignorable=True)
    """The name of the topic, up to version 9."""
    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """The topic id, which excludes offsets of an earlier topic of the same name (KIP-848, Kafka 4.1)."""
    partition_indexes: array[int32]
    """The partition indexes; a partition without a committed offset is returned with offset -1."""


class OffsetFetchResponse(Message, api_key=9, versions="0-10", flexible="6+"):
    """The committed offsets."""

    throttle_time_ms: int32 = field(since=3, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 4, the client
    must wait instead of the broker."""
    topics: array[OffsetFetchResponseTopic] = field(until=7, default=())
    """The offsets of the single group, by topic."""
    error_code: int16 = field(since=2, until=7, default=0, ignorable=True)
    """The error of the whole request; versions 0 and 1 repeat it in each partition instead (KIP-88)."""
    groups: array[OffsetFetchResponseGroup] = field(since=8, default=())
    """The offsets of each group, with its own error."""


class OffsetFetchResponseTopic(Struct, key="name"):
    """The committed offsets of a topic."""

    name: string
    """The name of the topic that the partitions belong to."""
    partitions: array[OffsetFetchResponsePartition]
    """The requested partitions, or all partitions with a committed offset."""


class OffsetFetchResponsePartition(Struct, key="partition_index"):
    """The committed offset of a partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    committed_offset: int64
    """The offset to continue with; -1 if there is no committed offset."""
    committed_leader_epoch: int32 = field(since=5, default=-1, ignorable=True)
    """The leader epoch of the last processed record, to detect log truncation (KIP-320, Kafka 2.1); -1 if unknown."""
    metadata: nullable[string]
    """The metadata that the client committed; empty if there is none."""
    error_code: int16
    """0; 29 not authorized for the topic; 88 an open transaction can change the offset (version 7)."""


class OffsetFetchResponseGroup(Struct, key="group_id"):
    """The committed offsets of a group."""

    group_id: string
    """The id of the group, repeated from the request."""
    topics: array[OffsetFetchResponseTopics]
    """The offsets by topic; empty on error or if the group has no offsets."""
    error_code: int16
    """0; 14 the coordinator is loading, retry; 16 not the coordinator; 30 not authorized; 25 or 113 unknown member or
    stale epoch (version 9)."""


class OffsetFetchResponseTopics(Struct, key="name"):
    """The committed offsets of a topic."""

    name: string = field(until=9, default="", ignorable=True)
    """The name of the topic, up to version 9."""
    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """The unique id of the topic (KIP-848)."""
    partitions: array[OffsetFetchResponsePartitions]
    """The requested partitions, or all partitions with a committed offset."""


class OffsetFetchResponsePartitions(Struct, key="partition_index"):
    """The committed offset of a partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    committed_offset: int64
    """The offset to continue with; -1 if there is no committed offset."""
    committed_leader_epoch: int32 = field(default=-1, ignorable=True)
    """The leader epoch of the last processed record, to detect log truncation (KIP-320, Kafka 2.1); -1 if unknown."""
    metadata: nullable[string]
    """The metadata that the client committed; empty if there is none."""
    error_code: int16
    """0; 29 not authorized for the topic; 88 an open transaction can change the offset (version 7)."""
