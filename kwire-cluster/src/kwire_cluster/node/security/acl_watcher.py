"""The access control lists in ZooKeeper, copied to the authorizer and followed through their change notifications.

Kafka's brokers and tools write a notification after each change (`/kafka-acl-changes`, `/kafka-acl-extended-changes`).
When a session starts, the watches are set before all entries are read, so no change is missed. Entries that are
malformed, or that this session must not read, close the resources that they concern.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import ResourcePattern
from kwire.authorization.acl_entries import PATTERN_TYPES, RESOURCE_TYPES
from kwire_cluster.node.logs import logger
from kwire_cluster.node.znode_watcher import ZnodeWatcher, decoded
from kwire_cluster.zookeeper.acls import AclChangeNotification, ResourceAcls
from kwire_cluster.zookeeper.errors import NoNode, NotAuthorized, ZnodeError
from kwire_cluster.zookeeper.store import make_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kwire.authorization.acl_authorizer import AclAuthorizer
    from kwire.authorization.acl_entries import AclEntry, PatternType
    from kwire_cluster.zookeeper import Store
    from kwire_cluster.zookeeper.store import ReadResult

log = logger(__name__)


class AclWatcher(ZnodeWatcher):
    """Keeps an authorizer equal to ZooKeeper for one session.

    Args:
        store: an open session.
        authorizer: gets the entries.
        on_change: called after every change of the authorizer.
    """

    def __init__(self, store: Store, authorizer: AclAuthorizer, on_change: Callable[[], None]) -> None:
        super().__init__(store, "access control lists")
        self._authorizer = authorizer
        self._on_change = on_change
        self._seen: dict[PatternType, set[str]] = {}
        """The names of the notifications that need no reading."""
        self._is_unreadable = False

    @property
    def has_unreadable(self) -> bool:
        """See `ZnodeWatcher`."""
        return self._is_unreadable

    async def _read_all(self) -> None:
        await self._make_paths()
        await self._replace_all()

    async def _make_paths(self) -> None:
        """Create the parents that do not exist, as Kafka's brokers do."""
        for pattern_type in PATTERN_TYPES:
            with suppress(NotAuthorized):
                for resource_type in RESOURCE_TYPES:
                    await make_path(self._store, _parent(ResourceAcls.path(resource_type, "x", pattern_type)))
                await make_path(self._store, _parent(AclChangeNotification.path(pattern_type)))

    async def _replace_all(self) -> None:
        self._is_unreadable = False
        entries: dict[ResourcePattern, tuple[AclEntry, ...] | None] = {}
        for pattern_type in PATTERN_TYPES:
            self._seen[pattern_type] = set(await self._notifications(pattern_type))
            for resource_type in RESOURCE_TYPES:
                try:
                    names = await self._store.children(_parent(ResourceAcls.path(resource_type, "x", pattern_type)))
                except NoNode:
                    continue
                except NotAuthorized as error:
                    # There may be a denial for any resource of the type: the empty prefix is one of every name.
                    self._report_unreadable(error)
                    entries[ResourcePattern(resource_type, "", "prefixed")] = None
                    continue
                entries |= await self._read([ResourcePattern(resource_type, name, pattern_type) for name in names])
        self._authorizer.replace(entries)
        self._on_change()

    async def _read(self, patterns: Sequence[ResourcePattern]) -> dict[ResourcePattern, tuple[AclEntry, ...] | None]:
        """Return the entries of each resource; None if they cannot be read."""
        paths = [ResourceAcls.path(*pattern) for pattern in patterns]
        znodes = await self._store.get_many(paths)
        return {
            pattern: self._decode(path, znode) for pattern, path, znode in zip(patterns, paths, znodes, strict=True)
        }

    def _decode(self, path: str, znode: ReadResult) -> tuple[AclEntry, ...] | None:
        if znode is None:
            return ()
        if isinstance(znode, NotAuthorized):
            self._report_unreadable(znode)
            return None
        try:
            return ResourceAcls.decode(znode.data, path).acls
        except ZnodeError as error:
            log.error("closing a resource to all but super users", path=error.path, key=error.key, reason=error.reason)
            return None

    def _report_unreadable(self, error: NotAuthorized) -> None:
        self._is_unreadable = True
        log.error("closing resources to all but super users", path=error.path, reason=error.reason)

    async def _notifications(self, pattern_type: PatternType) -> list[str]:
        try:
            return await self._watch_children(_parent(AclChangeNotification.path(pattern_type)))
        except NotAuthorized as error:
            self._report_unreadable(error)
            return []

    async def _read_changed(self) -> None:
        if self._is_unreadable:
            await self._replace_all()
            return
        for pattern_type in PATTERN_TYPES:
            names = set(await self._notifications(pattern_type))
            new = sorted(names - self._seen[pattern_type])
            if not new:
                self._seen[pattern_type] = names
                continue
            root = _parent(AclChangeNotification.path(pattern_type))
            znodes = await self._store.get_many(f"{root}/{name}" for name in new)
            patterns = _changed_patterns(root, new, znodes)
            if patterns is None:
                await self._replace_all()
                return
            for pattern, entries in (await self._read(list(patterns))).items():
                self._authorizer.set(pattern, entries)
            self._seen[pattern_type] = names
            self._on_change()


def _changed_patterns(
    root: str, names: Iterable[str], znodes: Iterable[ReadResult]
) -> dict[ResourcePattern, None] | None:
    """Return the resources that notifications name; None if one of them cannot be read."""
    patterns: dict[ResourcePattern, None] = {}
    for name, znode in zip(names, znodes, strict=True):
        if znode is None or isinstance(znode, NotAuthorized):
            return None  # deleted before it could be read, or protected
        changed = decoded(f"{root}/{name}", znode, AclChangeNotification.decode)
        if changed is not None:
            patterns[ResourcePattern(changed.resource_type, changed.name, changed.pattern_type)] = None
    return patterns


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
