"""ShareGroupHeartbeat (key 76): membership and assignment in share groups (KIP-932, Kafka 4.0).

The members of a share group can read the same partitions; each record is acquired by one member at a time. The
coordinator of the group computes the assignment.

Versions:
    0  early access, removed in Kafka 4.1
    1  first stable version
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, nullable, string, uuid


class ShareGroupHeartbeatRequest(Request["ShareGroupHeartbeatResponse"], api_key=76, versions="0-1", flexible="0+"):
    """Joins, reports the state of a member, or leaves."""

    group_id: string
    """The share group that the member belongs to."""
    member_id: string
    """The member id, a random uuid that the consumer keeps for its lifetime."""
    member_epoch: int32
    """The epoch that the member has reached; 0 to join, -1 to leave."""
    rack_id: nullable[string] = None
    """The rack of the consumer (`client.rack`); None if not configured or unchanged."""
    subscribed_topic_names: nullable[array[string]] = None
    """The topics subscribed to by name; None if unchanged."""


class ShareGroupHeartbeatResponse(Message, api_key=76, versions="0-1", flexible="0+"):
    """The epoch and, if it has changed, the assignment of the member."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 14, 15, or 16 find the coordinator again; 25 unknown member; 29 or 30 not authorized; 42 invalid request; 69
    group not found; 81 group full."""
    error_message: nullable[string] = None
    """The error message; None on success."""
    member_id: nullable[string] = None
    """The member id, as chosen by the consumer in its request."""
    member_epoch: int32
    """The new epoch of the member; -1 after it left."""
    heartbeat_interval_ms: int32
    """The time in milliseconds until the next heartbeat (`group.share.heartbeat.interval.ms`)."""
    assignment: nullable[Assignment] = None
    """The partitions for the member; None if they have not changed."""


class Assignment(Struct):
    """A set of partitions."""

    topic_partitions: array[TopicPartitions]
    """The assigned partitions by topic, which other members can have, too."""


class TopicPartitions(Struct):
    """Partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[int32]
    """The partition indexes within the topic."""
