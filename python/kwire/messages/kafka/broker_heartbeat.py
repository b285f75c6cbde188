"""BrokerHeartbeat (key 63): keep the registration of a broker alive (KIP-631, Kafka 2.8).

A broker sends it to the KRaft controller every `broker.heartbeat.interval.ms`.

Versions:
    1  failed log directories (KIP-858, Kafka 3.7)
    2  cordoned log directories (KIP-1066)
"""

from __future__ import annotations

from kwire.declare import Message, Request, array, field, int16, int32, int64, nullable, uuid


class BrokerHeartbeatRequest(Request["BrokerHeartbeatResponse"], api_key=63, versions="0-2", flexible="0+"):
    """Reports that a broker is alive, and what it wants."""

    broker_id: int32
    """The broker id (`node.id`); error 102 if it is not registered."""
    broker_epoch: int64 = -1
    """The epoch from the registration; error 77 if there is a newer one. -1 if unknown."""
    current_metadata_offset: int64
    """The highest offset of the metadata log that the broker has applied."""
    want_fence: bool
    """True if the broker wants to stay fenced, for example because it is still starting."""
    want_shut_down: bool
    """True if the broker wants to shut down after its leaderships have moved (controlled shutdown)."""
    offline_log_dirs: array[uuid] = field(since=1, tag=0, default=())
    """The ids of the log directories that have failed (KIP-858, Kafka 3.7)."""
    cordoned_log_dirs: nullable[array[uuid]] = field(since=2, tag=1, default=None)
    """The ids of the log directories that take no new replicas (KIP-1066); None while the broker does not know them
    yet."""


class BrokerHeartbeatResponse(Message, api_key=63, versions="0-2", flexible="0+"):
    """The state of the broker as the controller decides it."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 31 not authorized; 41 not the controller; 77 stale broker epoch; 102 not registered."""
    is_caught_up: bool = False
    """True if the broker has nearly caught up with the metadata log, so that it can be unfenced."""
    is_fenced: bool = True
    """True if the broker is fenced: clients do not see it, and it leads nothing."""
    should_shut_down: bool
    """True if the broker can shut down now, as it leads nothing any more."""
