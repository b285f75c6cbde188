"""Access control lists in ZooKeeper: changed with a notification and an audit entry in the same transaction."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kwire.cluster.config.stored_configs import AUDIT, AuditEntry, trim_audit
from kwire.cluster.zookeeper.acls import AclChangeNotification, ResourceAcls
from kwire.cluster.zookeeper.errors import BadVersion, ConnectionLost, NodeExists, NoNode, TransactionFailed
from kwire.cluster.zookeeper.operations import Create, Delete, SetData
from kwire.cluster.zookeeper.store import make_path

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire.cluster.zookeeper.acls import AclEntry, PatternType, ResourceType
    from kwire.cluster.zookeeper.operations import Operation
    from kwire.cluster.zookeeper.store import Store

__all__ = ["change_acls"]


async def change_acls(
    store: Store,
    resource_type: ResourceType,
    name: str,
    pattern_type: PatternType,
    *,
    add: Collection[AclEntry] = (),
    remove: Collection[AclEntry] = (),
    author: str,
    node_id: int,
) -> tuple[AclEntry, ...]:
    """Add entries to a resource, or remove some, and return all of its entries.

    Adding an entry again, and removing one that does not exist, change nothing. Without entries, the znode is deleted.

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
            entry = AuditEntry(
                time.time_ns() // 1_000_000,
                author,
                node_id,
                f"acls/{resource_type}/{pattern_type}/{name}",
                {"acls": (_text(before) if version >= 0 else None, _text(after) if after.acls else None)},
            )
            notification = AclChangeNotification(resource_type, name, pattern_type)
            changes = AclChangeNotification.path(pattern_type)
            await store.multi(
                [
                    _write(path, after, version),
                    Create(changes, notification.encode(), sequential=True),
                    Create(f"{AUDIT}/change_", entry.encode(), sequential=True),
                ]
            )
        except ConnectionLost:  # the same change again is harmless
            continue
        except TransactionFailed as failed:
            if not isinstance(failed.error, NoNode | BadVersion | NodeExists):
                raise failed.error from failed
            for parent in (path.rpartition("/")[0], AclChangeNotification.path(pattern_type).rpartition("/")[0], AUDIT):
                await make_path(store, parent)
            continue
        await trim_audit(store)
        return after.acls


def _contains(entries: Collection[AclEntry], entry: AclEntry) -> bool:
    return any(each.is_same_as(entry) for each in entries)


def _write(path: str, after: ResourceAcls, version: int) -> Operation:
    if not after.acls:
        return Delete(path, version)
    return Create(path, after.encode()) if version < 0 else SetData(path, after.encode(), version)


def _text(acls: ResourceAcls) -> str:
    return "; ".join(f"{one.permission_type} {one.operation} for {one.principal} from {one.host}" for one in acls.acls)
