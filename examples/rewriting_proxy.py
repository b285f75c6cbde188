"""A proxy for a Kafka cluster, which rewrites the hosts that brokers advertise.

    pip install kwire
    python rewriting_proxy.py broker-1:9092

Clients connect to the printed address. Responses that name brokers name ports of this machine instead, on which the
proxy forwards to these brokers. Requests are forwarded as they are, and so are other responses.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from functools import partial
from typing import Any

from kwire import frame
from kwire.declare import Message
from kwire.messages.kafka import (
    DescribeClusterResponse,
    FetchResponse,
    FindCoordinatorResponse,
    MetadataResponse,
    ProduceResponse,
    ShareAcknowledgeResponse,
    ShareFetchResponse,
)
from kwire.protocol import Conversation, Endpoint, Exchange

HOST, CHUNK = "127.0.0.1", 1 << 16
NODES: dict[type[Message], str] = {
    DescribeClusterResponse: "brokers",
    FetchResponse: "node_endpoints",
    FindCoordinatorResponse: "coordinators",
    MetadataResponse: "brokers",
    ProduceResponse: "node_endpoints",
    ShareAcknowledgeResponse: "node_endpoints",
    ShareFetchResponse: "node_endpoints",
}
"""The field that names brokers, by response."""


class Proxy:
    """Listens on one port for each broker that a response has named."""

    def __init__(self) -> None:
        self.servers: dict[Endpoint, asyncio.Server] = {}
        self.starting = asyncio.Lock()

    async def port_of(self, broker: Endpoint) -> int:
        """Return the port that forwards to a broker."""
        async with self.starting:
            if broker not in self.servers:
                self.servers[broker] = await asyncio.start_server(partial(self.serve, broker), HOST)
        return int(self.servers[broker].sockets[0].getsockname()[1])

    async def serve(self, broker: Endpoint, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        """Forward a connection until one side closes it."""
        conversation = Conversation(broker)
        try:
            server, to_server = await asyncio.open_connection(broker.host, broker.port)
        except OSError:
            to_client.close()
            return
        pumps = (self.forward(client, to_server, conversation), self.rewrite(server, to_client, conversation))
        tasks = [asyncio.ensure_future(pump) for pump in pumps]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        to_server.close()
        to_client.close()

    async def forward(
        self, client: asyncio.StreamReader, to_server: asyncio.StreamWriter, conversation: Conversation
    ) -> None:
        while data := await client.read(CHUNK):
            conversation.receive_from_client(data)
            to_server.write(data)
            await to_server.drain()

    async def rewrite(
        self, server: asyncio.StreamReader, to_client: asyncio.StreamWriter, conversation: Conversation
    ) -> None:
        while data := await server.read(CHUNK):
            for exchange in conversation.receive_from_server(data):
                if exchange.response is not None:
                    to_client.write(await self.rewritten(exchange, exchange.response))
            await to_client.drain()
            if conversation.server_error is not None:
                raise conversation.server_error

    async def rewritten(self, exchange: Exchange, payload: bytes) -> bytes:
        """Return the frame of a response, with the hosts and ports of the proxy."""
        if exchange.response_class not in NODES:
            return len(payload).to_bytes(4, "big") + payload
        response = exchange.decode_response()
        message: Any = response.message
        field = NODES[type(message)]
        nodes = tuple([await self.local(node) for node in getattr(message, field)])
        message = replace(message, **{field: nodes})
        if isinstance(message, FindCoordinatorResponse) and not nodes:  # before version 4, it names one broker itself
            message = await self.local(message)
        return frame.encode_response(message, version=response.version, correlation_id=response.correlation_id)

    async def local(self, node: Any) -> Any:
        """Return a struct that names a broker, with the address of the proxy; unchanged if it names none."""
        if node.port < 0:
            return node
        return replace(node, host=HOST, port=await self.port_of(Endpoint(node.host, node.port)))


async def main(address: str) -> None:
    print(f"{HOST}:{await Proxy().port_of(Endpoint.parse(address))}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
