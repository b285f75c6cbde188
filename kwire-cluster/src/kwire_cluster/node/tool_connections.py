"""Connections of the process of a tool to the nodes of the cluster, as the user who runs the tool.

A connection is one end of a pair of sockets. The node serves the other end like a connection of the user, so the
dispatcher, the access control lists, and the filters of lists apply to it. For another node, each request is wrapped in
an Envelope (KIP-590), with the principal and the address of the user, and sent with the identity of this node; the
other node authorizes it in the same way.
"""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from struct import pack
from typing import TYPE_CHECKING

from kwire.client.connection_pool import ConnectionPool
from kwire.protocol.errors import ConnectionFault
from kwire_cluster.node.forwarding import ForwardingRefused, forward
from kwire_cluster.node.listener.connection_limits import CloseReason, InvalidRequest, RequestHandlers
from kwire_cluster.node.listener.listener import no_cached_responses
from kwire_cluster.node.listener.node_connection import NodeConnection

if TYPE_CHECKING:
    from kwire.authorization.subjects import Subject
    from kwire.client.connection_config import ConnectionConfig
    from kwire.protocol.endpoint import Endpoint
    from kwire_cluster.node.listener.connection_limits import ConnectedClient
    from kwire_cluster.node.listener.listener import Listener
    from kwire_cluster.node.metadata.metadata_cache import MetadataCache

MAX_CONNECTIONS = 64
"""Maximum number of connections of one run. Chosen, not measured: a client opens one to each node that it uses."""
TIMEOUT = 30.0
"""Timeout in seconds of a forwarded request, equal to the timeout of the client in the process of the tool."""


class ToolConnections:
    """Connections of one run of a tool.

    Args:
        listener: the listener of the node, which counts the connections and limits their memory.
        metadata: the brokers of the cluster.
        node_id: the id of this node.
        address: the host and port of this node, as clients connect to it.
        config: configuration with which this node connects to other nodes.
        subject: the user who runs the tool.
        peer: the address of the user's connection, for the log and the audit.
    """

    def __init__(
        self,
        listener: Listener,
        metadata: MetadataCache,
        node_id: int,
        address: tuple[str, int],
        config: ConnectionConfig | None,
        subject: Subject,
        peer: str,
    ) -> None:
        self._listener = listener
        self._metadata = metadata
        self._node_id = node_id
        self.address = address
        self._subject = subject
        self._peer = peer
        self._forwarding = ConnectionPool(client_id=f"node-{node_id}-tools", timeout=TIMEOUT, config=config)
        self._opening: list[asyncio.Task[object]] = []

    def connect(self, host: str, port: int) -> socket.socket:
        """Return a socket that is connected to a node.

        Raises:
            ConnectionRefusedError: no node of the cluster has this address, or too many connections were opened.
        """
        if len(self._opening) >= MAX_CONNECTIONS:
            raise ConnectionRefusedError(f"a tool can open {MAX_CONNECTIONS} connections")
        handlers = self._listener.handlers._replace(identify=self._identify)
        if (host, port) != self.address:
            endpoint = self._endpoint_of(host, port)
            if endpoint is not None:
                handlers = RequestHandlers(partial(self._forward, endpoint), no_cached_responses, self._identify)
        served, given = socket.socketpair()
        served.setblocking(False)
        connections = self._listener.connections
        connection = NodeConnection(connections, connections.quotas.account(self._subject.host), handlers)
        loop = asyncio.get_running_loop()
        opening = loop.connect_accepted_socket(lambda: connection, served)
        self._opening.append(loop.create_task(opening))
        return given

    def _identify(self, client: ConnectedClient, transport: asyncio.BaseTransport) -> None:
        """Make the client of a connection the user who runs the tool."""
        del transport
        client.address, client.host, client.subject = self._peer, self._subject.host, self._subject
        client.is_tool = True

    def _endpoint_of(self, host: str, port: int) -> Endpoint | None:
        """Return where this node connects to the broker with this address; None for this node itself."""
        for broker in self._metadata.brokers.values():
            if (broker.host, broker.port) == (host, port):
                return None if broker.node_id == self._node_id else self._metadata.broker_endpoints[broker.node_id]
        raise ConnectionRefusedError(f"{host}:{port} is not a broker of this cluster")

    async def _forward(self, endpoint: Endpoint, payload: bytes, client: ConnectedClient) -> bytes:
        """Answer a request with the response of another node."""
        del client
        try:
            data = await forward(self._forwarding, endpoint, payload, self._subject)
        except (ConnectionFault, ForwardingRefused) as error:
            raise InvalidRequest(f"cannot be forwarded: {error}", CloseReason.REQUEST_FAILED) from None
        return pack(">i", len(data)) + data

    async def close(self) -> None:
        """Close the connections to other nodes. Those of the process have closed with it."""
        await asyncio.gather(*self._opening, return_exceptions=True)
        await self._forwarding.close()
