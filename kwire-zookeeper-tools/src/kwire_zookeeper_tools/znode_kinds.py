"""Every znode of a Kafka cluster: its path, its class, who writes it, and an example.

`kafka zookeeper decode` finds the class of a path here, and `scripts/docs_znodes.py` writes the page of all znodes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from kwire.authorization.acl_entries import AclEntry
from kwire_cluster.config.audit import AUDIT, AuditEntry
from kwire_cluster.zookeeper.acls import AclChangeNotification, ResourceAcls
from kwire_cluster.zookeeper.admin_requests import (
    IsrChangeNotification,
    ListedPartition,
    LogDirEventNotification,
    PartitionReassignment,
    PreferredReplicaElection,
    ProducerIdBlock,
    ReassignPartitions,
)
from kwire_cluster.zookeeper.brokers import BrokerRegistration, ClusterId, RegisteredEndpoint, SupportedVersionRange
from kwire_cluster.zookeeper.configs import ConfigChangeNotification, EntityConfig
from kwire_cluster.zookeeper.consumers import ConsumerOffset, ConsumerOwner, ConsumerRegistration
from kwire_cluster.zookeeper.controllers import ActiveController, ControllerEpoch
from kwire_cluster.zookeeper.features import LAST_FEATURES, FeaturesZnode, FinalizedVersionRange, VersionedFeatures
from kwire_cluster.zookeeper.topics import DeletionMarker, PartitionState, TopicRegistration

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ZNODES", "ZnodeKind", "find_znode_kind"]


class ZnodeKind(NamedTuple):
    """A kind of znode.

    Attributes:
        path: the path, with `{topic}` and the like for what differs.
        written_by: the programs that create, change, and delete it.
        versions: the versions of its format, with the releases that write them.
        example: an instance of its class; None for a znode that has no data, or whose data kwire does not read.
        purpose: the purpose if it has no class of its own, whose description says it.
    """

    path: str
    written_by: str
    versions: str
    example: Any = None
    purpose: str = ""

    @property
    def pattern(self) -> re.Pattern[str]:
        """A regular expression for the paths of this kind."""
        parts = re.split(r"(\{[a-z ]+\})", self.path)
        return re.compile("".join("[^/]+" if part.startswith("{") else re.escape(part) for part in parts))

    def decode(self, data: bytes, path: str) -> Mapping[str, object]:
        """Return the fields of the data by name.

        Raises:
            ZnodeError: the data are malformed.
        """
        znode: Any = type(self.example).decode(data, path)
        return {name: getattr(znode, name) for name in getattr(znode, "_fields", None) or znode.__dataclass_fields__}


TOOLS = "tools with --zookeeper (until Kafka 2.8)"
CONTROLLER = "the controller"
CONFIGS = f"{CONTROLLER} and brokers that alter configs; {TOOLS}"
ORDERS = TopicRegistration(
    {0: (1, 2), 1: (2, 3)}, UUID("431072b8-c622-4095-9462-371d6cb3bc28"), adding_replicas={1: (3,)}
)
ZNODES = (
    ZnodeKind(
        "/admin/delete_topics/{topic}",
        f"a broker that deletes a topic, and {TOOLS}; {CONTROLLER} deletes it once the topic is deleted",
        "no data",
        DeletionMarker("orders"),
    ),
    ZnodeKind(
        "/admin/preferred_replica_election",
        f"{TOOLS} and nodes of kwire; {CONTROLLER} deletes it",
        "1 (since 0.8)",
        PreferredReplicaElection((ListedPartition("orders", 0),)),
    ),
    ZnodeKind(
        "/admin/reassign_partitions",
        f"{TOOLS} and nodes of kwire; {CONTROLLER} removes what is complete, and deletes it in the end",
        "1 (since 0.8)",
        ReassignPartitions((PartitionReassignment("orders", 0, (2, 3)),)),
    ),
    ZnodeKind(
        "/brokers/ids/{broker}",
        "the broker; ephemeral",
        "1 (0.8), 2 (0.8.3), 3 (0.10), 4 (0.10.2), 5 (2.7, KIP-584)",
        BrokerRegistration(
            (RegisteredEndpoint("SSL", "broker-1", 9093, "SSL"), RegisteredEndpoint("PLAINTEXT", "broker-1", 9092)),
            rack="eu-1a",
            features={"group_coordinator": SupportedVersionRange(1, 3)},
            timestamp=1_795_334_400_000,
        ),
    ),
    ZnodeKind(
        "/brokers/seqid", "brokers with `broker.id.generation.enable`", "no data", purpose="generates broker ids"
    ),
    ZnodeKind(
        "/brokers/topics/{topic}",
        f"a broker or node that creates a topic, {CONTROLLER}, and {TOOLS}",
        "1 (until 2.3), 2 (2.4), 3 (2.8)",
        ORDERS,
    ),
    ZnodeKind(
        "/brokers/topics/{topic}/partitions/{partition}/state",
        "the controller; in Kafka before 2.7 also the leader, which writes its ISR",
        "1 (since 0.8)",
        PartitionState(leader=1, leader_epoch=3, isr=(1, 2), controller_epoch=7),
    ),
    ZnodeKind(
        "/cluster/id", "the first broker of the cluster", "1 (since 0.10.1)", ClusterId("5L6g3nShT-eMCtK--X86sw")
    ),
    ZnodeKind(
        f"{AUDIT}/{{entry}}",
        "nodes of kwire, in the transaction of a change; sequential",
        "1 (kwire)",
        AuditEntry(
            1_795_334_400_000, "User:alice kafka 10.0.0.7", 2, "topics/orders", {"retention.ms": ("7", "86400000")}
        ),
    ),
    ZnodeKind(
        "/config/changes/config_change_{number}",
        f"{CONFIGS}; sequential; deleted after 15 minutes",
        "quoted text (0.8), 1 (0.9), 2 (0.10.1)",
        ConfigChangeNotification("topics/orders"),
    ),
    *(
        ZnodeKind(f"/config/{type}/{{name}}", CONFIGS, f"1 (since {since})", EntityConfig(config), purpose)
        for type, since, config, purpose in (
            ("brokers", "0.10.1", {"log.retention.ms": "86400000"}, "configs of a broker; `<default>` for all brokers"),
            ("clients", "0.9", {"producer_byte_rate": "1048576"}, "quotas of a client id; `<default>` for all"),
            ("ips", "2.8", {"connection_creation_rate": "10"}, "quotas of an IP address; `<default>` for all"),
            ("topics", "0.8", {"retention.ms": "86400000"}, "configs of a topic"),
            ("users", "0.10.1", {"producer_byte_rate": "1048576"}, "quotas and SCRAM credentials of a user"),
        )
    ),
    ZnodeKind(
        "/config/users/{user}/clients/{client}",
        CONFIGS,
        "1 (since 0.10.1)",
        EntityConfig({"request_percentage": "12.5"}),
        "quotas of a client id of a user",
    ),
    ZnodeKind(
        LAST_FEATURES,
        "the controller of a cluster of kwire's nodes",
        "1 (kwire)",
        VersionedFeatures(FeaturesZnode(True, {"group_coordinator": FinalizedVersionRange(1, 3)}), 5),
        "the last finalized features with their epoch",
    ),
    ZnodeKind(
        "/consumers/{group}/ids/{consumer}",
        "a consumer of Kafka 0.8; ephemeral",
        "1 (until 1.1)",
        ConsumerRegistration("static", {"orders": 1}, 1_795_334_400_000),
    ),
    ZnodeKind(
        "/consumers/{group}/offsets/{topic}/{partition}",
        "a consumer of Kafka 0.8, and the tools that import offsets",
        "a decimal number",
        ConsumerOffset(42),
    ),
    ZnodeKind(
        "/consumers/{group}/owners/{topic}/{partition}",
        "a consumer of Kafka 0.8; ephemeral",
        "the id of a consumer and a thread",
        ConsumerOwner("billing_host-1-1795334400000-0"),
    ),
    ZnodeKind(
        "/controller",
        "the broker that wins the election; ephemeral",
        "1 (since 0.8), 2 (3.4, KIP-866)",
        ActiveController(2, 1_795_334_400_000, -1),
    ),
    ZnodeKind("/controller_epoch", "a broker that becomes the controller", "a decimal number", ControllerEpoch(7)),
    ZnodeKind("/delegation_token/tokens/{token}", "brokers", "1 (since 1.1)", purpose="a delegation token"),
    ZnodeKind(
        "/feature",
        "the controller of Kafka 2.7 to 3.9",
        "0 (2.7), 1 (3.3)",
        purpose="the finalized features of Kafka; kwire reads `/features`, as KIP-584 names it, and never writes here",
    ),
    ZnodeKind(
        "/features",
        "the controller of a cluster of kwire's nodes (KIP-584)",
        "0",
        FeaturesZnode(True, {"group_coordinator": FinalizedVersionRange(1, 3)}),
    ),
    ZnodeKind(
        "/isr_change_notification/isr_change_{number}",
        "a leader of Kafka before 2.7; sequential; the controller deletes it",
        "1 (since 0.8.2)",
        IsrChangeNotification((ListedPartition("orders", 0),)),
    ),
    ZnodeKind(
        "/kafka-acl/{type}/{name}",
        "brokers that change ACLs, and kafka-acls with --authorizer-properties",
        "1 (since 0.9)",
        ResourceAcls((AclEntry("User:alice", "Allow", "Read", "*"),)),
        "the ACL of a resource",
    ),
    ZnodeKind(
        "/kafka-acl-changes/acl_changes_{number}",
        "whoever changes an ACL; sequential",
        "text (since 0.9)",
        AclChangeNotification("Topic", "orders"),
    ),
    ZnodeKind(
        "/kafka-acl-extended/prefixed/{type}/{prefix}",
        "brokers that change ACLs, and kafka-acls with --authorizer-properties",
        "1 (since 2.0, KIP-290)",
        ResourceAcls((AclEntry("User:bob", "Deny", "Write", "10.0.0.1"),)),
        "the ACL of all resources whose names begin with the prefix",
    ),
    ZnodeKind(
        "/kafka-acl-extended-changes/acl_changes_{number}",
        "whoever changes an ACL; sequential",
        "1 (since 2.0)",
        AclChangeNotification("Topic", "audit-", "prefixed"),
    ),
    ZnodeKind(
        "/latest_producer_id_block",
        "a broker that needs producer ids",
        "1 (since 0.11)",
        ProducerIdBlock(1, 0, 999),
    ),
    ZnodeKind(
        "/log_dir_event_notification/log_dir_event_{number}",
        "a broker that lost a log directory; sequential; the controller deletes it",
        "1 (since 1.0)",
        LogDirEventNotification(1),
    ),
    ZnodeKind("/migration", "a KRaft controller (3.4 to 3.9)", "0", purpose="the state of a migration to KRaft"),
)
"""The kinds of znodes with data, by path."""


def find_znode_kind(path: str) -> ZnodeKind | None:
    """Return the kind of the znode at a path without the chroot; None for an unknown one."""
    return next((kind for kind in ZNODES if kind.pattern.fullmatch(path)), None)
