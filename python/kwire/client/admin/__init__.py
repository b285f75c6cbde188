"""Administration from a program: ``AdminClient`` on asyncio, ``BlockingAdminClient`` with the same verbs without it.

async with await AdminClient.open("127.0.0.1:9092") as admin:
    outcomes = await admin.create_topics({"orders": NewTopic(partitions=12, replication_factor=3)})
    outcomes.raise_first()
    await admin.wait_until_created(["orders"])
"""

from __future__ import annotations

from kwire.client.admin.admin_client import AdminClient
from kwire.client.admin.blocking import BlockingAdminClient
from kwire.client.admin.errors import AdminError, NoController, NotSeenInTime
from kwire.client.admin.values import (
    ClusterDescription,
    NewTopic,
    Outcomes,
    PartitionDescription,
    Progress,
    ReassignmentStatus,
    ToolResult,
    TopicChange,
    TopicDescription,
)

__all__ = [
    "AdminClient",
    "AdminError",
    "BlockingAdminClient",
    "ClusterDescription",
    "NewTopic",
    "NoController",
    "NotSeenInTime",
    "Outcomes",
    "PartitionDescription",
    "Progress",
    "ReassignmentStatus",
    "ToolResult",
    "TopicChange",
    "TopicDescription",
]
