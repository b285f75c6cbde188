"""AlterConfigs (key 33): replace all dynamic configs of topics, brokers, and other resources (KIP-133, Kafka 0.11).

Configs that are not listed are reset to their defaults, so concurrent changes of different keys overwrite each other.
IncrementalAlterConfigs (KIP-339) changes single keys; prefer it if the broker supports it.

Versions:
    1  throttled responses are sent at once, and the client must wait (KIP-219)
    2  flexible
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class AlterConfigsRequest(Request["AlterConfigsResponse"], api_key=33, versions="0-2", flexible="2+"):
    """Replaces the configs of resources, each resource on its own."""

    resources: array[AlterConfigsResource]
    """The resources to change, each at most once. Configs of a broker must be sent to that broker."""
    validate_only: bool
    """True to validate the request without changing anything."""


class AlterConfigsResource(Struct):
    """A resource and all of its new configs."""

    resource_type: int8
    """The resource type: 2 topic, 4 broker, 16 client metrics (KIP-714), 32 group (KIP-848)."""
    resource_name: string
    """The name of the topic or group, or the broker id in digits; empty for all brokers."""
    configs: array[AlterableConfig]
    """The complete new configs. Every other key is reset to its default."""


class AlterableConfig(Struct):
    """A config to set."""

    name: string
    """The config key, for example `retention.ms`."""
    value: nullable[string] = field(sensitive="name")
    """The value as text. Brokers reject None: leave out the key to reset it."""


class AlterConfigsResponse(Message, api_key=33, versions="0-2", flexible="2+"):
    """The result for each resource."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    responses: array[AlterConfigsResourceResponse]
    """The result for each resource, in no particular order."""


class AlterConfigsResourceResponse(Struct):
    """The result for one resource. Either all of its configs are replaced or none."""

    error_code: int16
    """0; 3 unknown topic; 29 or 31 not authorized; 40 unknown key or invalid value; 42 not dynamically configurable."""
    error_message: nullable[string]
    """The error message; None on success."""
    resource_type: int8
    """The resource type, repeated from the request."""
    resource_name: string
    """The name of the topic or group, or the broker id, as in the request."""
