"""ListGroups (key 16): the groups that a broker coordinates. The groups of a cluster are those of all its brokers.

Versions:
    1  throttle time
    2  throttled responses are sent at once, and the client must wait (KIP-219)
    3  flexible (KIP-482)
    4  group states (KIP-518, Kafka 2.6)
    5  group types (KIP-848, Kafka 3.8)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, string


class ListGroupsRequest(Request["ListGroupsResponse"], api_key=16, versions="0-5", flexible="3+"):
    """Requests the groups of the receiving broker."""

    states_filter: array[string] = field(since=4, default=())
    """The states to list, such as `Stable` or `Empty`, ignoring case; empty for all (KIP-518, Kafka 2.6)."""
    types_filter: array[string] = field(since=5, default=())
    """The types to list, such as `classic` or `consumer`, ignoring case; empty for all (KIP-848, Kafka 3.8)."""


class ListGroupsResponse(Message, api_key=16, versions="0-5", flexible="3+"):
    """The groups that the broker coordinates and the client may describe."""

    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 2, the client
    must wait instead of the broker."""
    error_code: int16
    """0; 14 the broker is loading groups and the list is incomplete; 15 the coordinator is not available."""
    groups: array[ListedGroup]
    """The groups; empty if there are none or the client is not allowed to describe any."""


class ListedGroup(Struct, key="group_id"):
    """A group. DescribeGroups and ConsumerGroupDescribe return details."""

    group_id: string
    """The group id, set by `group.id` of its members."""
    protocol_type: string
    """The kind of members, for example `consumer` or `connect`; empty if the group only commits offsets."""
    group_state: string = field(since=4, default="", ignorable=True)
    """The state, such as `Stable`, `Empty`, or `Dead` (KIP-518)."""
    group_type: string = field(since=5, default="", ignorable=True)
    """The type: `classic` or `consumer` (KIP-848); later also `share` and `streams`."""
