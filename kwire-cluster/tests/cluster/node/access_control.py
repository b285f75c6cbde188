"""Entries of access control lists, written to ZooKeeper as Kafka's tools do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.authorization.acl_entries import PATTERN_TYPES, RESOURCE_TYPES, AclEntry
from kwire_cluster.zookeeper.acls import AclChangeNotification, ResourceAcls
from kwire_cluster.zookeeper.errors import NodeExists
from kwire_cluster.zookeeper.store import make_path
from tests.cluster.node.nodes import session
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire.authorization.acl_entries import PatternType, ResourceType
    from kwire_cluster.node.node import Node

ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
LOCAL = AclEntry("User:ANONYMOUS", "Allow", "All", "127.0.0.1")
"""Lets clients and nodes at this address do everything."""


def allow(operation: str, principal: str = "User:ANONYMOUS", host: str = "*") -> AclEntry:
    return AclEntry(principal, "Allow", operation, host)


async def write_acls(
    zookeeper: str,
    resource_type: ResourceType,
    name: str,
    *entries: AclEntry,
    pattern_type: PatternType = "literal",
    data: bytes | None = None,
) -> None:
    """Write the entries of a resource, or these data, and the change notification."""
    path = ResourceAcls.path(resource_type, name, pattern_type)
    encoded = ResourceAcls(entries).encode() if data is None else data
    async with session(zookeeper) as store:
        try:
            await store.create(path, encoded)
        except NodeExists:
            await store.set(path, encoded)
        notification = AclChangeNotification(resource_type, name, pattern_type)
        await store.create(AclChangeNotification.path(pattern_type), notification.encode(), sequential=True)


async def make_acls(zookeeper: str) -> None:
    """Create the parents of entries and notifications."""
    async with session(zookeeper) as store:
        for pattern_type in PATTERN_TYPES:
            await make_path(store, AclChangeNotification.path(pattern_type).rpartition("/")[0])
            for resource_type in RESOURCE_TYPES:
                await make_path(store, ResourceAcls.path(resource_type, "x", pattern_type).rpartition("/")[0])


async def change_acls(
    node: Node, zookeeper: str, resource_type: ResourceType, name: str, *entries: AclEntry, data: bytes | None = None
) -> None:
    """Write the entries of a resource, and wait until a node has applied them."""
    authorizer = node.authorizer
    assert authorizer is not None
    before = authorizer.changes
    await write_acls(zookeeper, resource_type, name, *entries, data=data)
    await eventually(lambda: authorizer.changes > before)
