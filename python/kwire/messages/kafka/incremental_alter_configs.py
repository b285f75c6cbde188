"""IncrementalAlterConfigs (key 44): change single settings and leave the others alone (KIP-339, Kafka 2.3).

It replaces AlterConfigs, which silently resets every setting that the request does not name.

Versions:
    1  flexible (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int8, int16, int32, nullable, string


class IncrementalAlterConfigsRequest(
    Request["IncrementalAlterConfigsResponse"], api_key=44, versions="0-1", flexible="1+"
):
    """Changes to the settings of several resources, each of which succeeds or fails by itself."""

    resources: array[AlterConfigsResource]
    """What to change; a resource that is listed twice is refused."""
    validate_only: bool
    """True: check everything, change nothing."""


class AlterConfigsResource(Struct):
    """A thing with settings, and the changes to make there; they are applied together or not at all."""

    resource_type: int8
    """2 topic; 4 broker; 8 the log levels of a broker (KIP-412); 16 client metrics (KIP-714); 32 group (KIP-848)."""
    resource_name: string
    """The topic, the broker id in digits, or the group; for a broker, empty means the default of all brokers."""
    configs: array[AlterableConfig]
    """The changes; settings that are not listed keep their values."""


class AlterableConfig(Struct):
    """One change to one setting."""

    name: string
    """The setting's key, such as ``retention.ms``; each key at most once a resource."""
    config_operation: int8
    """0 set; 1 delete, which brings the default back; 2 append to a list; 3 subtract from a list."""
    value: nullable[string]
    """The new value, or for 2 and 3 the list items, separated by commas; None is right only for a deletion."""


class IncrementalAlterConfigsResponse(Message, api_key=44, versions="0-1", flexible="1+"):
    """One outcome a resource."""

    throttle_time_ms: int32
    """Milliseconds the client has to wait by itself because of a quota; 0 for none."""
    responses: array[AlterConfigsResourceResponse]
    """There is no code for the whole: a failure of everything is repeated in each entry."""


class AlterConfigsResourceResponse(Struct):
    """What became of one resource."""

    error_code: int16
    """0 changed, or valid when only checked; 40 a value or key is not acceptable; 42 the request contradicts itself."""
    error_message: nullable[string]
    """The reason for a person to read; None on success."""
    resource_type: int8
    """What kind of resource was to change, echoed: 2 a topic, 4 a broker, 8 a broker's loggers."""
    resource_name: string
    """The name from the request: answers may come in another order."""
