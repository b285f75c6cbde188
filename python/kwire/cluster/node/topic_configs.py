"""The topic configs in ZooKeeper, followed through the notifications under `/config/changes`.

A notification only names the topic to read again. When a session starts, the watch is set before all configs are read,
so no change is missed; notifications that exist by then are not read. A malformed znode is logged, and its topic keeps
the configs it had.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kwire.cluster.node.logs import logger
from kwire.cluster.zookeeper import ConfigChangeNotification, EntityConfig, ZnodeError
from kwire.cluster.zookeeper.errors import ConnectionLost, NoNode, SessionExpired, StoreClosed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.cluster.node.metadata_cache import MetadataCache
    from kwire.cluster.zookeeper import Store, WatchEvent, Znode

MAX_DIRECT_READS = 8
"""For more topics, the topics that have configs are listed first: few topics have any."""

log = logger(__name__)


class TopicConfigWatcher:
    """Copies the topic configs to the metadata cache, for one session."""

    def __init__(self, store: Store, metadata: MetadataCache) -> None:
        self._store = store
        self._metadata = metadata
        self._seen: set[str] = set()
        """The names of the notifications that need no reading."""
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read all topic configs, and start following changes."""
        while True:
            try:
                self._seen = set(await self._list_notifications())
                await self.read(await self._store.children("/config/topics"))
            except ConnectionLost:
                continue
            break
        self._task = asyncio.get_running_loop().create_task(self._follow(), name="topic configs")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def read(self, topics: Iterable[str]) -> None:
        """Read the configs of these topics.

        Raises:
            StoreError: ZooKeeper cannot be read.
        """
        names = list(topics)
        if len(names) > MAX_DIRECT_READS:
            configured = set(await self._store.children("/config/topics"))
            for name in names:
                if name not in configured:
                    self._metadata.set_configs(name, {})
            names = [name for name in names if name in configured]
        paths = [EntityConfig.path("topics", name) for name in names]
        for name, path, znode in zip(names, paths, await self._store.get_many(paths), strict=True):
            try:
                configs = EntityConfig.decode(znode.data, path).config if znode is not None else {}
            except ZnodeError as error:
                log.error("ignoring malformed znode", path=error.path, key=error.key, reason=error.reason)  # noqa: TRY400  # the znode is at fault, not the code
                continue
            self._metadata.set_configs(name, configs)

    def _list_notifications(self) -> asyncio.Future[list[str]]:
        return self._store.children(ConfigChangeNotification.root, self._on_event)

    def _on_event(self, event: WatchEvent) -> None:
        del event  # every kind of event requires listing again
        self._changed.set()

    async def _follow(self) -> None:
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                try:
                    names = set(await self._list_notifications())
                    new = sorted(names - self._seen)
                    znodes = await self._store.get_many(f"{ConfigChangeNotification.root}/{name}" for name in new)
                    await self.read(changed_topics(new, znodes))
                    self._seen = names
                except ConnectionLost:
                    self._changed.set()
        except (NoNode, SessionExpired, StoreClosed) as error:
            log.debug("topic configs are no longer followed", reason=str(error))


def changed_topics(notifications: list[str], znodes: list[Znode | None]) -> list[str]:
    """Return the topics that the notifications name, without repetitions."""
    topics: dict[str, None] = {}
    for name, znode in zip(notifications, znodes, strict=True):
        if znode is None:
            continue  # deleted before it could be read
        try:
            change = ConfigChangeNotification.decode(znode.data, f"{ConfigChangeNotification.root}/{name}")
        except ZnodeError as error:
            log.error("ignoring malformed znode", path=error.path, key=error.key, reason=error.reason)  # noqa: TRY400  # the znode is at fault, not the code
            continue
        if change.entity_type == "topics":
            topics[change.entity_name] = None
    return list(topics)
