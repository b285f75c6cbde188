"""FindCoordinator (key 10): the broker that coordinates a group, a transactional id, or a share partition.

Versions:
    1  transactional ids; throttle time; error messages (KIP-98, Kafka 0.11)
    2  throttled responses are sent at once, and the client must wait (KIP-219)
    3  flexible (KIP-482)
    4  several keys in one request (KIP-699, Kafka 3.0)
    5  the client supports error 120: abort the transaction (KIP-890)
    6  share partitions (KIP-932)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class FindCoordinatorRequest(Request["FindCoordinatorResponse"], api_key=10, versions="0-6", flexible="3+"):
    """Finds coordinators. Any broker responds."""

    key: string = field(until=3, default="")
    """The group id or transactional id to look up."""
    key_type: int8 = field(since=1, default=0)
    """The type of the keys: 0 group ids; 1 transactional ids (KIP-98, Kafka 0.11); 2 share partitions, written
    `group:topic-id:partition` (version 6, KIP-932)."""
    coordinator_keys: array[string] = field(since=4, default=())
    """The keys to look up, all of the same type."""


class FindCoordinatorResponse(Message, api_key=10, versions="0-6", flexible="3+"):
    """The addresses of the coordinators."""

    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 2, the client
    must wait instead of the broker."""
    error_code: int16 = field(until=3, default=0)
    """The error of the single key, as in Coordinator."""
    error_message: nullable[string] = field(since=1, until=3, default="", ignorable=True)
    """The error message of the single key, as in Coordinator."""
    node_id: int32 = field(until=3, default=0)
    """The broker id of the coordinator; -1 on error."""
    host: string = field(until=3, default="")
    """The host name of the coordinator; empty on error."""
    port: int32 = field(until=3, default=0)
    """The TCP port of the coordinator; -1 on error."""
    coordinators: array[Coordinator] = field(since=4, default=())
    """The coordinator of each key, with its own error."""


class Coordinator(Struct):
    """The coordinator of a key."""

    key: string
    """The group id or transactional id, as in the request; the order of the keys is not guaranteed."""
    node_id: int32
    """The broker id of the coordinator; -1 on error."""
    host: string
    """The host name of the coordinator, at the listener of the request; empty on error."""
    port: int32
    """The TCP port of the coordinator; -1 on error."""
    error_code: int16
    """0; 15 not available, retry; 30 or 53 not authorized for the group or transactional id."""
    error_message: nullable[string]
    """The error message; None on success."""
