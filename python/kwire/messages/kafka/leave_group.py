"""LeaveGroup (key 13): leave a classic group, or remove its members.

Versions:
    1  throttle time
    2  throttled clients are answered at once and must wait themselves (KIP-219)
    3  several members, also by static member id (KIP-345, Kafka 2.4)
    4  flexible (KIP-482)
    5  reason for leaving (KIP-800, Kafka 3.2)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string


class LeaveGroupRequest(Request["LeaveGroupResponse"], api_key=13, versions="0-5", flexible="4+"):
    """Removes members, which starts a rebalance. Static members that only restart do not send it."""

    group_id: string
    """The group to leave, set by `group.id` of its members."""
    member_id: string = field(until=2, default="")
    """The single member that leaves, up to version 2."""
    members: array[MemberIdentity] = field(since=3, default=())
    """The members to remove."""


class MemberIdentity(Struct):
    """A member to remove."""

    member_id: string
    """The member id; empty to identify a static member only by its instance id."""
    group_instance_id: nullable[string] = None
    """The static member id (`group.instance.id`); None for a dynamic member."""
    reason: nullable[string] = field(since=5, default=None, ignorable=True)
    """Reason why the member leaves, for the log of the broker (KIP-800, Kafka 3.2); None if unknown."""


class LeaveGroupResponse(Message, api_key=13, versions="0-5", flexible="4+"):
    """The result for each member."""

    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 2, the client
    must wait instead of the broker."""
    error_code: int16
    """0; 15 or 16 find the coordinator again; 25 unknown member (up to version 2); 30 not authorized."""
    members: array[MemberResponse] = field(since=3, default=())
    """The results of the members in the order of the request."""


class MemberResponse(Struct):
    """The result for one member."""

    member_id: string
    """The member id, as given in the request."""
    group_instance_id: nullable[string]
    """The static member id of the request; None for a dynamic member."""
    error_code: int16
    """0; 25 unknown member; 82 the static member has another member id."""
