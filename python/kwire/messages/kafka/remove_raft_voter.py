"""RemoveRaftVoter (key 81): remove a controller from the voters of the KRaft metadata log (KIP-853, Kafka 3.9).

The active controller, which is the leader of the log, responds; brokers forward the request. A leader that is removed
resigns.
"""

from __future__ import annotations

from kwire.declare import Message, Request, int16, int32, nullable, string, uuid


class RemoveRaftVoterRequest(Request["RemoveRaftVoterResponse"], api_key=81, versions="0", flexible="0+"):
    """Removes a voter."""

    cluster_id: nullable[string]
    """The cluster id that the client expects; error 104 if it differs, None to skip the check."""
    voter_id: int32
    """The node id of the controller to remove; error 127 if it is not a voter."""
    voter_directory_id: uuid
    """The id of its log directory, which identifies a voter together with its node id."""


class RemoveRaftVoterResponse(Message, api_key=81, versions="0", flexible="0+"):
    """The result of the change."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 6 not the leader; 7 timeout; 31 not authorized; 35 not supported by `kraft.version` 0; 104 another cluster;
    127 not a voter."""
    error_message: nullable[string]
    """The error message; None on success."""
