"""Kafka's data in ZooKeeper: a class for every znode, and sessions to read, watch, and write them.

`connect` opens a `Store` over a ZooKeeper ensemble (requires kazoo), `MemoryZooKeeper` is an ensemble in memory, and
`EmbeddedZooKeeper` starts a server (requires Java).

Every znode class has `path(...)`, `encode()`, and `decode(data, path)`, which raises `ZnodeError` with path and key.
Unknown keys are kept in `unknown` and written back.

Sources: "Kafka data structures in Zookeeper", KIP-584, Kafka 3.9.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire.cluster.zookeeper.acls import AclChangeNotification, AclEntry, ResourceAcls
    from kwire.cluster.zookeeper.admin_requests import (
        PartitionReassignment,
        PreferredReplicaElection,
        ReassignPartitions,
        TopicPartition,
    )
    from kwire.cluster.zookeeper.brokers import BrokerEndpoint, BrokerRegistration, ClusterId, SupportedVersionRange
    from kwire.cluster.zookeeper.configs import ConfigChangeNotification, EntityConfig, notification_format
    from kwire.cluster.zookeeper.connection import Credentials, Tls, connect
    from kwire.cluster.zookeeper.consumers import ConsumerOffset, ConsumerOwner, ConsumerRegistration
    from kwire.cluster.zookeeper.controllers import ActiveController, ControllerEpoch
    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper
    from kwire.cluster.zookeeper.errors import StoreError, ZnodeError
    from kwire.cluster.zookeeper.features import FeaturesZnode, FinalizedVersionRange
    from kwire.cluster.zookeeper.memory_store import MemoryZooKeeper
    from kwire.cluster.zookeeper.notifications import IsrChangeNotification, LogDirEventNotification, ProducerIdBlock
    from kwire.cluster.zookeeper.operations import (
        Acl,
        Check,
        Create,
        Delete,
        SessionState,
        SetData,
        Stat,
        WatchEvent,
        WatchEventKind,
        Znode,
    )
    from kwire.cluster.zookeeper.store import Store, make_path
    from kwire.cluster.zookeeper.topics import DeletionMarker, PartitionState, TopicRegistration

__all__ = [
    "Acl",
    "AclChangeNotification",
    "AclEntry",
    "ActiveController",
    "BrokerEndpoint",
    "BrokerRegistration",
    "Check",
    "ClusterId",
    "ConfigChangeNotification",
    "ConsumerOffset",
    "ConsumerOwner",
    "ConsumerRegistration",
    "ControllerEpoch",
    "Create",
    "Credentials",
    "Delete",
    "DeletionMarker",
    "EmbeddedZooKeeper",
    "EntityConfig",
    "FeaturesZnode",
    "FinalizedVersionRange",
    "IsrChangeNotification",
    "LogDirEventNotification",
    "MemoryZooKeeper",
    "PartitionReassignment",
    "PartitionState",
    "PreferredReplicaElection",
    "ProducerIdBlock",
    "ReassignPartitions",
    "ResourceAcls",
    "SessionState",
    "SetData",
    "Stat",
    "Store",
    "StoreError",
    "SupportedVersionRange",
    "Tls",
    "TopicPartition",
    "TopicRegistration",
    "WatchEvent",
    "WatchEventKind",
    "Znode",
    "ZnodeError",
    "connect",
    "make_path",
    "notification_format",
]

_MODULES = {
    "acls": ("AclChangeNotification", "AclEntry", "ResourceAcls"),
    "admin_requests": ("PartitionReassignment", "PreferredReplicaElection", "ReassignPartitions", "TopicPartition"),
    "brokers": ("BrokerRegistration", "ClusterId", "BrokerEndpoint", "SupportedVersionRange"),
    "configs": ("ConfigChangeNotification", "EntityConfig", "notification_format"),
    "connection": ("Credentials", "Tls", "connect"),
    "consumers": ("ConsumerOffset", "ConsumerOwner", "ConsumerRegistration"),
    "controllers": ("ActiveController", "ControllerEpoch"),
    "embedded_server": ("EmbeddedZooKeeper",),
    "errors": ("StoreError", "ZnodeError"),
    "features": ("FeaturesZnode", "FinalizedVersionRange"),
    "memory_store": ("MemoryZooKeeper",),
    "notifications": ("IsrChangeNotification", "LogDirEventNotification", "ProducerIdBlock"),
    "operations": (
        "Acl",
        "Check",
        "Create",
        "Delete",
        "SessionState",
        "SetData",
        "Stat",
        "WatchEvent",
        "WatchEventKind",
        "Znode",
    ),
    "store": ("Store", "make_path"),
    "topics": ("DeletionMarker", "PartitionState", "TopicRegistration"),
}

if not TYPE_CHECKING:  # else type checkers would accept every misspelled name as Any

    def __getattr__(name: str) -> Any:
        """Import a public name on first use, so that kazoo is imported only when needed."""
        from importlib import import_module

        for module, names in _MODULES.items():
            if name in names:
                value = getattr(import_module(f"{__name__}.{module}"), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
