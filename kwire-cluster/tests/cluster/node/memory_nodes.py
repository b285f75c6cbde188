"""Nodes in memory: requests of an AdminClient reach dispatchers and controllers without processes and ports."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from kwire.client import ConnectionConfig
from kwire.client.admin import AdminClient
from kwire_cluster.node.listener.connection_limits import ConnectedClient
from kwire_cluster.node.metrics import Metrics
from kwire_cluster.node.requests.request_dispatcher import RequestDispatcher
from tests.cluster.controller.clusters import cluster_of
from tests.cluster.node.handling import node_services

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kwire.protocol.endpoint import Endpoint
    from kwire_cluster.config.node_settings import NodeSettings
    from tests.cluster.controller.clusters import Cluster, LiveBroker


class MemoryNodes:
    """The nodes of a cluster in memory, by the host of their registration, such as `h1`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._tasks: set[asyncio.Task[None]] = set()

    async def open_socket(self, endpoint: Endpoint) -> socket.socket:
        """Return a connection to a node."""
        broker = self._cluster.brokers[int(endpoint.host.removeprefix("h"))]
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        ours.setblocking(False)
        task = asyncio.ensure_future(self._serve(broker, theirs))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return ours

    async def _serve(self, broker: LiveBroker, connection: socket.socket) -> None:
        services = node_services(broker.controller)
        services.metadata = broker.metadata
        dispatcher = RequestDispatcher(services, Metrics(broker.id))
        services.dispatch = dispatcher.dispatch
        reader, writer = await asyncio.open_connection(sock=connection)
        client = ConnectedClient("memory:1")
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                answered = dispatcher.dispatch(await reader.readexactly(size), client)
                whole = answered if isinstance(answered, bytes | tuple) else await answered
                writer.write(whole if isinstance(whole, bytes) else b"".join(whole))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def memory_nodes(*broker_ids: int, settings: NodeSettings) -> AsyncIterator[tuple[Cluster, AdminClient]]:
    """Start a cluster of nodes in memory, and open a client."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(cluster_of(*broker_ids, controllers=broker_ids, settings=settings))
        nodes = MemoryNodes(cluster)
        stack.push_async_callback(nodes.close)
        config = ConnectionConfig(open_socket=nodes.open_socket)
        admin = await AdminClient.open("h1:9092", config=config, timeout=20)
        stack.push_async_callback(admin.close)
        yield cluster, admin
