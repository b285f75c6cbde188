"""RegisterBrokerRecord: the registration of a broker."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, field, int16, int32, int64, nullable, string, uint16, uuid


class RegisterBrokerRecord(Message, record_type=0, versions="0-4", flexible="0+"):
    """A broker joins the cluster, fenced at first."""

    broker_id: int32
    """The `node.id` that the configuration has."""
    is_migrating_zk_broker: bool = field(since=2, default=False)
    """True for brokers that still run on ZooKeeper during a migration (KIP-866)."""
    incarnation_id: uuid
    """A random id of the process."""
    broker_epoch: int64
    """The offset of the record that registered this incarnation; -1 if unknown."""
    end_points: array[BrokerEndpoint]
    """The addresses of the listeners."""
    features: array[BrokerFeature]
    """The supported levels of features."""
    rack: nullable[string]
    """The rack (`broker.rack`); None if not configured."""
    fenced: bool = True
    """True until the broker has caught up."""
    in_controlled_shutdown: bool = field(since=1, default=False)
    """True while the broker moves its leaders away."""
    log_dirs: array[uuid] = field(since=3, tag=0, default=())
    """The ids of the log directories that work (KIP-858)."""
    cordoned_log_dirs: nullable[array[uuid]] = field(since=4, tag=1, default=None)
    """The ids of log directories that get no new replicas (KIP-1066); None before the first heartbeat."""


class BrokerEndpoint(Struct, key="name"):
    """An address of a listener."""

    name: string
    """The listener, for example `PLAINTEXT`."""
    host: string
    """The host name or address to connect to."""
    port: uint16
    """The TCP port, as an unsigned number."""
    security_protocol: int16
    """0 PLAINTEXT; 1 SSL; 2 SASL_PLAINTEXT; 3 SASL_SSL."""


class BrokerFeature(Struct, key="name"):
    """The levels of a feature that the broker supports."""

    name: string
    """The name, for example `metadata.version`."""
    min_supported_version: int16
    """The lowest level, inclusive."""
    max_supported_version: int16
    """The highest level, inclusive."""
