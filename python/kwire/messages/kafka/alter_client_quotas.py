"""AlterClientQuotas (key 49): sets and removes limits for users, clients and addresses (KIP-546, Kafka 2.6).

Versions:
    1  flexible
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, float64, int16, int32, nullable, string


class AlterClientQuotasRequest(Request["AlterClientQuotasResponse"], api_key=49, versions="0-1", flexible="1+"):
    """Changes the limits of some entities, each for itself; limits that are not named stay."""

    entries: array[EntryData]
    """The entities to change, each at most once."""
    validate_only: bool
    """Whether only to check: nothing is changed, and errors are reported as if it were."""


class EntryData(Struct):
    """What shall change for one entity."""

    entity: array[EntityData]
    """Its parts, at most one of each type: a user, a client id, both together, or an address alone."""
    ops: array[OpData]
    """The limits to set or remove, each key at most once."""


class EntityData(Struct):
    """One part of what a limit applies to."""

    entity_type: string
    """``user``, ``client-id`` or ``ip`` (the last by KIP-612)."""
    entity_name: nullable[string]
    """The name of the user or client, or the address; None for the default of all that have no limit of their own."""


class OpData(Struct):
    """One limit to set or remove."""

    key: string
    """Such as ``producer_byte_rate``, ``consumer_byte_rate``, ``request_percentage``, ``controller_mutation_rate``."""
    value: float64
    """The new limit in the key's unit: bytes, percent of a thread, or operations a second. Ignored on removal."""
    remove: bool
    """Whether to drop the limit, so that a more general one or none applies."""


class AlterClientQuotasResponse(Message, api_key=49, versions="0-1", flexible="1+"):
    """What became of each entity."""

    throttle_time_ms: int32
    """Milliseconds the client has to hold back because of a quota, 0 for none."""
    entries: array[EntryDataResponse]
    """One entry an entity of the request."""


class EntryDataResponse(Struct):
    """Whether one entity was changed: all of its limits, or none."""

    error_code: int16
    """0, 31 not permitted, 42 an unknown key or type, or a value that the key cannot have."""
    error_message: nullable[string]
    """What exactly was wrong, in words; None on success."""
    entity: array[EntityData]
    """The entity this is about, as in the request."""
