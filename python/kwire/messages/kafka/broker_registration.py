"""BrokerRegistration (key 62): register a starting broker with the KRaft controller (KIP-631, Kafka 2.8).

Versions:
    1  migration from ZooKeeper (KIP-866, Kafka 3.4)
    2  log directories (KIP-858, Kafka 3.7)
    3  epoch before a clean shutdown (KIP-966, Kafka 3.8)
    4  features can start at level 0 (KAFKA-17011, Kafka 3.9)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string, uint16, uuid


class BrokerRegistrationRequest(Request["BrokerRegistrationResponse"], api_key=62, versions="0-4", flexible="0+"):
    """Registers a broker, which is fenced at first."""

    broker_id: int32
    """The broker id (`node.id`); error 101 if another live broker uses it."""
    cluster_id: string
    """The cluster id from the storage of the broker; error 104 if the controller has another one."""
    incarnation_id: uuid
    """A random id of the broker process."""
    listeners: array[Listener]
    """The addresses that clients and other brokers can connect to."""
    features: array[Feature]
    """The features that the broker supports; error 35 if it lacks a finalized level. Up to version 3 without
    features that start at level 0."""
    rack: nullable[string]
    """The rack of the broker (`broker.rack`); None if not configured."""
    is_migrating_zk_broker: bool = field(since=1, default=False)
    """True if the broker runs with ZooKeeper and takes part in a migration (KIP-866, Kafka 3.4)."""
    log_dirs: array[uuid] = field(since=2, default=(), ignorable=True)
    """The ids of the log directories that work (KIP-858, Kafka 3.7)."""
    previous_broker_epoch: int64 = field(since=3, default=-1, ignorable=True)
    """The broker epoch before a clean shutdown (KIP-966, Kafka 3.8); -1 if the last shutdown was not clean."""


class Listener(Struct, key="name"):
    """An address of the broker."""

    name: string
    """The listener name, for example `PLAINTEXT`."""
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


class BrokerRegistrationResponse(Message, api_key=62, versions="0-4", flexible="0+"):
    """The result of the registration."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 31 not authorized; 35 missing feature level; 41 not the controller; 101 duplicate broker id; 104 another
    cluster."""
    broker_epoch: int64 = -1
    """The epoch of the registration, to be sent in heartbeats; -1 on error."""
