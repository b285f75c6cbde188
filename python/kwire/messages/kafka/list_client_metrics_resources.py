"""ListClientMetricsResources (key 74): the names of client metrics subscriptions (KIP-1000, Kafka 3.7).

Kafka 4.1 renamed it to ListConfigResources; version 0 of both has the same bytes.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, string


class ListClientMetricsResourcesRequest(
    Request["ListClientMetricsResourcesResponse"], api_key=74, versions="0", flexible="0+"
):
    """Requests all client metrics subscriptions."""


class ListClientMetricsResourcesResponse(Message, api_key=74, versions="0", flexible="0+"):
    """The client metrics subscriptions of the cluster."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0, or 31 if the client is not allowed to describe configs of the cluster."""
    client_metrics_resources: array[ClientMetricsResource]
    """The subscriptions; empty if none is configured."""


class ClientMetricsResource(Struct):
    """A client metrics subscription (KIP-714). DescribeConfigs returns its configs."""

    name: string
    """The name of the subscription, which is also its resource name with resource type 16."""
