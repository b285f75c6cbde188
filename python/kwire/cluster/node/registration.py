"""A node's place under ``/brokers/ids``: ephemeral, so that it is gone when the node is.

Rules of this file: a node that was killed and started again finds its own earlier registration, which ZooKeeper keeps
until that session's end; this is waited for. One that stays is another node's.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from kwire.cluster.node.logs import logger
from kwire.cluster.zookeeper import BrokerEndpoint, BrokerRegistration
from kwire.cluster.zookeeper.errors import ConnectionLost, NodeExists, ZnodeError
from kwire.errors import KwireError

if TYPE_CHECKING:
    from kwire.cluster.zookeeper import Store, WatchEvent

LISTENER = "ADMIN"
"""The name of the listener for the admin protocol."""

log = logger(__name__)


class IdInUse(KwireError):
    """Another node is registered with this id. ``node_id``; ``where``: its address, or why that cannot be told."""

    def __init__(self, node_id: int, where: str) -> None:
        super().__init__(node_id, where)
        self.node_id = node_id
        self.where = where

    def __str__(self) -> str:
        return f"another node is registered with id {self.node_id}, at {self.where}: give each node an id of its own"


async def register(store: Store, node_id: int, host: str, port: int, rack: str | None, patience: float) -> int:
    """Register, and tell the registration's epoch (czxid). ``patience``: seconds for which an earlier one may stay.

    Raises IdInUse; SessionExpired and StoreClosed when the session ends.
    """
    registration = BrokerRegistration(
        (BrokerEndpoint(LISTENER, host, port),), rack=rack, timestamp=time.time_ns() // 1_000_000
    )
    path = BrokerRegistration.path(node_id)
    deadline = asyncio.get_running_loop().time() + patience
    while True:
        try:
            await store.create(path, registration.encode(), ephemeral=True)
        except (NodeExists, ConnectionLost) as error:
            log.debug("registration not sure yet", error=repr(error))
        gone = asyncio.Event()

        def seen(event: WatchEvent, gone: asyncio.Event = gone) -> None:
            del event
            gone.set()

        try:
            stat = await store.exists(path, seen)
        except ConnectionLost:
            continue
        if stat is None:
            continue
        if stat.ephemeral_owner == store.session_id:
            return stat.czxid
        log.info("waiting for an earlier registration to end", node_id=node_id)
        try:
            async with asyncio.timeout_at(deadline):
                await gone.wait()
        except TimeoutError:
            raise IdInUse(node_id, await _where(store, path)) from None


async def _where(store: Store, path: str) -> str:
    try:
        registered = BrokerRegistration.decode((await store.get(path)).data, path)
    except ZnodeError as error:
        return f"an address that cannot be read ({error})"
    return ", ".join(map(str, registered.endpoints))
