"""Administer clusters of Kafka and of the KIP-4 drafts: `AdminClient` on asyncio, `BlockingAdminClient` without it.

async with await AdminClient.open("127.0.0.1:9092") as admin:
    outcomes = await admin.create_topics({"orders": NewTopic(partitions=12, replication_factor=3)})
    outcomes.raise_first()
    await admin.wait_until_created(["orders"])
"""

from __future__ import annotations

from kwire._util.late_names import late_names

_MODULES = {
    "kwire.client.admin.acl_values": (
        "AclBinding",
        "AclBindingFilter",
        "AclOperation",
        "AclPermissionType",
        "PatternType",
        "ResourceType",
    ),
    "kwire.client.admin.admin_client": ("AdminClient",),
    "kwire.client.admin.blocking_admin_client": ("BlockingAdminClient",),
    "kwire.client.admin.config_values": (
        "ConfigChange",
        "ConfigResource",
        "ConfigResourceType",
        "ConfigSource",
        "ConfigType",
        "ConfigValue",
    ),
    "kwire.client.admin.errors": (
        "AdminError",
        "BrokerNotFound",
        "ChangeTimeout",
        "ControllerNotFound",
        "NotSupported",
        "OutcomeUnknown",
        "UnfinishedChange",
    ),
    "kwire.client.admin.feature_values": (
        "FeatureMetadata",
        "FeatureUpdate",
        "FinalizedFeature",
        "SafeLevel",
        "SupportedFeature",
    ),
    "kwire.client.admin.features": ("FeaturesRefused",),
    "kwire.client.admin.group_values": (
        "CommittedOffset",
        "EARLIEST",
        "GroupDescription",
        "GroupLag",
        "GroupListing",
        "GroupMember",
        "GroupType",
        "LATEST",
        "MAX_TIMESTAMP",
        "OffsetSpec",
        "PartitionLag",
        "PartitionOffset",
        "TopicPartition",
    ),
    "kwire.client.admin.hanging_transactions": ("HangingTransaction",),
    "kwire.client.admin.log_dirs": ("LogDir", "ReplicaDirs", "ReplicaSize"),
    "kwire.client.admin.quorum": ("QuorumDescription", "QuorumReplica", "RegisteredBroker"),
    "kwire.client.admin.quotas": ("ClientQuotaEntity", "EntityName", "SpecialName"),
    "kwire.client.admin.scram_values": (
        "ScramCredentialInfo",
        "ScramMechanismName",
        "UserScramCredentialDeletion",
        "UserScramCredentialUpsertion",
    ),
    "kwire.client.admin.tokens": ("DelegationToken",),
    "kwire.client.admin.transactions": ("ProducerDescription", "TransactionDescription", "TransactionListing"),
    "kwire.client.admin.values": (
        "BrokerAddress",
        "ClusterDescription",
        "NewTopic",
        "Outcomes",
        "PartitionDescription",
        "PartitionMove",
        "Progress",
        "ReassignmentState",
        "ReassignmentStatus",
        "ShadowedConfig",
        "ToolResult",
        "TopicChange",
        "TopicDescription",
        "TopicListing",
    ),
}

__all__, __getattr__, __dir__ = late_names(__name__, _MODULES)
