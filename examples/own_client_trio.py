"""A Kafka client on trio, on the protocol of kwire without I/O.

pip install kwire trio
python own_client_trio.py 127.0.0.1:9092
"""

from __future__ import annotations

import sys
from typing import TypeVar

import trio

from kwire.declare import Message, Request
from kwire.frame import Splitter
from kwire.messages.kafka import MetadataRequest
from kwire.protocol import ClientConnection, ConnectionClosed, Endpoint, SentRequest

R = TypeVar("R", bound=Message)


class Client:
    """A connection with one request in flight."""

    def __init__(self, endpoint: Endpoint, stream: trio.SocketStream) -> None:
        self.connection = ClientConnection(endpoint, client_id="own-client")
        self.splitter, self.stream = Splitter(), stream

    async def negotiate(self) -> None:
        sent = self.connection.request_api_versions()
        while (again := self.connection.receive_api_versions(await self.exchange(sent))) is not None:
            sent = again

    async def send(self, request: Request[R]) -> R:
        """Return the response to a request."""
        sent = self.connection.request(request)
        return self.connection.receive(await self.exchange(sent), sent).decode()

    async def exchange(self, sent: SentRequest[R]) -> bytes:
        await self.stream.send_all(sent.frame)
        while (payload := self.splitter.next_payload()) is None:
            data = await self.stream.receive_some()
            if not data:
                raise ConnectionClosed(self.connection.endpoint, self.splitter.partial_bytes)
            self.splitter.add(data)
        return payload


async def main(address: str) -> None:
    endpoint = Endpoint.parse(address)
    with trio.fail_after(30):
        async with await trio.open_tcp_stream(endpoint.host, endpoint.port) as stream:
            client = Client(endpoint, stream)
            await client.negotiate()
            metadata = await client.send(MetadataRequest(topics=None))
    print(*(f"{broker.host}:{broker.port}" for broker in metadata.brokers), f"{len(metadata.topics)} topics")


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
