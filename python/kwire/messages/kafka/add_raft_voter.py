"""AddRaftVoter (key 80): add a controller to the voters of the KRaft metadata log (KIP-853, Kafka 3.9).

The active controller, which is the leader of the log, responds; brokers forward the request.

Versions:
    1  choice when to respond (KIP-1186)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string, uint16, uuid


class AddRaftVoterRequest(Request["AddRaftVoterResponse"], api_key=80, versions="0-1", flexible="0+"):
    """Adds a voter, which must have caught up with the log."""

    cluster_id: nullable[string]
    """The cluster id that the client expects; error 104 if it differs, None to skip the check."""
    timeout_ms: int32
    """The time in milliseconds that the leader waits for the change; error 7 afterwards."""
    voter_id: int32
    """The node id of the controller to add; error 126 if it is a voter already."""
    voter_directory_id: uuid
    """The id of its log directory, which identifies a voter together with its node id."""
    listeners: array[Listener]
    """The addresses of the new voter, one for each listener."""
    ack_when_committed: bool = field(since=1, default=True)
    """True to respond when the new voters are committed, instead of when the leader has written them (KIP-1186)."""


class Listener(Struct, key="name"):
    """An address of a voter."""

    name: string
    """The listener name, for example `CONTROLLER`."""
    host: string
    """The host name or address to connect to."""
    port: uint16
    """The TCP port, as an unsigned number."""


class AddRaftVoterResponse(Message, api_key=80, versions="0-1", flexible="0+"):
    """The result of the change."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 6 not the leader; 7 timeout; 31 not authorized; 35 not supported by `kraft.version` 0; 104 another cluster;
    126 already a voter."""
    error_message: nullable[string]
    """The error message; None on success."""
