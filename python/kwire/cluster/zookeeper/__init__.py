"""Kafka's data in ZooKeeper: a class for every znode, and sessions to read, watch, and write them.

`connect` opens a `Store` over a ZooKeeper ensemble (requires kazoo), `MemoryZooKeeper` is an ensemble in memory, and
`EmbeddedZooKeeper` starts a server (requires Java).

Every znode class has `path(...)`, `encode()`, and `decode(data, path)`, which raises `ZnodeError` with path and key.
Unknown keys are kept in `unknown` and written back.

Sources: "Kafka data structures in Zookeeper", KIP-584, Kafka 3.9.
"""

from __future__ import annotations

from kwire.late_names import late_names

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

__getattr__, __dir__ = late_names(__name__)
