"""DescribeGroups (key 15): the state of groups that follow the classic protocol (Kafka 0.9).

Consumers, Connect workers and others alike; each group's coordinator answers for it. Groups of the new consumer
protocol are ConsumerGroupDescribe's affair (KIP-848).

Versions:
    1  throttle time
    2  throttled clients are answered first, and have to wait by themselves (KIP-219)
    3  permitted operations (KIP-430, Kafka 2.3)
    4  members with fixed names (KIP-345, Kafka 2.4)
    5  flexible
    6  an unknown group is error 69 with a message, no longer a group in state Dead (KIP-1043, Kafka 4.0)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string


class DescribeGroupsRequest(Request["DescribeGroupsResponse"], api_key=15, versions="0-6", flexible="5+"):
    """Asks a coordinator about some of its groups."""

    groups: array[string]
    """The ids of the groups; all must have the broker that is asked as their coordinator."""
    include_authorized_operations: bool = field(since=3, default=False)
    """Whether to work out what the caller may do with each group."""


class DescribeGroupsResponse(Message, api_key=15, versions="0-6", flexible="5+"):
    """The groups as their coordinator knows them."""

    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """Milliseconds the client is held back by a quota, 0 for none; from version 2 the client itself has to wait."""
    groups: array[DescribedGroup]
    """One entry a group of the request."""


class DescribedGroup(Struct, key="group_id"):
    """One group and its members."""

    error_code: int16
    """0, 14 or 15 try again, 16 not the coordinator, 24 bad id, 30 not permitted, 69 no such group (version 6)."""
    error_message: nullable[string] = field(since=6, default=None)
    """What exactly was wrong, in words; None on success."""
    group_id: string
    """The name that its members share (``group.id``)."""
    group_state: string
    """``PreparingRebalance``, ``CompletingRebalance``, ``Stable``, ``Empty`` or ``Dead``; empty on error."""
    protocol_type: string
    """What its members are, ``consumer`` or ``connect``; empty for one that only commits offsets."""
    protocol_data: string
    """The way its members have agreed to share the work, e.g. the assignor ``range``; empty unless ``Stable``."""
    members: array[DescribedGroupMember]
    """The members; what they have to do is told only while ``Stable``."""
    authorized_operations: int32 = field(since=3, default=-2147483648)
    """What the caller may do with the group: bit n for ACL operation n; -2147483648 when it was not asked for."""


class DescribedGroupMember(Struct, key="member_id"):
    """One member of the group."""

    member_id: string
    """The identity that the coordinator gave it: its client id and a random uuid."""
    group_instance_id: nullable[string] = field(since=4, default=None, ignorable=True)
    """Its fixed name over restarts (``group.instance.id``, KIP-345); None when it has none."""
    client_id: string
    """What it calls itself in the header of its requests (``client.id``)."""
    client_host: string
    """The address it joined from, with a ``/`` before it."""
    member_metadata: bytes
    """What it told the others, in the format of the protocol type: for consumers their subscription. Empty as above."""
    member_assignment: bytes
    """What it has to do, likewise: for consumers their partitions. Empty unless ``Stable``."""
