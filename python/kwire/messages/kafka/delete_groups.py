"""DeleteGroups (key 42): forgets groups without members, and the offsets they had committed (KIP-229, Kafka 1.1).

Versions:
    1  throttled clients are answered first, and have to wait by themselves (KIP-219)
    2  flexible
    3  error messages (Kafka 4.4)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string


class DeleteGroupsRequest(Request["DeleteGroupsResponse"], api_key=42, versions="0-3", flexible="2+"):
    """Deletes some groups, each for itself."""

    groups_names: array[string]
    """The ids of the groups; all must have the broker that is asked as their coordinator."""


class DeleteGroupsResponse(Message, api_key=42, versions="0-3", flexible="2+"):
    """What became of each group."""

    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 1 the client itself has to wait."""
    results: array[DeletableGroupResult]
    """One entry a group of the request."""


class DeletableGroupResult(Struct):
    """Whether one group is gone."""

    group_id: string
    """The group this entry is about."""
    error_code: int16
    """0, 16 not the coordinator, 24 bad id, 30 not permitted, 68 has members, 69 no such group, 134 see the message."""
    error_message: nullable[string] = field(since=3, default=None, ignorable=True)
    """What exactly went wrong, in words; None when there is nothing to add to the code."""
