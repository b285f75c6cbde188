"""The ZooKeeper session of a node: its registration, its part in the controller election, and the configs it follows.

All of this ends with the session: the registration is gone, and another broker may be controller. Nothing is carried
over to the next session.

The registration under `/brokers/ids` is ephemeral. A node that was killed and restarted finds its own earlier
registration, which ZooKeeper keeps until the earlier session ends, and waits for its end. A registration that stays
belongs to another node. One that another program deletes is created again as long as the session is alive.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from kwire.errors import KwireError
from kwire.uuids import uuid_to_text
from kwire_cluster.controller.controller import Controller
from kwire_cluster.controller.controller_election import create_top_level_paths
from kwire_cluster.node.logs import logger
from kwire_cluster.node.security.acl_watcher import AclWatcher
from kwire_cluster.node.settings.config_watcher import ConfigWatcher
from kwire_cluster.node.settings.finalized_features import FeatureWatcher
from kwire_cluster.zookeeper import BrokerRegistration, ClusterId, SupportedVersionRange
from kwire_cluster.zookeeper.errors import (
    ConnectionLost,
    NodeExists,
    NoNode,
    NotAuthorized,
    SessionExpired,
    StoreClosed,
    StoreError,
    ZnodeError,
)
from kwire_cluster.zookeeper.operations import SessionState
from kwire_cluster.zookeeper.store import make_path, until_answered

if TYPE_CHECKING:
    from kwire.authorization.acl_authorizer import AclAuthorizer
    from kwire_cluster.config.live_config import LiveConfig
    from kwire_cluster.config.node_settings import NodeSettings
    from kwire_cluster.controller.metadata_broadcast import Send
    from kwire_cluster.node.metadata.metadata_cache import MetadataCache
    from kwire_cluster.node.settings.finalized_features import FeatureCache
    from kwire_cluster.security.sasl_authentication import ScramUsers
    from kwire_cluster.zookeeper import RegisteredEndpoint, Store, WatchEvent

log = logger(__name__)


class IdInUse(KwireError):
    """Another node is registered with this id.

    Attributes:
        node_id: the id.
        address: the address of the other node, or why it is not known.
    """

    def __init__(self, node_id: int, address: str) -> None:
        super().__init__(node_id, address)
        self.node_id = node_id
        self.address = address

    def __str__(self) -> str:
        return f"another node is registered with id {self.node_id}, at {self.address}: give each node a unique id"


async def ensure_cluster_id(store: Store) -> str:
    """Return the id of the cluster. The first node of a cluster generates it, as in Kafka.

    Raises:
        SessionExpired, StoreClosed: the session has ended.
    """
    path = ClusterId.path()
    while True:
        try:
            return ClusterId.decode((await store.get(path)).data, path).id
        except ConnectionLost:
            continue
        except (ZnodeError, NotAuthorized) as error:
            log.error("ignoring the cluster id", path=error.path, reason=str(error))
            return ""
        except NoNode:
            new = uuid_to_text(uuid4())
            with suppress(ConnectionLost, NodeExists):
                await make_path(store, path.rpartition("/")[0])
                await store.create(path, ClusterId(new).encode())


def registration(settings: NodeSettings, endpoints: tuple[RegisteredEndpoint, ...]) -> BrokerRegistration:
    """Return the registration of a node that others connect to at these endpoints, the one for clients first."""
    supported = settings.supported_features.items()
    return BrokerRegistration(
        endpoints,
        rack=settings.rack,
        features={name: SupportedVersionRange(levels.min_version, levels.max_version) for name, levels in supported},
        timestamp=time.time_ns() // 1_000_000,
    )


async def register(store: Store, node_id: int, registration: BrokerRegistration, timeout: float) -> int:
    """Register a node, and return its broker epoch, the czxid of the registration.

    Args:
        store: an open session.
        node_id: the broker id.
        registration: the registration.
        timeout: seconds to wait for the end of an earlier registration.

    Raises:
        IdInUse: an earlier registration stays.
        SessionExpired, StoreClosed: the session has ended.
    """
    path = BrokerRegistration.path(node_id)
    deadline = asyncio.get_running_loop().time() + timeout
    while True:
        try:
            await store.create(path, registration.encode(), ephemeral=True)
        except (NodeExists, ConnectionLost) as error:
            log.debug("registration not confirmed", error=repr(error))
        except NoNode:  # another program has deleted the parent
            with suppress(ConnectionLost):
                await make_path(store, BrokerRegistration.root)
            continue
        changed = asyncio.Event()
        try:
            stat = await store.exists(path, partial(_set, changed))
        except ConnectionLost:
            continue
        if stat is None:
            continue
        if stat.ephemeral_owner == store.session_id:
            return stat.czxid
        log.info("waiting for the end of an earlier registration", node_id=node_id)
        try:
            async with asyncio.timeout_at(deadline):
                await changed.wait()
        except TimeoutError:
            raise IdInUse(node_id, await _registered_address(store, path)) from None


def _set(changed: asyncio.Event, event: WatchEvent) -> None:
    del event  # every kind of event requires reading again
    changed.set()


async def wait_deleted(store: Store, node_id: int) -> None:
    """Wait until the registration of this session does not exist.

    Raises:
        StoreError: the session has ended, or must not read the registration.
    """
    while True:
        changed = asyncio.Event()
        stat = await until_answered(partial(store.exists, BrokerRegistration.path(node_id), partial(_set, changed)))
        if stat is None or stat.ephemeral_owner != store.session_id:
            return
        await changed.wait()


async def _registered_address(store: Store, path: str) -> str:
    try:
        registered = BrokerRegistration.decode((await store.get(path)).data, path)
    except (ZnodeError, NoNode, NotAuthorized) as error:
        return f"an unknown address ({error})"
    return ", ".join(map(str, registered.endpoints))


CHECK_SECONDS = 1.0


class NodeSession:
    """One ZooKeeper session of one node."""

    def __init__(
        self,
        store: Store,
        config: LiveConfig,
        metadata: MetadataCache,
        features: FeatureCache,
        authorizer: AclAuthorizer | None,
        scram_users: ScramUsers | None,
        send: Send,
    ) -> None:
        self.store = store
        self._config = config
        self.broker_epoch = -1
        """The czxid of the registration; -1 before it."""
        self.cluster_id = ""
        """The id of the cluster; empty before the registration."""
        self.features = FeatureWatcher(store, features)
        self.configs = ConfigWatcher(store, metadata, config, scram_users)
        self.acls = AclWatcher(store, authorizer, metadata.mark_changed) if authorizer is not None else None
        self.controller = Controller(
            store,
            config.current.id,
            send,
            config,
            known_topic_id=metadata.topic_id,
            known_features=lambda: features.current,
        )
        self._registration: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._stop_listening = store.listen(self._state_changed)

    async def follow(self) -> None:
        """Follow features, access control lists, configs, and credentials, which the node needs to answer requests.

        Raises:
            IncompatibleFeatures: the node does not support the finalized features.
            SessionExpired, StoreClosed: the session has ended.
        """
        await until_answered(lambda: create_top_level_paths(self.store))
        await self.features.start()
        if self.acls is not None:
            await self.acls.start()
        await self.configs.start()

    async def join(self, endpoints: tuple[RegisteredEndpoint, ...]) -> None:
        """Register, and join the controller election.

        Raises:
            IdInUse: another node is registered with this id.
            SessionExpired, StoreClosed: the session has ended.
        """
        self.cluster_id = await ensure_cluster_id(self.store)
        await self._register(endpoints)
        self._registration = asyncio.get_running_loop().create_task(self._keep_registered(endpoints))
        await self.controller.start()

    async def _register(self, endpoints: tuple[RegisteredEndpoint, ...]) -> None:
        settings = self._config.current
        timeout = 2 * settings.zookeeper_session_timeout_ms / 1000
        self.broker_epoch = await register(self.store, settings.id, registration(settings, endpoints), timeout)
        log.info("registered", node_id=settings.id, endpoints=list(map(str, endpoints)), broker_epoch=self.broker_epoch)

    async def _keep_registered(self, endpoints: tuple[RegisteredEndpoint, ...]) -> None:
        """Register again whenever another program has deleted the registration."""
        while True:
            try:
                await wait_deleted(self.store, self._config.current.id)
                log.warning("another program has deleted the registration")
                await self._register(endpoints)
            except (SessionExpired, StoreClosed):
                return
            except (StoreError, IdInUse) as error:
                log.error("cannot register again, retrying", reason=str(error))
                await asyncio.sleep(CHECK_SECONDS)

    @property
    def has_ended(self) -> bool:
        """True once the session has ended."""
        return self._ended.is_set()

    async def wait_ended(self) -> None:
        """Wait until the session has ended, or the controller has failed.

        A failed controller must not keep the session: it might be the active one, and would hold `/controller` forever.
        """
        while not self._ended.is_set() and not self.controller.is_stopped:
            with suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._ended.wait()

    async def close(self) -> None:
        """Resign as controller, and end the session, which removes the registration immediately."""
        async with AsyncExitStack() as stack:  # runs in reverse order
            stack.push_async_callback(self.store.close)
            stack.callback(self._stop_listening)
            stack.push_async_callback(self.configs.stop)
            stack.push_async_callback(self.features.stop)
            if self.acls is not None:
                stack.push_async_callback(self.acls.stop)
            if self._registration is not None:
                self._registration.cancel()
                stack.push_async_callback(asyncio.wait, [self._registration])
            stack.push_async_callback(self.controller.stop)

    def _state_changed(self, state: SessionState) -> None:
        if state == SessionState.SUSPENDED:
            log.warning("connection to ZooKeeper lost")
        elif state in {SessionState.EXPIRED, SessionState.CLOSED}:
            self._ended.set()
