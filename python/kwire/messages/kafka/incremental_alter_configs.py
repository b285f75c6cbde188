"""IncrementalAlterConfigs (key 44): change single configs of resources (KIP-339, Kafka 2.3).

It replaces AlterConfigs, which resets every config that the request does not list.

Versions:
    1  flexible (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class IncrementalAlterConfigsRequest(
    Request["IncrementalAlterConfigsResponse"], api_key=44, versions="0-1", flexible="1+"
):
    """Changes configs of resources, each resource on its own."""

    resources: array[AlterConfigsResource]
    """The resources to change, each at most once."""
    validate_only: bool
    """True to validate the request without changing anything."""


class AlterConfigsResource(Struct):
    """A resource and its changes, which are applied together or not at all."""

    resource_type: int8
    """The resource type: 2 topic, 4 broker, 8 broker logger (KIP-412), 16 client metrics (KIP-714), 32 group
    (KIP-848)."""
    resource_name: string
    """The name of the topic or group, or the broker id in digits; empty for the default of all brokers."""
    configs: array[AlterableConfig]
    """The changes. Configs that are not listed keep their values."""


class AlterableConfig(Struct):
    """A change of a config."""

    name: string
    """The config key, for example `retention.ms`; each key at most once for a resource."""
    config_operation: int8
    """The operation: 0 set, 1 delete (reset to the default), 2 append to a list, 3 subtract from a list."""
    value: nullable[string] = field(sensitive="name")
    """The new value or, for 2 and 3, the list items separated by commas; None is only valid with 1."""


class IncrementalAlterConfigsResponse(Message, api_key=44, versions="0-1", flexible="1+"):
    """The result for each resource."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    responses: array[AlterConfigsResourceResponse]
    """The result for each resource. A failure of the whole request is repeated in each entry."""


class AlterConfigsResourceResponse(Struct):
    """The result for one resource."""

    error_code: int16
    """0 changed, or valid if only validated; 40 invalid key or value; 42 invalid request."""
    error_message: nullable[string]
    """The error message; None on success."""
    resource_type: int8
    """The resource type, as in the request: 2 topic, 4 broker, 8 broker logger."""
    resource_name: string
    """The resource name, as in the request; the order of the results is not guaranteed."""
