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

    from kwire.cluster.zookeeper.acls import AclChange, AclEntry, ResourceAcls
    from kwire.cluster.zookeeper.admin_requests import (
        PartitionReassignment,
        PreferredElection,
        Reassignment,
        TopicPartition,
    )
    from kwire.cluster.zookeeper.brokers import BrokerRegistration, ClusterId, Endpoint, SupportedRange
    from kwire.cluster.zookeeper.configs import ConfigChange, EntityConfig, note_form
    from kwire.cluster.zookeeper.connection import Credentials, Tls, connect
    from kwire.cluster.zookeeper.consumers import ConsumerOffset, ConsumerOwner, ConsumerRegistration
    from kwire.cluster.zookeeper.controllers import Controller, ControllerEpoch
    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper
    from kwire.cluster.zookeeper.errors import StoreError, ZnodeError
    from kwire.cluster.zookeeper.features import FeaturesNode, LevelRange
    from kwire.cluster.zookeeper.memory_store import MemoryZooKeeper
    from kwire.cluster.zookeeper.notifications import IsrChange, LogDirEvent, ProducerIdBlock
    from kwire.cluster.zookeeper.operations import Acl, Check, Create, Delete, Node, Set, Stat, WatchEvent
    from kwire.cluster.zookeeper.store import Store, make_path
    from kwire.cluster.zookeeper.topics import DeletionMarker, PartitionState, TopicRegistration

__all__ = [
    "Acl",
    "AclChange",
    "AclEntry",
    "BrokerRegistration",
    "Check",
    "ClusterId",
    "ConfigChange",
    "ConsumerOffset",
    "ConsumerOwner",
    "ConsumerRegistration",
    "Controller",
    "ControllerEpoch",
    "Create",
    "Credentials",
    "Delete",
    "DeletionMarker",
    "EmbeddedZooKeeper",
    "Endpoint",
    "EntityConfig",
    "FeaturesNode",
    "IsrChange",
    "LevelRange",
    "LogDirEvent",
    "MemoryZooKeeper",
    "Node",
    "PartitionReassignment",
    "PartitionState",
    "PreferredElection",
    "ProducerIdBlock",
    "Reassignment",
    "ResourceAcls",
    "Set",
    "Stat",
    "Store",
    "StoreError",
    "SupportedRange",
    "Tls",
    "TopicPartition",
    "TopicRegistration",
    "WatchEvent",
    "ZnodeError",
    "connect",
    "make_path",
    "note_form",
]

_MODULES = {
    "acls": ("AclChange", "AclEntry", "ResourceAcls"),
    "admin_requests": ("PartitionReassignment", "PreferredElection", "Reassignment", "TopicPartition"),
    "brokers": ("BrokerRegistration", "ClusterId", "Endpoint", "SupportedRange"),
    "configs": ("ConfigChange", "EntityConfig", "note_form"),
    "connection": ("Credentials", "Tls", "connect"),
    "consumers": ("ConsumerOffset", "ConsumerOwner", "ConsumerRegistration"),
    "controllers": ("Controller", "ControllerEpoch"),
    "embedded_server": ("EmbeddedZooKeeper",),
    "errors": ("StoreError", "ZnodeError"),
    "features": ("FeaturesNode", "LevelRange"),
    "memory_store": ("MemoryZooKeeper",),
    "notifications": ("IsrChange", "LogDirEvent", "ProducerIdBlock"),
    "operations": ("Acl", "Check", "Create", "Delete", "Node", "Set", "Stat", "WatchEvent"),
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
