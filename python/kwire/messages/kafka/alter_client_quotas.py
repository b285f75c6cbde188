"""AlterClientQuotas (key 49): set and remove quotas of users, client ids, and IP addresses (KIP-546, Kafka 2.6).

Versions:
    1  flexible
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, float64, int16, int32, nullable, string


class AlterClientQuotasRequest(Request["AlterClientQuotasResponse"], api_key=49, versions="0-1", flexible="1+"):
    """Changes quotas of entities, each entity on its own. Quotas that are not listed stay unchanged."""

    entries: array[EntryData]
    """The quota entities to change, each at most once."""
    validate_only: bool
    """True to validate the request without changing anything."""


class EntryData(Struct):
    """The changes for one quota entity."""

    entity: array[EntityData]
    """The parts of the entity, at most one of each type: a user, a client id, both, or an IP address."""
    ops: array[OpData]
    """The quotas to set or remove, each key at most once."""


class EntityData(Struct):
    """One part of a quota entity."""

    entity_type: string
    """The type: `user`, `client-id`, or `ip` (KIP-612)."""
    entity_name: nullable[string]
    """The name of the user, client id, or address; None for the default entity of the type."""


class OpData(Struct):
    """A quota to set or remove."""

    key: string
    """The quota key: `producer_byte_rate`, `consumer_byte_rate`, `request_percentage`, or
    `controller_mutation_rate`."""
    value: float64
    """The new value in the unit of the key: bytes per second, percent of a thread, or operations per second. Ignored if
    `remove` is set."""
    remove: bool
    """True to remove the quota, so that a less specific one applies, if any."""


class AlterClientQuotasResponse(Message, api_key=49, versions="0-1", flexible="1+"):
    """The result for each quota entity."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    entries: array[EntryDataResponse]
    """The result for each entry of the request."""


class EntryDataResponse(Struct):
    """The result for one quota entity. Either all of its changes are made or none."""

    error_code: int16
    """0; 31 not authorized; 42 unknown key or entity type, or invalid value."""
    error_message: nullable[string]
    """The error message; None on success."""
    entity: array[EntityData]
    """The entity that the result is for, repeated from the request."""
