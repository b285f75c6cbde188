"""ListConfigResources (key 74): the names of the resources that can have configs (KIP-1142, Kafka 4.1).

Version 0 equals ListClientMetricsResources of Kafka 3.7 to 4.0.

Versions:
    1  other resource types than client metrics
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, string


class ListConfigResourcesRequest(Request["ListConfigResourcesResponse"], api_key=74, versions="0-1", flexible="0+"):
    """Requests the resources of some types."""

    resource_types: array[int8] = field(since=1, default=())
    """The types to list: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group; empty for all."""


class ListConfigResourcesResponse(Message, api_key=74, versions="0-1", flexible="0+"):
    """The matching resources."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 31 the client is not allowed to describe configs of the cluster; 35 a type that cannot be listed."""
    config_resources: array[ConfigResource]
    """The resources, in no particular order."""


class ConfigResource(Struct):
    """A resource that can have configs. DescribeConfigs returns the configs."""

    resource_name: string
    """The name of the topic, group, or client metrics subscription, or the broker id in digits."""
    resource_type: int8 = field(since=1, default=16, ignorable=True)
    """The resource type, as in the request; always 16 in version 0."""
