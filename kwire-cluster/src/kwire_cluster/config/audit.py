"""The audit of a cluster in ZooKeeper: changes of settings, ACLs, credentials, topics, and features.

The write of an entry belongs into the transaction of the change, so that there is neither a change without its entry
nor an entry without its change. The newest entries are kept. The entries of topics have budgets of their own, one for
each author and for creations, alterations, and deletions: whoever may create topics can push out neither a change of an
ACL, nor what others did, nor the deletion of a topic before. The numbers of all ascend together.

    /config/audit/change_0000000041               a change of settings, ACLs, credentials, or features
    /config/audit/topic_deleted_3f2a91c0_0000000042   a deletion of a topic, by the author with that hash
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kwire_cluster.zookeeper.errors import ConnectionLost, NoNode, TransactionFailed, ZnodeError
from kwire_cluster.zookeeper.json_object import JsonObject, encode_json
from kwire_cluster.zookeeper.operations import Create, Delete

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire_cluster.zookeeper.store import Store

log = logging.getLogger("kwire_cluster.config")

AUDIT = "/config/audit"
TOPICS = "topics/"
"""Beginning of the entities that are topics."""
MAX_AUDIT_ENTRIES = 1000
"""Number of entries kept of each budget: of changes, and of the creations, alterations, or deletions of an author."""
MAX_ALL_ENTRIES = 10_000
"""Number of entries kept of all budgets together. Above it, the largest budgets shrink. Chosen: the names of 10,000
entries are half of the largest packet of ZooKeeper."""
MAX_READ_BYTES = 4 << 20
"""Maximum size in bytes of the entries of an answer; older entries are left out."""
READ_AT_ONCE = 500
"""Number of entries that are read with one request to ZooKeeper."""
AUDIT_SLACK = 100
"""Entries above the maximum before the oldest are deleted, so that not every change deletes one."""
_DIGITS = 10
"""Digits of the number that ZooKeeper appends to the name of a sequential znode."""


class AuditEntry(NamedTuple):
    """A change.

    Attributes:
        timestamp: milliseconds since 1970.
        author: the principal, the client id, and the address of the maker.
        node_id: the node that wrote it.
        entity: the entity, such as `brokers/<default>`, `topics/orders`, or `features`.
        changes: by setting, the text before and after; None if there was none.
    """

    timestamp: int
    author: str
    node_id: int
    entity: str
    changes: Mapping[str, tuple[str | None, str | None]]

    def encode(self) -> bytes:
        changes = {name: {"old": old, "new": new} for name, (old, new) in self.changes.items()}
        values = {"version": 1, "timestamp": self.timestamp, "author": self.author, "node": self.node_id}
        return encode_json({**values, "entity": self.entity, "changes": changes})

    @classmethod
    def decode(cls, data: bytes, path: str) -> AuditEntry:
        """Decode the data, or raise ZnodeError."""
        document = JsonObject.decode(data, path)
        changes = document.object("changes")
        texts = {name: changes.object(name) for name in changes.names()}
        return cls(
            document.timestamp() or 0,
            document.string("author"),
            document.integer("node"),
            document.string("entity"),
            {name: (text.optional_string("old"), text.optional_string("new")) for name, text in texts.items()},
        )


def audit_write(author: str, node_id: int, entity: str, changes: Mapping[str, tuple[str | None, str | None]]) -> Create:
    """Return the write of an entry about a change that is made now, for the transaction of the change."""
    entry = AuditEntry(time.time_ns() // 1_000_000, author, node_id, entity, changes)
    prefix = "change_"
    if entity.startswith(TOPICS):
        principal = author.partition(" ")[0]
        prefix = f"topic_{_action(changes)}_{sha256(principal.encode()).hexdigest()[:8]}_"
    return Create(f"{AUDIT}/{prefix}", entry.encode(), sequential=True)


def _action(changes: Mapping[str, tuple[str | None, str | None]]) -> str:
    """Return whether a topic was created, altered, or deleted: one without any text before did not exist."""
    if all(old is None for old, _ in changes.values()):
        return "created"
    return "deleted" if all(new is None for _, new in changes.values()) else "altered"


async def trim_audit(store: Store) -> None:
    """Delete the oldest entries above the limits. Another node may delete them at the same time."""
    try:
        budgets: dict[str, list[str]] = defaultdict(list)
        for name in await store.children(AUDIT):
            budgets[name[:-_DIGITS]].append(name)
        limit = _limit(map(len, budgets.values()))
        for names in budgets.values():
            oldest = sorted(names)[: max(len(names) - limit, 0)]
            if len(oldest) > AUDIT_SLACK:
                await _delete(store, oldest)
    except ConnectionLost:  # the next change trims
        return


def _limit(sizes: Iterable[int]) -> int:
    """Return the number of entries kept of each budget, such that all together are at most MAX_ALL_ENTRIES."""
    ordered, left = sorted(sizes), MAX_ALL_ENTRIES
    for position, size in enumerate(ordered):
        share = left // (len(ordered) - position)
        if min(size, MAX_AUDIT_ENTRIES) > share:
            return max(share, 1)
        left -= min(size, MAX_AUDIT_ENTRIES)
    return MAX_AUDIT_ENTRIES


async def _delete(store: Store, names: Sequence[str]) -> None:
    """Delete entries in batches, since a transaction costs less than its operations one by one."""
    for batch in range(0, len(names), AUDIT_SLACK):
        try:
            await store.multi([Delete(f"{AUDIT}/{name}") for name in names[batch : batch + AUDIT_SLACK]])
        except TransactionFailed as failed:
            if isinstance(failed.error, NoNode):  # another node deletes the same entries
                return
            raise failed.error from failed


async def read_audit(store: Store, newest: int, entity: str | None = None) -> list[AuditEntry]:
    """Return the newest entries, oldest first: at most MAX_READ_BYTES. Malformed entries are left out.

    Args:
        store: the session.
        newest: maximum number of entries.
        entity: only entries about this entity.

    Raises:
        StoreError: they cannot be read.
    """
    try:
        names = sorted(await store.children(AUDIT), key=lambda name: name[-_DIGITS:])
    except NoNode:
        return []
    entries: list[AuditEntry] = []
    size = 0
    while names and len(entries) < newest:
        paths = [f"{AUDIT}/{name}" for name in reversed(names[-READ_AT_ONCE:])]
        del names[-READ_AT_ONCE:]
        for path, znode in zip(paths, await store.get_many(paths), strict=True):
            if znode is None or isinstance(znode, Exception):
                continue
            try:
                entry = AuditEntry.decode(znode.data, path)
            except ZnodeError as error:
                log.error("ignoring malformed znode: %s", error)
                continue
            if entity in {None, entry.entity}:
                size += len(znode.data)
                if size > MAX_READ_BYTES or len(entries) == newest:
                    return entries[::-1]
                entries.append(entry)
    return entries[::-1]
