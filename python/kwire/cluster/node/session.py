"""What a node has for the time of one ZooKeeper session: its registration, its candidature, the settings it follows.

Rules of this file: all of it begins and ends together. When the session is lost, the registration is gone and another
node may be controller; so nothing is carried over, and a new session begins anew.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

from kwire.cluster.controller.controller import Controller
from kwire.cluster.controller.controller_election import create_top_level_paths
from kwire.cluster.controller.settings import ControllerSettings
from kwire.cluster.node.logs import logger
from kwire.cluster.node.registration import register
from kwire.cluster.node.topic_settings import TopicSettings
from kwire.cluster.zookeeper.errors import ConnectionLost

if TYPE_CHECKING:
    from kwire.cluster.controller.metadata_broadcast import Send
    from kwire.cluster.node.metadata_cache import MetadataCache
    from kwire.cluster.node.settings import NodeSettings
    from kwire.cluster.zookeeper import Store
    from kwire.cluster.zookeeper.operations import SessionState

LOOK_SECONDS = 1.0

log = logger(__name__)


class NodeSession:
    """One session of one node. ``broker_epoch``: the czxid of its registration, -1 before."""

    def __init__(self, store: Store, settings: NodeSettings, metadata: MetadataCache, send: Send) -> None:
        self.store = store
        self._settings = settings
        self.broker_epoch = -1
        self.topic_settings = TopicSettings(store, metadata)
        self.controller = Controller(store, settings.id, send, controller_settings(settings))
        self._over = asyncio.Event()
        self._forget = store.listen(self._state_changed)

    async def start(self, host: str, port: int) -> None:
        """Register with this address, follow settings, stand for election.

        Raises IdInUse; SessionExpired or StoreClosed when the session ends meanwhile.
        """
        settings = self._settings
        await self._paths()
        await self.topic_settings.start()
        patience = 2 * settings.zookeeper_session_timeout_ms / 1000
        self.broker_epoch = await register(self.store, settings.id, host, port, settings.rack, patience)
        log.info("registered", node_id=settings.id, host=host, port=port, broker_epoch=self.broker_epoch)
        await self.controller.start()

    @property
    def is_over(self) -> bool:
        """Whether the session has ended."""
        return self._over.is_set()

    async def over(self) -> None:
        """Until the session has ended, or its controller has, by a fault: it may be in office, and hold it for ever."""
        while not self._over.is_set() and not self.controller.is_stopped:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._over.wait()

    async def close(self) -> None:
        """Leave office if in it, and end the session: the registration goes at once."""
        async with AsyncExitStack() as ends:  # the last one is the first of these
            ends.push_async_callback(self.store.close)
            ends.callback(self._forget)
            ends.push_async_callback(self.topic_settings.stop)
            ends.push_async_callback(self.controller.stop)

    async def _paths(self) -> None:
        while True:
            try:
                await create_top_level_paths(self.store)
            except ConnectionLost:
                continue
            return

    def _state_changed(self, state: SessionState) -> None:
        if state == "suspended":
            log.warning("no connection to ZooKeeper")
        elif state in {"expired", "closed"}:
            self._over.set()


def controller_settings(settings: NodeSettings) -> ControllerSettings:
    """What the controller follows of a node's settings."""
    return ControllerSettings(
        num_partitions=settings.num_partitions,
        default_replication_factor=settings.default_replication_factor,
        unclean_leader_election=settings.unclean_leader_election,
        batch_strict=settings.strict_batches,
        queue_size=settings.queued_requests,
    )
