"""UpdateRaftVoter (key 82): update the addresses of a voter of the KRaft metadata log (KIP-853, Kafka 3.9).

A voter sends it to the leader when its addresses or supported versions differ from those in the log.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string, uint16, uuid, zero


class UpdateRaftVoterRequest(Request["UpdateRaftVoterResponse"], api_key=82, versions="0", flexible="0+"):
    """Updates the entry of the sending voter."""

    cluster_id: nullable[string]
    """The cluster id of the sender; error 104 if the receiver belongs to another cluster, None to skip the check."""
    current_leader_epoch: int32
    """The leader epoch that the sender knows; error 74 if it is too old, 75 if it is newer than the receiver's."""
    voter_id: int32
    """The node id of the voter to update; error 127 if it is not a voter."""
    voter_directory_id: uuid
    """The id of its log directory, which identifies a voter together with its node id."""
    listeners: array[Listener]
    """The new addresses of the voter, one for each listener."""
    kraft_version_feature: KRaftVersionFeature = field(name="kRaftVersionFeature")
    """The levels of `kraft.version` that the voter supports."""


class Listener(Struct, key="name"):
    """An address of a voter."""

    name: string
    """The listener name, for example `CONTROLLER`."""
    host: string
    """The host name or address to connect to."""
    port: uint16
    """The TCP port, as an unsigned number."""


class KRaftVersionFeature(Struct):
    """The supported levels of the feature `kraft.version`."""

    min_supported_version: int16
    """The lowest supported level of the feature."""
    max_supported_version: int16
    """The highest supported level of the feature, inclusive."""


class UpdateRaftVoterResponse(Message, api_key=82, versions="0", flexible="0+"):
    """The result of the change."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 6 not the leader; 7 timeout; 42 invalid request; 74 or 75 stale metadata on one side; 104 another cluster; 127
    not a voter."""
    current_leader: CurrentLeader = field(tag=0, default=zero)
    """The leader that the node knows; not sent if unknown."""


class CurrentLeader(Struct):
    """The leader of the metadata log."""

    leader_id: int32 = -1
    """The node id of the leader; -1 if unknown."""
    leader_epoch: int32 = -1
    """The epoch of the leader; -1 if unknown."""
    host: string
    """The host name of the leader's listener for the quorum."""
    port: int32
    """The TCP port of that listener."""
