"""The registration of a node under `/brokers/ids`.

The znode is ephemeral. A node that was killed and restarted finds its own earlier registration, which ZooKeeper keeps
until the earlier session ends, and waits for its end. A registration that stays belongs to another node. A registration
that another program deletes is created again as long as the session is alive.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from kwire.errors import KwireError
from kwire.uuids import uuid_to_text
from kwire_cluster.node.logs import logger
from kwire_cluster.zookeeper import BrokerRegistration, ClusterId, SupportedVersionRange
from kwire_cluster.zookeeper.errors import ConnectionLost, NodeExists, NoNode, NotAuthorized, ZnodeError
from kwire_cluster.zookeeper.store import make_path

if TYPE_CHECKING:
    from kwire_cluster.config.node_settings import NodeSettings
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
        try:
            stat = await store.exists(BrokerRegistration.path(node_id), partial(_set, changed))
        except ConnectionLost:
            continue
        if stat is None or stat.ephemeral_owner != store.session_id:
            return
        await changed.wait()


async def _registered_address(store: Store, path: str) -> str:
    try:
        registered = BrokerRegistration.decode((await store.get(path)).data, path)
    except (ZnodeError, NoNode, NotAuthorized) as error:
        return f"an unknown address ({error})"
    return ", ".join(map(str, registered.endpoints))
