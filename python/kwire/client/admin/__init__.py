"""Administer clusters that implement the drafts of KIP-4: `AdminClient` on asyncio, `BlockingAdminClient` without it.

async with await AdminClient.open("127.0.0.1:9092") as admin:
    outcomes = await admin.create_topics({"orders": NewTopic(partitions=12, replication_factor=3)})
    outcomes.raise_first()
    await admin.wait_until_created(["orders"])
"""

from __future__ import annotations

from kwire.client.admin.admin_client import AdminClient
from kwire.client.admin.blocking import BlockingAdminClient
from kwire.client.admin.errors import AdminError, ChangeTimeout, ControllerNotFound
from kwire.client.admin.values import (
    BrokerAddress,
    ClusterDescription,
    NewTopic,
    Outcomes,
    PartitionDescription,
    Progress,
    ReassignmentState,
    ReassignmentStatus,
    ToolResult,
    TopicChange,
    TopicDescription,
)

__all__ = [
    "AdminClient",
    "AdminError",
    "BlockingAdminClient",
    "BrokerAddress",
    "ChangeTimeout",
    "ClusterDescription",
    "ControllerNotFound",
    "NewTopic",
    "Outcomes",
    "PartitionDescription",
    "Progress",
    "ReassignmentState",
    "ReassignmentStatus",
    "ToolResult",
    "TopicChange",
    "TopicDescription",
]
