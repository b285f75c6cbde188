"""UnregisterBroker (key 64): remove the registration of a broker from a KRaft cluster (KIP-631, Kafka 2.8)."""

from __future__ import annotations

from kwire.declare import Message, Request, int16, int32, nullable, string


class UnregisterBrokerRequest(Request["UnregisterBrokerResponse"], api_key=64, versions="0", flexible="0+"):
    """Unregisters a broker. It stays in the assignment of partitions and can register again."""

    broker_id: int32
    """The id of the broker to remove from the cluster."""


class UnregisterBrokerResponse(Message, api_key=64, versions="0", flexible="0+"):
    """The result."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 102 the broker is not registered; 31 not authorized; 41 or 7 the quorum could not decide."""
    error_message: nullable[string]
    """The error message; None on success."""
