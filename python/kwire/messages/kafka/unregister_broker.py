"""UnregisterBroker (key 64): make a KRaft quorum forget a broker that will not come back (KIP-631, Kafka 2.8)."""

from __future__ import annotations

from kwire.declare import Message, Request, int16, int32, nullable, string


class UnregisterBrokerRequest(Request["UnregisterBrokerResponse"], api_key=64, versions="0", flexible="0+"):
    """A broker that is forgotten still stands in the assignment of partitions; it may register again."""

    broker_id: int32
    """Which broker to forget."""


class UnregisterBrokerResponse(Message, api_key=64, versions="0", flexible="0+"):
    """Whether it is forgotten."""

    throttle_time_ms: int32
    """Milliseconds the client has to wait by itself because of a quota; 0 for none."""
    error_code: int16
    """0; 102 no broker of that id is registered; 31 not allowed; 41 or 7 the quorum could not decide."""
    error_message: nullable[string]
    """The reason for a person to read; None on success."""
