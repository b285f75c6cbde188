"""OffsetCommit (key 8): commit the offsets of a group.

Versions:
     1  stored by the coordinator instead of ZooKeeper; member of the group
     2  retention time for the request instead of a timestamp for each offset
     3  throttle time
     4  throttled responses are sent at once, and the client must wait (KIP-219)
     5  no retention time: offsets are kept as long as the group is active (KIP-211, Kafka 2.1)
     6  leader epochs (KIP-320, Kafka 2.1)
     7  static members (KIP-345, Kafka 2.3)
     8  flexible (KIP-482)
     9  members of the consumer protocol (KIP-848)
    10  topic ids instead of names (KIP-848, Kafka 4.1)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string, uuid, zero


class OffsetCommitRequest(Request["OffsetCommitResponse"], api_key=8, versions="0-10", flexible="8+"):
    """Commits offsets. The coordinator of the group handles it."""

    group_id: string
    """The group that the committed offsets belong to."""
    generation_id_or_member_epoch: int32 = field(since=1, default=-1, ignorable=True)
    """The generation of the member in a classic group, or its epoch in the consumer protocol (version 9); -1 from
    clients outside the group, accepted while it has no members."""
    member_id: string = field(since=1, default="", ignorable=True)
    """The member that commits; empty from clients outside the group."""
    group_instance_id: nullable[string] = field(since=7, default=None)
    """The static member id, which survives a restart (KIP-345, Kafka 2.3); None for dynamic members."""
    retention_time_ms: int64 = field(since=2, until=4, default=-1, ignorable=True)
    """The time in milliseconds to keep the offsets; -1 for the default of the broker. Removed because offsets are kept
    as long as the group is active (KIP-211)."""
    topics: array[OffsetCommitRequestTopic]
    """The topics and partitions to commit offsets for."""


class OffsetCommitRequestTopic(Struct):
    """A topic to commit offsets for."""

    name: string = field(until=9, default="", ignorable=True)
    """The name of the topic, up to version 9."""
    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """The topic id, which prevents a commit to a later topic of the same name (KIP-848, Kafka 4.1)."""
    partitions: array[OffsetCommitRequestPartition]
    """The partitions to commit. Other partitions keep their offsets."""


class OffsetCommitRequestPartition(Struct):
    """An offset to commit."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    committed_offset: int64
    """The offset to continue with: one after the last processed record."""
    committed_leader_epoch: int32 = field(since=6, default=-1, ignorable=True)
    """The leader epoch of the last processed record, to detect log truncation (KIP-320, Kafka 2.1); -1 if unknown."""
    commit_timestamp: int64 = field(since=1, until=1, default=-1)
    """The time of the commit in milliseconds since 1970, where retention starts; -1 for the time of receipt."""
    committed_metadata: nullable[string]
    """Any metadata of the client, returned with the offset; at most `offset.metadata.max.bytes` long."""


class OffsetCommitResponse(Message, api_key=8, versions="0-10", flexible="8+"):
    """The result for each partition."""

    throttle_time_ms: int32 = field(since=3, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 4, the client
    must wait instead of the broker."""
    topics: array[OffsetCommitResponseTopic]
    """The results by topic. A failure of the whole request is repeated in each partition."""


class OffsetCommitResponseTopic(Struct):
    """The results for the partitions of a topic."""

    name: string = field(until=9, default="", ignorable=True)
    """The name of the topic, up to version 9."""
    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """The unique id of the topic, as in the request (KIP-848)."""
    partitions: array[OffsetCommitResponsePartition]
    """The result for each partition of the request."""


class OffsetCommitResponsePartition(Struct):
    """The result for one partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 12 metadata too large; 16 not the coordinator; 22 or 25 not a member; 27 rebalance in progress; 113 stale
    member epoch (version 9)."""
