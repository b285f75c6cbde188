"""GroupMetadata: a classic group and its members."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, field, int32, int64, nullable, string


class GroupMetadataKey(Message, record_type=2, versions="0"):
    """The group that the value describes."""

    group: string
    """The name in the configuration of clients (`group.id`)."""


class GroupMetadataValue(Message, record_type=2, versions="0-4", flexible="4+"):
    """The state of a classic group. A record without a value deletes the group."""

    protocol_type: string
    """The kind of group, for example `consumer` or `connect`; empty before the first member."""
    generation: int32
    """The number of completed rebalances."""
    protocol: nullable[string]
    """The assignor that all members support; None without members."""
    leader: nullable[string]
    """The member id of the leader, which computes assignments; None without members."""
    current_state_timestamp: int64 = field(since=2, default=-1, ignorable=True)
    """The time of the last state change in milliseconds since 1970; -1 if unknown."""
    members: array[MemberMetadata]
    """The clients that have joined; empty if only offsets remain."""


class MemberMetadata(Struct):
    """A member of the group."""

    member_id: string
    """The id of the member, from the coordinator or, in newer protocols, from the client."""
    group_instance_id: nullable[string] = field(since=3, default=None, ignorable=True)
    """The static id of a client (`group.instance.id`, KIP-345); None for dynamic members."""
    client_id: string
    """The `client.id` that its requests have."""
    client_host: string
    """The address from which the client connects, with a leading slash."""
    rebalance_timeout: int32 = field(since=1, default=-1, ignorable=True)
    """Maximum time in milliseconds to rejoin during a rebalance (`max.poll.interval.ms`); -1 if unknown."""
    session_timeout: int32
    """Time in milliseconds without a heartbeat after which the client is removed (`session.timeout.ms`)."""
    subscription: bytes
    """The wishes of the client in the format of its protocol: for consumers ConsumerProtocolSubscription after its
    version."""
    assignment: bytes
    """The result for the client, in the format of the protocol type: for consumers ConsumerProtocolAssignment after its
    version; empty before the first."""
