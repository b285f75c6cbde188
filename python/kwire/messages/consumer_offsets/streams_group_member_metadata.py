"""StreamsGroupMemberMetadata: a member of a streams group (KIP-1071)."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, int32, nullable, string, uint16


class StreamsGroupMemberMetadataKey(Message, record_type=19, versions="0"):
    """The member that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""
    member_id: string
    """The id of the member, from the coordinator or, in newer protocols, from the client."""


class StreamsGroupMemberMetadataValue(Message, record_type=19, versions="0", flexible="0+"):
    """The client of a member. A record without a value removes the member."""

    instance_id: nullable[string]
    """The static id of a client (`group.instance.id`); None for dynamic members."""
    rack_id: nullable[string]
    """The rack of the client (`client.rack`); None if not configured."""
    client_id: string
    """The `client.id` that its requests have."""
    client_host: string
    """The address from which the client connects, with a leading slash."""
    rebalance_timeout_ms: int32 = -1
    """Maximum time in milliseconds to give up revoked parts; -1 if unknown."""
    topology_epoch: int32
    """The version of the topology that the client runs."""
    process_id: string
    """The id of the process, which can contain several clients (`process.id`)."""
    user_endpoint: nullable[Endpoint] = None
    """The address for interactive queries (`application.server`); None if not configured."""
    client_tags: array[KeyValue]
    """Tags for rack-aware assignments (`client.tag.*`)."""


class Endpoint(Struct):
    """An address for interactive queries."""

    host: string
    """The host name or address to connect to."""
    port: uint16
    """The TCP port, as an unsigned number."""


class KeyValue(Struct):
    """A client tag."""

    key: string
    """The name of the tag."""
    value: string
    """The value of the tag as text."""
