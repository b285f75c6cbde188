"""DescribeConfigs (key 32): the configs of topics, brokers, and other resources, and their sources (KIP-133, Kafka
0.11).

Versions:
    1  sources and synonyms instead of `is_default` (KIP-226, Kafka 1.1)
    2  throttled responses are sent at once, and the client must wait (KIP-219)
    3  types and documentation (KIP-569, Kafka 2.6)
    4  flexible
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class DescribeConfigsRequest(Request["DescribeConfigsResponse"], api_key=32, versions="0-4", flexible="4+"):
    """Requests configs of resources. Configs of a broker must be requested from that broker (error 42 otherwise)."""

    resources: array[DescribeConfigsResource]
    """The resources, and the configs of each to return."""
    include_synonyms: bool = field(since=1, default=False)
    """True to include all sources of each config, in order of precedence."""
    include_documentation: bool = field(since=3, default=False)
    """True to include Kafka's description of each config, which multiplies the size of the response."""


class DescribeConfigsResource(Struct):
    """A resource and the configs to return."""

    resource_type: int8
    """The resource type: 2 topic, 4 broker, 8 broker logger, 16 client metrics (KIP-714), 32 group (KIP-848)."""
    resource_name: string
    """The name of the topic or group, or the broker id in digits; empty for the default of all brokers."""
    configuration_keys: nullable[array[string]]
    """The config keys to return; None for all. Unknown keys are left out of the response."""


class DescribeConfigsResponse(Message, api_key=32, versions="0-4", flexible="4+"):
    """The requested configs."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 2, the client
    must wait instead of the broker."""
    results: array[DescribeConfigsResult]
    """The result for each resource of the request, in no particular order."""


class DescribeConfigsResult(Struct, key=("resource_type", "resource_name")):
    """The configs of a resource."""

    error_code: int16
    """0; 3 unknown topic; 17 invalid name; 29 or 31 not authorized; 42 another broker or unknown resource type."""
    error_message: nullable[string]
    """The error message; None or empty if there is nothing to add to the error code."""
    resource_type: int8
    """The resource type, repeated from the request."""
    resource_name: string
    """The name of the topic or group, or the broker id, as in the request."""
    configs: array[DescribeConfigsResourceResult]
    """The configs of the resource, including defaults."""


class DescribeConfigsResourceResult(Struct, key="name"):
    """A config and its source."""

    name: string
    """The config key, for example `retention.ms`."""
    value: nullable[string] = field(sensitive="name")
    """The effective value as text; None if it is sensitive or not set."""
    read_only: bool
    """True if the config can only be changed in the broker's configuration file, followed by a restart."""
    is_default: bool = field(until=0, default=False)
    """True if the config is not set for this resource; replaced by `config_source` in later versions."""
    config_source: int8 = field(since=1, default=-1, ignorable=True)
    """The source: 1 topic, 2 broker, 3 all brokers, 4 the broker's static configuration, 5 Kafka's default, 6 broker
    logger, 7 client metrics, 8 group, -1 unknown."""
    is_sensitive: bool
    """True if the config is a secret, such as a password, without its value."""
    synonyms: array[DescribeConfigsSynonym] = field(since=1, default=(), ignorable=True)
    """All sources of the config, the effective one first; empty unless requested."""
    config_type: int8 = field(since=3, default=0, ignorable=True)
    """The type: 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password, 0 unknown."""
    documentation: nullable[string] = field(since=3, default="", ignorable=True)
    """Kafka's description of the config; None unless requested."""


class DescribeConfigsSynonym(Struct):
    """A source of a config."""

    name: string
    """The config key at the source: `log.retention.ms` of a broker is a synonym of `retention.ms` of a topic."""
    value: nullable[string] = field(sensitive="name")
    """The value at the source; None if it is sensitive."""
    source: int8
    """The source, with the same numbers as `config_source`."""
