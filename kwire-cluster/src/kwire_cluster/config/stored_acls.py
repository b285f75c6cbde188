"""Access control lists in ZooKeeper: changed with a notification and an audit entry in the same transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cluster.config.audit import audit_write, trim_audit
from kwire_cluster.config.stored_configs import WriteAgain, write_announced, write_of
from kwire_cluster.zookeeper.acls import AclChangeNotification, ResourceAcls
from kwire_cluster.zookeeper.errors import ConnectionLost, NoNode
from kwire_cluster.zookeeper.operations import Create, Delete

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire.authorization.acl_entries import AclEntry, PatternType, ResourceType
    from kwire_cluster.zookeeper.store import Store


async def change_acls(
    store: Store,
    resource_type: ResourceType,
    name: str,
    pattern_type: PatternType,
    *,
    add: Collection[AclEntry] = (),
    remove: Collection[AclEntry] = (),
    author: str | None,
    node_id: int,
) -> tuple[AclEntry, ...]:
    """Add entries to a resource, or remove some, and return all of its entries.

    Adding an entry again, and removing one that does not exist, change nothing. Without entries, the znode is deleted.

    Args:
        store: the session.
        resource_type: the type of the resource.
        name: the name of the resource, or a prefix.
        pattern_type: the type of the name.
        add: entries to add.
        remove: entries to remove.
        author: the principal in the audit of kwire's cluster; None on a cluster of Kafka, which has no audit.
        node_id: the node in the audit.

    Raises:
        ZnodeError: the znode is malformed.
        StoreError: it cannot be read or written.
    """
    path = ResourceAcls.path(resource_type, name, pattern_type)
    while True:
        try:
            try:
                znode = await store.get(path)
                before, version = ResourceAcls.decode(znode.data, path), znode.stat.version
            except NoNode:
                before, version = ResourceAcls(()), -1
            kept = [entry for entry in before.acls if not _contains(remove, entry)]
            after = ResourceAcls((*kept, *(entry for entry in add if not _contains(kept, entry))), before.unknown)
            if after.acls == before.acls:
                return after.acls
            audit: list[Create] = []
            if author is not None:
                resource = f"acls/{resource_type}/{pattern_type}/{name}"
                change = (_text(before) if version >= 0 else None, _text(after) if after.acls else None)
                audit = [audit_write(author, node_id, resource, {"acls": change})]
            write = write_of(path, after.encode(), version) if after.acls else Delete(path, version)
            notification = AclChangeNotification(resource_type, name, pattern_type)
            announcement = Create(notification.path(pattern_type), notification.encode(), sequential=True)
            await write_announced(store, write, announcement, audit)
        except (ConnectionLost, WriteAgain):  # the same change again is harmless
            continue
        if audit:
            await trim_audit(store)
        return after.acls


def _contains(entries: Collection[AclEntry], entry: AclEntry) -> bool:
    return any(existing.is_same_as(entry) for existing in entries)


def _text(acls: ResourceAcls) -> str:
    return "; ".join(f"{one.permission_type} {one.operation} for {one.principal} from {one.host}" for one in acls.acls)
