"""ListConfigResources (key 74): the names of all things that may have settings (KIP-1142, Kafka 4.1).

Version 0 is what Kafka 3.7 to 4.0 call ListClientMetricsResources, byte for byte.

Versions:
    1  other types than client metrics
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, string


class ListConfigResourcesRequest(Request["ListConfigResourcesResponse"], api_key=74, versions="0-1", flexible="0+"):
    """Chooses by type."""

    resource_types: array[int8] = field(since=1, default=())
    """Types wanted: 2 topic, 4 broker, 8 the log levels of a broker, 16 client metrics, 32 group; empty for all."""


class ListConfigResourcesResponse(Message, api_key=74, versions="0-1", flexible="0+"):
    """What was found."""

    throttle_time_ms: int32
    """Milliseconds the client has to wait by itself because of a quota; 0 for none."""
    error_code: int16
    """0; 31 the sender may not read the cluster's settings; 35 a type that cannot be listed."""
    config_resources: array[ConfigResource]
    """In no particular order."""


class ConfigResource(Struct):
    """A thing that may have settings, by name only: DescribeConfigs tells them."""

    resource_name: string
    """The topic, the broker id in digits, the group, or the name of a subscription to client metrics."""
    resource_type: int8 = field(since=1, default=16, ignorable=True)
    """A type as in the request; what version 0 lists is always 16."""
