"""ConsumerGroupHeartbeat (key 68): membership and assignment in groups of the consumer protocol (KIP-848, Kafka 3.7).

One request replaces JoinGroup, SyncGroup, Heartbeat, and LeaveGroup of the classic protocol. The coordinator computes
the assignment. Fields that have not changed since the last request can be left out.

Versions:
    1  subscriptions by regular expression (KIP-848, Kafka 4.0); consumers choose their member id (KIP-1082)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string, uuid


class ConsumerGroupHeartbeatRequest(
    Request["ConsumerGroupHeartbeatResponse"], api_key=68, versions="0-1", flexible="0+"
):
    """Joins, reports the state of a member, or leaves."""

    group_id: string
    """The group that the member belongs to."""
    member_id: string
    """The member id, a random uuid that the consumer keeps for its lifetime. In version 0, empty to let the coordinator
    choose one."""
    member_epoch: int32
    """The epoch that the member has reached; 0 to join, -1 to leave, -2 if a static member leaves to return later."""
    instance_id: nullable[string] = None
    """The static member id (`group.instance.id`, KIP-345); None for a dynamic member, or if unchanged."""
    rack_id: nullable[string] = None
    """The rack of the consumer (`client.rack`); None if not configured or unchanged."""
    rebalance_timeout_ms: int32 = -1
    """The time in milliseconds that the member has to revoke partitions (`max.poll.interval.ms`); -1 if unchanged."""
    subscribed_topic_names: nullable[array[string]] = None
    """The topics subscribed to by name; None if unchanged."""
    subscribed_topic_regex: nullable[string] = field(since=1, default=None)
    """The RE2 expression of the subscription, which the broker evaluates; None if unchanged, empty for no
    expression."""
    server_assignor: nullable[string] = None
    """The server-side assignor that the member prefers (`group.remote.assignor`), for example `uniform`; None for any,
    or if unchanged."""
    topic_partitions: nullable[array[TopicPartitions]] = None
    """The partitions that the member owns; None if unchanged."""


class TopicPartitions(Struct):
    """Partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[int32]
    """The partition indexes within the topic."""


class ConsumerGroupHeartbeatResponse(Message, api_key=68, versions="0-1", flexible="0+"):
    """The epoch and, if it has changed, the assignment of the member."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 14, 15, or 16 find the coordinator again; 25 unknown member; 42 invalid request; 69 group not found; 81 group
    full; 110 fenced epoch, join again; 111 static member id in use; 112 unknown assignor; 128 invalid expression."""
    error_message: nullable[string] = None
    """The error message; None on success."""
    member_id: nullable[string] = None
    """The member id; in version 0, the id that the coordinator chose for a new member."""
    member_epoch: int32
    """The new epoch of the member; -1 or -2 after it left."""
    heartbeat_interval_ms: int32
    """The time in milliseconds until the next heartbeat (`group.consumer.heartbeat.interval.ms`)."""
    assignment: nullable[Assignment] = None
    """The partitions for the member; None if they have not changed."""


class Assignment(Struct):
    """A set of partitions."""

    topic_partitions: array[TopicPartitions]
    """The partitions by topic that the member can use at once; others follow when their owners have revoked them."""
