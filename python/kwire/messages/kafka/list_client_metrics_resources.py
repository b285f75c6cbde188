"""ListClientMetricsResources (key 74): the names of the subscriptions to client metrics (KIP-1000, Kafka 3.7).

Kafka 4.1 renamed it to ListConfigResources, whose version 0 has the same bytes.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, string


class ListClientMetricsResourcesRequest(
    Request["ListClientMetricsResourcesResponse"], api_key=74, versions="0", flexible="0+"
):
    """Asks for all of them; there is nothing to choose."""


class ListClientMetricsResourcesResponse(Message, api_key=74, versions="0", flexible="0+"):
    """All subscriptions of the cluster."""

    throttle_time_ms: int32
    """Milliseconds the client has to wait by itself because of a quota; 0 for none."""
    error_code: int16
    """0, or 31: the sender may not read the cluster's settings."""
    client_metrics_resources: array[ClientMetricsResource]
    """Empty when nobody has set one up."""


class ClientMetricsResource(Struct):
    """A subscription to client metrics (KIP-714), by name only: DescribeConfigs tells its settings."""

    name: string
    """What describes or alters it as a resource of type 16."""
