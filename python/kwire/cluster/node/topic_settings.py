"""The settings of topics as ZooKeeper has them, followed by means of the notes under ``/config/changes``.

Rules of this file: a note only says what to read again. All is read once when a session begins, after the watch is set,
so that nothing is missed in between; notes that were there by then are not read. A node that cannot be read is logged
with path and key, and its topic keeps the settings it had.
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

FEW = 8
"""Of more topics than these it is asked first which have settings at all: nearly none has."""

log = logger(__name__)


class TopicSettings:
    """Follows one session's notes into ``metadata``."""

    def __init__(self, store: Store, metadata: MetadataCache) -> None:
        self._store = store
        self._metadata = metadata
        self._known: set[str] = set()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read all there is; then follow."""
        while True:
            try:
                self._known = set(await self._notes())
                await self.read(await self._store.children("/config/topics"))
            except ConnectionLost:
                continue
            break
        self._task = asyncio.get_running_loop().create_task(self._follow(), name="topic settings")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def read(self, topics: Iterable[str]) -> None:
        """Read the settings of these topics. Raises what the store raises."""
        names = list(topics)
        if len(names) > FEW:
            configured = set(await self._store.children("/config/topics"))
            for name in names:
                if name not in configured:
                    self._metadata.configure(name, {})
            names = [name for name in names if name in configured]
        paths = [EntityConfig.path("topics", name) for name in names]
        for name, path, node in zip(names, paths, await self._store.get_many(paths), strict=True):
            try:
                config = EntityConfig.decode(node.data, path).config if node is not None else {}
            except ZnodeError as error:
                log.error("bad znode, left alone", path=error.path, key=error.key, reason=error.reason)  # noqa: TRY400 - the node is at fault, not the code
                continue
            self._metadata.configure(name, config)

    def _notes(self) -> asyncio.Future[list[str]]:
        return self._store.children(ConfigChangeNotification.root, self._seen)

    def _seen(self, event: WatchEvent) -> None:
        del event  # whatever it was, look again
        self._wake.set()

    async def _follow(self) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                try:
                    names = set(await self._notes())
                    new = sorted(names - self._known)
                    await self._changed(
                        await self._store.get_many(f"{ConfigChangeNotification.root}/{name}" for name in new), new
                    )
                    self._known = names
                except ConnectionLost:
                    self._wake.set()
        except (NoNode, SessionExpired, StoreClosed) as gone:
            log.debug("settings are not followed any more", reason=str(gone))

    async def _changed(self, nodes: list[Znode | None], names: list[str]) -> None:
        topics = []
        for name, node in zip(names, nodes, strict=True):
            if node is None:
                continue  # purged, or taken back, before it could be read
            path = f"{ConfigChangeNotification.root}/{name}"
            try:
                note = ConfigChangeNotification.decode(node.data, path)
            except ZnodeError as error:
                log.error("bad znode, left alone", path=error.path, key=error.key, reason=error.reason)  # noqa: TRY400 - as above
                continue
            if note.entity_type == "topics":
                topics.append(note.entity_name)
        await self.read(dict.fromkeys(topics))
