"""SyncGroup (key 14): distribute the assignment of a new generation of a classic group.

The leader sends the assignments of all members, and the others an empty list. The coordinator responds to all members
once the leader has sent its request.

Versions:
    1  throttle time
    2  throttled clients are answered at once and must wait themselves (KIP-219)
    3  static members (KIP-345, Kafka 2.3)
    4  flexible (KIP-482)
    5  protocol type and name, which the broker checks (KIP-559, Kafka 2.5)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string


class SyncGroupRequest(Request["SyncGroupResponse"], api_key=14, versions="0-5", flexible="4+"):
    """Requests the assignment of a member, and submits those of all members if it is the leader."""

    group_id: string
    """The group that the member has joined with JoinGroup."""
    generation_id: int32
    """The generation that JoinGroup returned; error 22 if the group has a newer one."""
    member_id: string
    """The member id that JoinGroup returned."""
    group_instance_id: nullable[string] = field(since=3, default=None)
    """The static member id (`group.instance.id`, KIP-345), which survives a restart; None for dynamic members."""
    protocol_type: nullable[string] = field(since=5, default=None, ignorable=True)
    """The kind of group from the JoinGroup response; error 23 if it differs from the group's. None to skip the
    check."""
    protocol_name: nullable[string] = field(since=5, default=None, ignorable=True)
    """The selected protocol from the JoinGroup response; error 23 if it differs. None to skip the check."""
    assignments: array[SyncGroupRequestAssignment]
    """The assignment of each member from the leader; empty from other members."""


class SyncGroupRequestAssignment(Struct):
    """The assignment of a member."""

    member_id: string
    """The member id, as in the JoinGroup response, of the receiver."""
    assignment: bytes
    """The data of the protocol. In consumer groups: an int16 version and ConsumerProtocolAssignment."""


class SyncGroupResponse(Message, api_key=14, versions="0-5", flexible="4+"):
    """The assignment of the member."""

    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 2, the client
    must wait instead of the broker."""
    error_code: int16
    """0; 15 or 16 find the coordinator again; 22 stale generation; 23 inconsistent protocol; 25 unknown member; 27
    rebalance in progress, join again; 82 fenced static member."""
    protocol_type: nullable[string] = field(since=5, default=None, ignorable=True)
    """The kind of group (KIP-559, Kafka 2.5); None on error."""
    protocol_name: nullable[string] = field(since=5, default=None, ignorable=True)
    """The selected protocol, for example `range`; None on error."""
    assignment: bytes
    """The data of the protocol for this member; empty on error, or if the leader assigned nothing."""
