"""ListGroups (key 16): the groups that one broker coordinates; a cluster's are the sum of its brokers' answers.

Versions:
    1  throttle time
    2  throttled clients are answered first, and have to wait by themselves (KIP-219)
    3  flexible (KIP-482)
    4  the states of groups (KIP-518, Kafka 2.6)
    5  the types of groups (KIP-848, Kafka 3.8)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, string


class ListGroupsRequest(Request["ListGroupsResponse"], api_key=16, versions="0-5", flexible="3+"):
    """Asks one broker, for itself only."""

    states_filter: array[string] = field(since=4, default=())
    """States wanted, such as ``Stable`` or ``Empty``, in any case; empty for all (KIP-518, Kafka 2.6)."""
    types_filter: array[string] = field(since=5, default=())
    """Types wanted, such as ``classic`` or ``consumer``, in any case; empty for all (KIP-848, Kafka 3.8)."""


class ListGroupsResponse(Message, api_key=16, versions="0-5", flexible="3+"):
    """What the broker coordinates and the sender may see."""

    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """Milliseconds the client is held back by a quota, 0 for none; from version 2 the client itself has to wait."""
    error_code: int16
    """0; 14 the broker is still loading groups, so that the list may be short; 15 its coordinator does not run."""
    groups: array[ListedGroup]
    """Empty when there are none, or none that the sender may see."""


class ListedGroup(Struct, key="group_id"):
    """A group, told from the others; DescribeGroups and its kin know more."""

    group_id: string
    """The name that its members gave it."""
    protocol_type: string
    """What its members share: ``consumer``, ``connect``; empty when it only holds offsets."""
    group_state: string = field(since=4, default="", ignorable=True)
    """Where it stands, such as ``Stable``, ``Empty`` or ``Dead`` (KIP-518)."""
    group_type: string = field(since=5, default="", ignorable=True)
    """``classic`` for groups that rebalance by JoinGroup, ``consumer`` for those of KIP-848; later also ``share`` and
    ``streams``."""
