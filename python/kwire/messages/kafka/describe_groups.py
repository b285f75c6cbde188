"""DescribeGroups (key 15): the state of groups of the classic protocol (Kafka 0.9).

Consumers, Connect workers, and others use it. ConsumerGroupDescribe describes groups of the consumer protocol
(KIP-848). The coordinator of each group responds.

Versions:
    1  throttle time
    2  throttled responses are sent at once, and the client must wait (KIP-219)
    3  authorized operations (KIP-430, Kafka 2.3)
    4  static members (KIP-345, Kafka 2.4)
    5  flexible
    6  error 69 with a message for an unknown group, instead of the state Dead (KIP-1043, Kafka 4.0)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string


class DescribeGroupsRequest(Request["DescribeGroupsResponse"], api_key=15, versions="0-6", flexible="5+"):
    """Describes groups of a coordinator."""

    groups: array[string]
    """The group ids, all coordinated by the receiving broker."""
    include_authorized_operations: bool = field(since=3, default=False)
    """True to include the operations that the client is authorized for on each group."""


class DescribeGroupsResponse(Message, api_key=15, versions="0-6", flexible="5+"):
    """The described groups."""

    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 2, the client
    must wait instead of the broker."""
    groups: array[DescribedGroup]
    """The described groups, one for each group of the request."""


class DescribedGroup(Struct, key="group_id"):
    """A group and its members."""

    error_code: int16
    """0; 14 or 15 retry; 16 not the coordinator; 24 invalid id; 30 not authorized; 69 group not found (version 6)."""
    error_message: nullable[string] = field(since=6, default=None)
    """The error message; None on success."""
    group_id: string
    """The group id, set by `group.id` of its members."""
    group_state: string
    """`PreparingRebalance`, `CompletingRebalance`, `Stable`, `Empty`, or `Dead`; empty on error."""
    protocol_type: string
    """The kind of members, `consumer` or `connect`; empty for a group that only commits offsets."""
    protocol_data: string
    """The chosen protocol, for example the assignor `range`; empty unless `Stable`."""
    members: array[DescribedGroupMember]
    """The members of the group; metadata and assignments are only set while `Stable`."""
    authorized_operations: int32 = field(since=3, default=-2147483648)
    """The authorized operations as a bit field of ACL operations; -2147483648 if not requested."""


class DescribedGroupMember(Struct, key="member_id"):
    """A member of the group."""

    member_id: string
    """The member id that the coordinator assigned: the client id and a random uuid."""
    group_instance_id: nullable[string] = field(since=4, default=None, ignorable=True)
    """The static member id (`group.instance.id`, KIP-345), or None for a dynamic member."""
    client_id: string
    """The client id from the request header (`client.id`)."""
    client_host: string
    """The address that the member joined from, preceded by `/`."""
    member_metadata: bytes
    """The metadata of the member in the format of the protocol type; for consumers the subscription. Empty unless
    `Stable`."""
    member_assignment: bytes
    """The assignment of the member in the format of the protocol type; for consumers the partitions. Empty unless
    `Stable`."""
