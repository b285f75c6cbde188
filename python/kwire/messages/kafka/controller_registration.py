"""ControllerRegistration (key 70): register a controller with the active one (KIP-919, Kafka 3.7).

The active controller learns the addresses and features of the others from it.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, nullable, string, uint16, uuid


class ControllerRegistrationRequest(Request["ControllerRegistrationResponse"], api_key=70, versions="0", flexible="0+"):
    """Registers a controller."""

    controller_id: int32
    """The node id of the sending controller (`node.id`)."""
    incarnation_id: uuid
    """A random id of the controller process."""
    zk_migration_ready: bool
    """True if the controller is configured for a migration from ZooKeeper (KIP-866)."""
    listeners: array[Listener]
    """The addresses of the controller, one for each listener."""
    features: array[Feature]
    """The features that the controller supports, with their levels."""


class Listener(Struct, key="name"):
    """An address of the controller."""

    name: string
    """The listener name, for example `CONTROLLER`."""
    host: string
    """The advertised host name."""
    port: uint16
    """The advertised TCP port, as an unsigned number."""
    security_protocol: int16
    """0 PLAINTEXT; 1 SSL; 2 SASL_PLAINTEXT; 3 SASL_SSL."""


class Feature(Struct, key="name"):
    """A supported feature."""

    name: string
    """The feature name, for example `metadata.version`."""
    min_supported_version: int16
    """The lowest supported level of the feature."""
    max_supported_version: int16
    """The highest supported level of the feature, inclusive."""


class ControllerRegistrationResponse(Message, api_key=70, versions="0", flexible="0+"):
    """The result of the registration."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 31 not authorized; 35 missing feature level; 41 not the active controller."""
    error_message: nullable[string]
    """The error message; None on success."""
