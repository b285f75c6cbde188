"""FindCoordinator (key 10): which broker looks after a group, a transactional id or a share partition.

Versions:
    1  transactional ids; throttle time; error messages (KIP-98, Kafka 0.11)
    2  throttled clients are answered first, and have to wait by themselves (KIP-219)
    3  flexible (KIP-482)
    4  many keys at once, the answers in an array instead of at the top (KIP-699, Kafka 3.0)
    5  the client understands error 120: abort the transaction (KIP-890)
    6  share partitions (KIP-932)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class FindCoordinatorRequest(Request["FindCoordinatorResponse"], api_key=10, versions="0-6", flexible="3+"):
    """Any broker answers it."""

    key: string = field(until=3, default="")
    """The one group id, or transactional id, to look up."""
    key_type: int8 = field(since=1, default=0)
    """What the keys are: 0 group ids; 1 transactional ids (KIP-98, Kafka 0.11); 2 share partitions, written
    ``group:topic-id:partition`` (version 6, KIP-932)."""
    coordinator_keys: array[string] = field(since=4, default=())
    """The keys to look up, all of the one type."""


class FindCoordinatorResponse(Message, api_key=10, versions="0-6", flexible="3+"):
    """Where the coordinators are."""

    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """Milliseconds the client is held back by a quota, 0 for none; from version 2 the client itself has to wait."""
    error_code: int16 = field(until=3, default=0)
    """As in Coordinator, for the one key."""
    error_message: nullable[string] = field(since=1, until=3, default="", ignorable=True)
    """As in Coordinator, for the one key."""
    node_id: int32 = field(until=3, default=0)
    """Broker id of the one coordinator; -1 with an error."""
    host: string = field(until=3, default="")
    """Where to connect to it; empty with an error."""
    port: int32 = field(until=3, default=0)
    """The TCP port that goes with ``host``; -1 with an error."""
    coordinators: array[Coordinator] = field(since=4, default=())
    """One answer a key, each with its own error."""


class Coordinator(Struct):
    """The answer to one key."""

    key: string
    """Which group or transactional id this answers: the key as asked for, since the order is not promised."""
    node_id: int32
    """Broker id of the coordinator; -1 with an error."""
    host: string
    """Where to connect, on the listener that the question came in by; empty with an error."""
    port: int32
    """The TCP port that goes with ``host``; -1 with an error."""
    error_code: int16
    """0; 15 none at the moment, try again; 30 or 53 not allowed to know of this group or transactional id."""
    error_message: nullable[string]
    """The reason for a person to read; None on success."""
