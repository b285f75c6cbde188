"""JoinGroup (key 11): join a classic group, or take part in its next rebalance.

The coordinator delays its responses until all members have joined or the rebalance timeout has passed. The member that
is the leader computes the assignment and distributes it with SyncGroup.

Versions:
    1  rebalance timeout separate from the session timeout (KIP-62, Kafka 0.10.1)
    2  throttle time
    3  throttled clients are answered at once and must wait themselves (KIP-219)
    4  new members first receive a member id with error 79 and join again with it (KIP-394, Kafka 2.2)
    5  static members (KIP-345, Kafka 2.3)
    6  flexible (KIP-482)
    7  protocol type in the response (KIP-559, Kafka 2.5)
    8  reason for joining (KIP-800, Kafka 3.2)
    9  the leader can be asked to keep the assignment (KIP-814, Kafka 3.2)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string


class JoinGroupRequest(Request["JoinGroupResponse"], api_key=11, versions="0-9", flexible="6+"):
    """Joins a group with the protocols that the member supports."""

    group_id: string
    """The group to join; created if it does not exist."""
    session_timeout_ms: int32
    """The time in milliseconds without heartbeats after which the member is removed (`session.timeout.ms`); error 26 if
    outside the range that the broker allows."""
    rebalance_timeout_ms: int32 = field(since=1, default=-1, ignorable=True)
    """The time in milliseconds that the coordinator waits for members to join again in a rebalance
    (`max.poll.interval.ms` of consumers); -1 for the session timeout."""
    member_id: string
    """The member id from an earlier response; empty for a new member."""
    group_instance_id: nullable[string] = field(since=5, default=None)
    """The static member id (`group.instance.id`, KIP-345), which survives a restart; None for dynamic members."""
    protocol_type: string
    """The kind of group, for example `consumer` or `connect`; error 23 if the group has another one."""
    protocols: array[JoinGroupRequestProtocol]
    """The protocols of the member in order of preference. The coordinator selects one that all members support."""
    reason: nullable[string] = field(since=8, default=None, ignorable=True)
    """Reason why the member joins, for the log of the broker (KIP-800, Kafka 3.2); None if unknown."""


class JoinGroupRequestProtocol(Struct, key="name"):
    """A protocol, which is an assignment strategy in groups of consumers."""

    name: string
    """The name of the protocol, for example `range` or `cooperative-sticky`."""
    metadata: bytes
    """The data of the member for this protocol. In consumer groups: an int16 version and
    ConsumerProtocolSubscription."""


class JoinGroupResponse(Message, api_key=11, versions="0-9", flexible="6+"):
    """The new generation of the group."""

    throttle_time_ms: int32 = field(since=2, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 3, the client
    must wait instead of the broker."""
    error_code: int16
    """0; 15 or 16 find the coordinator again; 23 no common protocol; 25 unknown member; 26 invalid session timeout; 79
    join again with the returned member id; 81 group full; 82 fenced static member."""
    generation_id: int32 = -1
    """The number of the generation, which increases with every rebalance; -1 on error."""
    protocol_type: nullable[string] = field(since=7, default=None, ignorable=True)
    """The kind of group (KIP-559, Kafka 2.5); None on error."""
    protocol_name: nullable[string] = field(nullable_since=7)
    """The selected protocol; None, or empty before version 7, if there is none."""
    leader: string
    """The member id of the leader, which computes the assignment; empty on error."""
    skip_assignment: bool = field(since=9, default=False)
    """True if the leader must keep the present assignment, after a static leader restarted (KIP-814, Kafka 3.2)."""
    member_id: string
    """The member id of the receiver. With error 79, the id to join with."""
    members: array[JoinGroupResponseMember]
    """All members with their metadata for the leader; empty for other members."""


class JoinGroupResponseMember(Struct):
    """A member, as the leader needs it to compute an assignment."""

    member_id: string
    """The member id, to be repeated in SyncGroup."""
    group_instance_id: nullable[string] = field(since=5, default=None, ignorable=True)
    """The static member id (`group.instance.id`, KIP-345), which survives a restart; None for dynamic members."""
    metadata: bytes
    """The metadata of the member for the selected protocol."""
