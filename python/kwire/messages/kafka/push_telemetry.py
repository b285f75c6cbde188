"""PushTelemetry (key 72): send client metrics to a broker (KIP-714, Kafka 3.7).

GetTelemetrySubscriptions says which metrics the broker wants, and how often.
"""

from __future__ import annotations

from kwire.declare import Message, Request, int8, int16, int32, uuid


class PushTelemetryRequest(Request["PushTelemetryResponse"], api_key=72, versions="0", flexible="0+"):
    """Sends metrics."""

    client_instance_id: uuid
    """The id of the client from GetTelemetrySubscriptions."""
    subscription_id: int32
    """The number of the subscription; error 117 if it has changed."""
    terminating: bool
    """True if this is the last push before the client ends, allowed ahead of time."""
    compression_type: int8
    """The compression of the metrics: 0 none; 1 gzip; 2 snappy; 3 lz4; 4 zstd. Error 76 if not accepted."""
    metrics: bytes
    """The metrics as OpenTelemetry MetricsData v1 in protobuf encoding; error 118 if too large."""


class PushTelemetryResponse(Message, api_key=72, versions="0", flexible="0+"):
    """Acceptance of the metrics."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 42 invalid request; 76 unsupported compression; 87 invalid metrics; 89 sent too soon; 117 the subscription has
    changed; 118 too large."""
