"""DescribeClientQuotas (key 48): the quotas of users, client ids, and IP addresses (KIP-546, Kafka 2.6).

The response lists the configured quotas, not the effective quota of a client that several of them match.

Versions:
    1  flexible
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, float64, int8, int16, int32, nullable, string


class DescribeClientQuotasRequest(Request["DescribeClientQuotasResponse"], api_key=48, versions="0-1", flexible="1+"):
    """Requests the quota entities that match all components."""

    components: array[ComponentData]
    """The filter components, at most one of each type; empty for every entity with quotas."""
    strict: bool
    """True to exclude entities with parts of other types: `user` then does not match user and client id."""


class ComponentData(Struct):
    """A filter for one part of an entity."""

    entity_type: string
    """The type of the part: `user`, `client-id`, or `ip` (KIP-612)."""
    match_type: int8
    """0 exact name, 1 default entity, 2 any name or the default entity."""
    match: nullable[string]
    """The name to look for with match type 0; None otherwise."""


class DescribeClientQuotasResponse(Message, api_key=48, versions="0-1", flexible="1+"):
    """The matching quota entities."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 31 not authorized; 42 unknown type or duplicate type."""
    error_message: nullable[string]
    """The error message; None or empty if there was no error."""
    entries: nullable[array[EntryData]]
    """The matching entities with quotas; None on error."""


class EntryData(Struct):
    """A quota entity and its quotas."""

    entity: array[EntityData]
    """The parts of the entity, one or two of different types."""
    values: array[ValueData]
    """The quotas of the entity, in no particular order."""


class EntityData(Struct):
    """One part of a quota entity."""

    entity_type: string
    """The type: `user`, `client-id`, or `ip`."""
    entity_name: nullable[string]
    """The name of the user, client id, or address; None for the default entity of the type."""


class ValueData(Struct):
    """A quota."""

    key: string
    """The quota key: `producer_byte_rate`, `consumer_byte_rate`, `request_percentage`, or
    `controller_mutation_rate`."""
    value: float64
    """The quota in the unit of the key: bytes per second, percent of a thread, or operations per second."""
