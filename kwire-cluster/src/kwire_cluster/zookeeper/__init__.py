"""Kafka's data in ZooKeeper: a class for every znode, and sessions to read, watch, and write them.

`connect` opens a `Store` over a ZooKeeper ensemble, and `EmbeddedZooKeeper` starts a server (requires
Java). `tests.cluster.memory_store` is an ensemble in memory.

Every znode class has `path(...)`, `encode()`, and `decode(data, path)`, which raises `ZnodeError` with path and key.
Unknown keys are kept in `unknown` and written back.

Sources: "Kafka data structures in Zookeeper", KIP-584, Kafka 3.9.
"""

from __future__ import annotations

from kwire._util.late_names import late_names

_MODULES = {
    "kwire_cluster.zookeeper.acls": ("AclChangeNotification", "ResourceAcls"),
    "kwire_cluster.zookeeper.admin_requests": (
        "IsrChangeNotification",
        "ListedPartition",
        "LogDirEventNotification",
        "PartitionReassignment",
        "PreferredReplicaElection",
        "ProducerIdBlock",
        "ReassignPartitions",
    ),
    "kwire_cluster.zookeeper.brokers": (
        "RegisteredEndpoint",
        "BrokerRegistration",
        "ClusterId",
        "SupportedVersionRange",
    ),
    "kwire_cluster.zookeeper.configs": ("ConfigChangeNotification", "EntityConfig", "notification_format"),
    "kwire_cluster.zookeeper.connection": ("Credentials", "Tls", "connect"),
    "kwire_cluster.zookeeper.consumers": ("ConsumerOffset", "ConsumerOwner", "ConsumerRegistration"),
    "kwire_cluster.zookeeper.controllers": ("ActiveController", "ControllerEpoch"),
    "kwire_cluster.zookeeper.embedded_server": ("EmbeddedZooKeeper",),
    "kwire_cluster.zookeeper.errors": ("StoreError", "ZnodeError"),
    "kwire_cluster.zookeeper.features": ("FeaturesZnode", "FinalizedVersionRange"),
    "kwire_cluster.zookeeper.operations": (
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
    "kwire_cluster.zookeeper.store": ("Store", "make_path"),
    "kwire_cluster.zookeeper.topics": ("DeletionMarker", "PartitionState", "TopicRegistration"),
}

__all__, __getattr__, __dir__ = late_names(__name__, _MODULES)
