"""Administer clusters of Kafka and of the KIP-4 drafts: `AdminClient` on asyncio, `BlockingAdminClient` without it.

async with await AdminClient.open("127.0.0.1:9092") as admin:
    outcomes = await admin.create_topics({"orders": NewTopic(partitions=12, replication_factor=3)})
    outcomes.raise_first()
    await admin.wait_until_created(["orders"])
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire.client.admin.acl_values import (
        AclBinding,
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        PatternType,
        ResourceType,
    )
    from kwire.client.admin.admin_client import AdminClient
    from kwire.client.admin.blocking import BlockingAdminClient
    from kwire.client.admin.config_values import (
        ConfigChange,
        ConfigResource,
        ConfigResourceType,
        ConfigSource,
        ConfigValue,
    )
    from kwire.client.admin.errors import (
        AdminError,
        BrokerNotFound,
        ChangeTimeout,
        ControllerNotFound,
        NotSupported,
        OutcomeUnknown,
    )
    from kwire.client.admin.features import FeatureMetadata, FinalizedFeature, SupportedFeature
    from kwire.client.admin.group_values import (
        EARLIEST,
        LATEST,
        MAX_TIMESTAMP,
        CommittedOffset,
        GroupDescription,
        GroupLag,
        GroupListing,
        GroupMember,
        GroupType,
        OffsetSpec,
        PartitionLag,
        PartitionOffset,
        TopicPartition,
    )
    from kwire.client.admin.hanging_transactions import HangingTransaction
    from kwire.client.admin.log_dirs import LogDir, ReplicaSize
    from kwire.client.admin.quorum import QuorumDescription, QuorumReplica
    from kwire.client.admin.quota_values import ClientQuotaEntity, EntityName, SpecialName
    from kwire.client.admin.scram_values import (
        ScramCredentialInfo,
        ScramMechanismName,
        UserScramCredentialDeletion,
        UserScramCredentialUpsertion,
    )
    from kwire.client.admin.token_values import DelegationToken
    from kwire.client.admin.transactions import ProducerDescription, TransactionDescription, TransactionListing
    from kwire.client.admin.values import (
        BrokerAddress,
        ClusterDescription,
        NewTopic,
        Outcomes,
        PartitionDescription,
        PartitionMove,
        Progress,
        ReassignmentState,
        ReassignmentStatus,
        ToolResult,
        TopicChange,
        TopicDescription,
    )

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

_NAMES_OF = {
    "kwire.client.admin.acl_values": (
        "AclBinding",
        "AclBindingFilter",
        "AclOperation",
        "AclPermissionType",
        "PatternType",
        "ResourceType",
    ),
    "kwire.client.admin.admin_client": ("AdminClient",),
    "kwire.client.admin.blocking": ("BlockingAdminClient",),
    "kwire.client.admin.config_values": (
        "ConfigChange",
        "ConfigResource",
        "ConfigResourceType",
        "ConfigSource",
        "ConfigValue",
    ),
    "kwire.client.admin.errors": (
        "AdminError",
        "BrokerNotFound",
        "ChangeTimeout",
        "ControllerNotFound",
        "NotSupported",
        "OutcomeUnknown",
    ),
    "kwire.client.admin.features": ("FeatureMetadata", "FinalizedFeature", "SupportedFeature"),
    "kwire.client.admin.group_values": (
        "EARLIEST",
        "LATEST",
        "MAX_TIMESTAMP",
        "CommittedOffset",
        "GroupDescription",
        "GroupLag",
        "GroupListing",
        "GroupMember",
        "GroupType",
        "OffsetSpec",
        "PartitionLag",
        "PartitionOffset",
        "TopicPartition",
    ),
    "kwire.client.admin.hanging_transactions": ("HangingTransaction",),
    "kwire.client.admin.log_dirs": ("LogDir", "ReplicaSize"),
    "kwire.client.admin.quorum": ("QuorumDescription", "QuorumReplica"),
    "kwire.client.admin.quota_values": ("ClientQuotaEntity", "EntityName", "SpecialName"),
    "kwire.client.admin.scram_values": (
        "ScramCredentialInfo",
        "ScramMechanismName",
        "UserScramCredentialDeletion",
        "UserScramCredentialUpsertion",
    ),
    "kwire.client.admin.token_values": ("DelegationToken",),
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
        "ToolResult",
        "TopicChange",
        "TopicDescription",
    ),
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names}

if not TYPE_CHECKING:  # otherwise every misspelled name would have type Any

    def __getattr__(name: str) -> Any:
        """Import a public name on first use: a command needs the values of one or two operations."""
        from importlib import import_module

        if name not in _MODULE_OF:
            raise AttributeError(f"module 'kwire.client.admin' has no attribute {name!r}")
        value = getattr(import_module(_MODULE_OF[name]), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
