"""ClientQuotaRecord: a client quota (KIP-546)."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, float64, nullable, string


class ClientQuotaRecord(Message, record_type=14, versions="0", flexible="0+"):
    """A quota of an entity is set or removed."""

    entity: array[EntityData]
    """The parts that together identify who is limited."""
    key: string
    """The quota, for example `producer_byte_rate`."""
    value: float64
    """The limit; ignored if `remove` is set."""
    remove: bool
    """True to delete the quota instead of setting it."""


class EntityData(Struct):
    """A part of the entity: a user, a client id, or an IP address."""

    entity_type: string
    """`user`, `client-id`, or `ip`."""
    entity_name: nullable[string]
    """The name; None for the default entity."""
