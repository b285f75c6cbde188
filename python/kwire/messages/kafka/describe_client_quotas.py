"""DescribeClientQuotas (key 48): the limits set for users, clients and addresses (KIP-546, Kafka 2.6).

Shows what has been set for an entity, not what results for a client to which several settings apply.

Versions:
    1  flexible
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, float64, int8, int16, int32, nullable, string


class DescribeClientQuotasRequest(Request["DescribeClientQuotasResponse"], api_key=48, versions="0-1", flexible="1+"):
    """Asks for the entities that match all of some conditions."""

    components: array[ComponentData]
    """The conditions, at most one for each type; empty for every entity that has limits."""
    strict: bool
    """Whether an entity may have no parts beside those the conditions name: ``user`` alone, not user and client id."""


class ComponentData(Struct):
    """A condition on one part of an entity."""

    entity_type: string
    """The part it looks at: ``user``, ``client-id`` or ``ip`` (the last by KIP-612)."""
    match_type: int8
    """0 has the name in ``match``, 1 is the default, 2 has any name or is the default."""
    match: nullable[string]
    """The name to look for with match type 0; None with the others."""


class DescribeClientQuotasResponse(Message, api_key=48, versions="0-1", flexible="1+"):
    """The limits found."""

    throttle_time_ms: int32
    """Milliseconds the client has to hold back because of a quota, 0 for none."""
    error_code: int16
    """0, 31 not permitted, 42 an unknown type, or the same type twice."""
    error_message: nullable[string]
    """What exactly was wrong, in words; None or empty on success."""
    entries: nullable[array[EntryData]]
    """The entities that matched and have limits; None on error."""


class EntryData(Struct):
    """One entity and its limits."""

    entity: array[EntityData]
    """Its parts, one or two of different types."""
    values: array[ValueData]
    """Its limits, in no order."""


class EntityData(Struct):
    """One part of what a limit applies to."""

    entity_type: string
    """``user``, ``client-id`` or ``ip``."""
    entity_name: nullable[string]
    """The name of the user or client, or the address; None for the default of all that have no limit of their own."""


class ValueData(Struct):
    """One limit."""

    key: string
    """Such as ``producer_byte_rate``, ``consumer_byte_rate``, ``request_percentage``, ``controller_mutation_rate``."""
    value: float64
    """The limit in the key's unit: bytes, percent of a thread, or operations a second."""
