"""VotersRecord: the voters of the KRaft metadata log (KIP-853, Kafka 3.9).

It is the value of control records of type 6, which replaces all earlier ones.
"""

from __future__ import annotations

from kwire.declare import Message, Struct, array, field, int16, int32, string, uint16, uuid


class VotersRecord(Message, versions="0", flexible="0+"):
    """The complete set of voters."""

    version: int16
    """The version of this value, repeated as its first field."""
    voters: array[Voter]
    """The controllers that elect the leader from this record on."""


class Voter(Struct):
    """A voter of the quorum."""

    voter_id: int32
    """The node id of the controller."""
    voter_directory_id: uuid
    """The id of its log directory, which identifies a voter together with its node id."""
    endpoints: array[Endpoint]
    """The addresses of the voter, one for each listener."""
    kraft_version_feature: KRaftVersionFeature = field(name="kRaftVersionFeature")
    """The levels of `kraft.version` that the voter supports."""


class Endpoint(Struct, key="name"):
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
