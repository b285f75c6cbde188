"""AlterConfigs (key 33): replaces all dynamic settings of topics and brokers (KIP-133, Kafka 0.11).

Whatever is not named falls back to its default, so that two people who change different keys undo each other's work:
use IncrementalAlterConfigs (KIP-339), which changes single keys, wherever a broker knows it.

Versions:
    1  throttled clients are answered first, and have to wait by themselves (KIP-219)
    2  flexible
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int8, int16, int32, nullable, string


class AlterConfigsRequest(Request["AlterConfigsResponse"], api_key=33, versions="0-2", flexible="2+"):
    """Replaces the settings of some resources, each for itself."""

    resources: array[AlterConfigsResource]
    """The resources, each at most once. A broker's settings must be sent to that broker."""
    validate_only: bool
    """Whether only to check: nothing is changed, and errors are reported as if it were."""


class AlterConfigsResource(Struct):
    """One resource and everything that shall be set for it."""

    resource_type: int8
    """What it is: 2 a topic, 4 a broker, 16 client metrics (KIP-714), 32 a group (KIP-848)."""
    resource_name: string
    """The topic, or the broker's id in digits; empty for what applies to all brokers."""
    configs: array[AlterableConfig]
    """The complete new settings; every key that is missing here falls back to its default."""


class AlterableConfig(Struct):
    """One setting."""

    name: string
    """Which setting, e.g. ``retention.ms``."""
    value: nullable[string]
    """Its new value, always as text. Brokers refuse None: leave the key out to reset it."""


class AlterConfigsResponse(Message, api_key=33, versions="0-2", flexible="2+"):
    """What became of each resource."""

    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 1 the client itself has to wait."""
    responses: array[AlterConfigsResourceResponse]
    """One entry a resource, in no fixed order."""


class AlterConfigsResourceResponse(Struct):
    """Whether the settings of one resource were replaced: all of them, or none."""

    error_code: int16
    """0, 3 no such topic, 29 or 31 not permitted, 40 unknown key or bad value, 42 cannot be changed while running."""
    error_message: nullable[string]
    """What exactly was wrong, in words; None on success."""
    resource_type: int8
    """What it is, as in the request."""
    resource_name: string
    """The topic, group or broker id it is about, as the request spelled it."""
