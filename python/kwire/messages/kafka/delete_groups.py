"""DeleteGroups (key 42): delete groups without members, including their committed offsets (KIP-229, Kafka 1.1).

Versions:
    1  throttled responses are sent at once, and the client must wait (KIP-219)
    2  flexible
    3  error messages (Kafka 4.4)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string


class DeleteGroupsRequest(Request["DeleteGroupsResponse"], api_key=42, versions="0-3", flexible="2+"):
    """Deletes groups, each on its own."""

    groups_names: array[string]
    """The group ids, all coordinated by the receiving broker."""


class DeleteGroupsResponse(Message, api_key=42, versions="0-3", flexible="2+"):
    """The result for each group."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    results: array[DeletableGroupResult]
    """The result for each group of the request."""


class DeletableGroupResult(Struct):
    """The result for one group."""

    group_id: string
    """The group id, repeated from the request."""
    error_code: int16
    """0; 16 not the coordinator; 24 invalid id; 30 not authorized; 68 not empty; 69 group not found; 134 see the
    message."""
    error_message: nullable[string] = field(since=3, default=None, ignorable=True)
    """The error message; None if there is nothing to add to the error code."""
