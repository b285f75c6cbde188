"""Administer clusters of Kafka and of the KIP-4 drafts: `AdminClient` on asyncio, `BlockingAdminClient` without it.

async with await AdminClient.open("127.0.0.1:9092") as admin:
    outcomes = await admin.create_topics({"orders": NewTopic(partitions=12, replication_factor=3)})
    outcomes.raise_first()
    await admin.wait_until_created(["orders"])
"""

from __future__ import annotations

from kwire.late_names import late_names

__all__ = [
    "EARLIEST",
    "LATEST",
    "MAX_TIMESTAMP",
    "AclBinding",
    "AclBindingFilter",
    "AclOperation",
    "AclPermissionType",
    "AdminClient",
    "AdminError",
    "BlockingAdminClient",
    "BrokerAddress",
    "BrokerNotFound",
    "ChangeTimeout",
    "ClientQuotaEntity",
    "ClusterDescription",
    "CommittedOffset",
    "ConfigChange",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSource",
    "ConfigValue",
    "ControllerNotFound",
    "DelegationToken",
    "EntityName",
    "FeatureMetadata",
    "FinalizedFeature",
    "GroupDescription",
    "GroupLag",
    "GroupListing",
    "GroupMember",
    "GroupType",
    "HangingTransaction",
    "LogDir",
    "NewTopic",
    "NotSupported",
    "OffsetSpec",
    "OutcomeUnknown",
    "Outcomes",
    "PartitionDescription",
    "PartitionLag",
    "PartitionMove",
    "PartitionOffset",
    "PatternType",
    "ProducerDescription",
    "Progress",
    "QuorumDescription",
    "QuorumReplica",
    "ReassignmentState",
    "ReassignmentStatus",
    "ReplicaSize",
    "ResourceType",
    "ScramCredentialInfo",
    "ScramMechanismName",
    "ShadowedConfig",
    "SpecialName",
    "SupportedFeature",
    "ToolResult",
    "TopicChange",
    "TopicDescription",
    "TopicPartition",
    "TransactionDescription",
    "TransactionListing",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
]

__getattr__, __dir__ = late_names(__name__)
