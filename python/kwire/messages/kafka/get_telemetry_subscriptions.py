"""GetTelemetrySubscriptions (key 71): the client metrics that a broker wants (KIP-714, Kafka 3.7).

The metrics follow from the client metrics resources of the cluster (`kafka-client-metrics.sh`). PushTelemetry sends
them.
"""

from __future__ import annotations

from kwire.declare import Message, Request, array, int8, int16, int32, string, uuid


class GetTelemetrySubscriptionsRequest(
    Request["GetTelemetrySubscriptionsResponse"], api_key=71, versions="0", flexible="0+"
):
    """Requests the subscription of a client."""

    client_instance_id: uuid
    """The id of the client, a random uuid from the first response; zero in the first request."""


class GetTelemetrySubscriptionsResponse(Message, api_key=71, versions="0", flexible="0+"):
    """The subscription."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 42 invalid request; 89 requested too soon."""
    client_instance_id: uuid
    """The id that the broker chose for the client; zero if the request had one."""
    subscription_id: int32
    """The number of this subscription, to be sent with the metrics."""
    accepted_compression_types: array[int8]
    """The compressions for PushTelemetry in order of preference: 1 gzip; 2 snappy; 3 lz4; 4 zstd. 0, none, is always
    accepted."""
    push_interval_ms: int32
    """The time in milliseconds between two pushes."""
    telemetry_max_bytes: int32
    """The largest size in bytes of the compressed metrics (`telemetry.max.bytes`)."""
    delta_temporality: bool
    """True if counters are sent as differences to the last push instead of totals."""
    requested_metrics: array[string]
    """The prefixes of metric names to send. No element: nothing; one empty string: all."""
