"""LeaderChangeMessage: the first record of each epoch in the KRaft metadata log (KIP-595, Kafka 2.7).

It is the value of control records of type 2.

Versions:
    1  directory ids (KIP-853, Kafka 3.9)
"""

from __future__ import annotations

from kwire.declare import Message, Struct, array, field, int16, int32, uuid, zero


class LeaderChangeMessage(Message, versions="0-1", flexible="0+"):
    """The election of a leader."""

    version: int16
    """The version of this value, repeated as its first field."""
    leader_id: int32
    """The node id of the elected leader."""
    voters: array[Voter]
    """The voters of the quorum in this epoch."""
    granting_voters: array[Voter]
    """The voters that granted their vote, which are a majority."""


class Voter(Struct):
    """A voter of the quorum."""

    voter_id: int32
    """The node id of the controller."""
    voter_directory_id: uuid = field(since=1, default=zero)
    """The id of its log directory (KIP-853, Kafka 3.9); zero if unknown."""
