"""DescribeConfigs (key 32): the settings of topics, brokers and others, and where they come from (KIP-133, Kafka 0.11).

Versions:
    1  sources and synonyms instead of a plain "is default" (KIP-226, Kafka 1.1)
    2  throttled clients are answered first, and have to wait by themselves (KIP-219)
    3  types and documentation (KIP-569, Kafka 2.6)
    4  flexible
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class DescribeConfigsRequest(Request["DescribeConfigsResponse"], api_key=32, versions="0-4", flexible="4+"):
    """Asks for settings of some resources. Those of a broker must be asked of that broker, else error 42."""

    resources: array[DescribeConfigsResource]
    """Whose settings are wanted, and which of them."""
    include_synonyms: bool = field(since=1, default=False)
    """Whether to tell for each setting all the places where it is set, in order of precedence."""
    include_documentation: bool = field(since=3, default=False)
    """Whether to send Kafka's description of each setting too, which makes the answer many times as large."""


class DescribeConfigsResource(Struct):
    """One resource and the settings wanted of it."""

    resource_type: int8
    """What it is: 2 topic, 4 broker, 8 log levels of a broker, 16 client metrics (KIP-714), 32 group (KIP-848)."""
    resource_name: string
    """The topic, the group, or the broker's id in digits; empty for what is set for all brokers."""
    configuration_keys: nullable[array[string]]
    """The settings wanted; None for all. Unknown ones are left out of the answer."""


class DescribeConfigsResponse(Message, api_key=32, versions="0-4", flexible="4+"):
    """The settings found."""

    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 2 the client itself has to wait."""
    results: array[DescribeConfigsResult]
    """One entry a resource of the request, in no fixed order."""


class DescribeConfigsResult(Struct, key=("resource_type", "resource_name")):
    """The settings of one resource."""

    error_code: int16
    """0, 3 no such topic, 17 bad name, 29 or 31 not permitted, 42 another broker's settings or an unknown type."""
    error_message: nullable[string]
    """What exactly was wrong, in words; None or empty when there is nothing to add to the code."""
    resource_type: int8
    """What it is, as in the request."""
    resource_name: string
    """The topic, group or broker id it is about, as the request spelled it."""
    configs: array[DescribeConfigsResourceResult]
    """Its settings; those left at their defaults are among them."""


class DescribeConfigsResourceResult(Struct, key="name"):
    """One setting, and whose word it is."""

    name: string
    """Which setting, e.g. ``retention.ms``."""
    value: nullable[string]
    """The value in force, as text; None when it has none, or is secret."""
    read_only: bool
    """Whether it can only be changed in the broker's file, followed by a restart."""
    is_default: bool = field(until=0, default=False)
    """Whether nobody has set it for this resource; later versions say where it comes from instead."""
    config_source: int8 = field(since=1, default=-1, ignorable=True)
    """Who set it: 1 this topic, 2 this broker, 3 all brokers, 4 the broker's file, 5 nobody, 6 the broker's log levels,
    7 these client metrics, 8 this group; -1 not told."""
    is_sensitive: bool
    """Whether it is a secret such as a password, and the value hence withheld."""
    synonyms: array[DescribeConfigsSynonym] = field(since=1, default=(), ignorable=True)
    """Everywhere it is set, the place that counts first; empty unless asked for."""
    config_type: int8 = field(since=3, default=0, ignorable=True)
    """1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password; 0 not known."""
    documentation: nullable[string] = field(since=3, default="", ignorable=True)
    """Kafka's description of the setting, in English; None unless asked for."""


class DescribeConfigsSynonym(Struct):
    """One place where a setting can come from."""

    name: string
    """What it is called there: ``log.retention.ms`` at a broker stands for a topic's ``retention.ms``."""
    value: nullable[string]
    """What it is set to there; None when it is secret."""
    source: int8
    """The place, numbered as ``config_source``."""
