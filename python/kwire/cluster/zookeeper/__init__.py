"""Kafka's data in ZooKeeper: a class for every node, and ``Store``, through which they are read, watched and written.

``connect`` opens a store over a real ensemble (needs kazoo), ``MemoryZooKeeper`` is an ensemble within the process, and
``EmbeddedZooKeeper`` a real server of one's own (needs Java). Sources: "Kafka data structures in Zookeeper", KIP-584, Kafka 3.9.

Every class of a node has ``path(...)``, where it is; ``encode()``, its data; ``decode(data, path)``, which raises
``ZnodeError`` with path and key. Keys that are not known are kept in ``unknown`` and written back.
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
    from kwire.cluster.zookeeper.operations import Acl, Check, Create, Delete, SetData, Stat, WatchEvent, Znode
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
    "SetData",
    "Stat",
    "Store",
    "StoreError",
    "SupportedVersionRange",
    "Tls",
    "TopicPartition",
    "TopicRegistration",
    "WatchEvent",
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
    "operations": ("Acl", "Check", "Create", "Delete", "Znode", "SetData", "Stat", "WatchEvent"),
    "store": ("Store", "make_path"),
    "topics": ("DeletionMarker", "PartitionState", "TopicRegistration"),
}

if not TYPE_CHECKING:  # or every misspelt name would be Any

    def __getattr__(name: str) -> Any:
        """Import a name where it lives, on first use: the messages of a codec user never need kazoo."""
        from importlib import import_module

        for module, names in _MODULES.items():
            if name in names:
                value = getattr(import_module(f"{__name__}.{module}"), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
