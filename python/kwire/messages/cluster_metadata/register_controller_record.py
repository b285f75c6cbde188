"""RegisterControllerRecord: the registration of a controller (KIP-919)."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, int16, int32, string, uint16, uuid


class RegisterControllerRecord(Message, record_type=27, versions="0", flexible="0+"):
    """A controller joins the cluster or changes its endpoints."""

    controller_id: int32
    """The `node.id` that the configuration has."""
    incarnation_id: uuid
    """A random id of the process."""
    zk_migration_ready: bool
    """True if the settings of a migration from ZooKeeper are present (KIP-866)."""
    end_points: array[ControllerEndpoint]
    """The addresses of the listeners."""
    features: array[ControllerFeature]
    """The supported levels of features."""


class ControllerEndpoint(Struct, key="name"):
    """An address of a listener."""

    name: string
    """The listener, for example `CONTROLLER`."""
    host: string
    """The host name or address to connect to."""
    port: uint16
    """The TCP port, as an unsigned number."""
    security_protocol: int16
    """0 PLAINTEXT; 1 SSL; 2 SASL_PLAINTEXT; 3 SASL_SSL."""


class ControllerFeature(Struct, key="name"):
    """The levels of a feature that the controller supports."""

    name: string
    """The name, for example `metadata.version`."""
    min_supported_version: int16
    """The lowest level, inclusive."""
    max_supported_version: int16
    """The highest level, inclusive."""
