"""A Kafka client on asyncio's streams, on the protocol of kwire without I/O.

pip install kwire
python own_client_asyncio.py 127.0.0.1:9092
"""

from __future__ import annotations

import asyncio
import sys
from typing import TypeVar

from kwire.declare import Message, Request
from kwire.frame import MAX_SIZE
from kwire.messages.kafka import MetadataRequest
from kwire.protocol import ClientConnection, ConnectionClosed, Endpoint, OversizedFrame, SentRequest

R = TypeVar("R", bound=Message)


class Client:
    """A connection with one request in flight."""

    def __init__(self, endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection = ClientConnection(endpoint, client_id="own-client")
        self.reader, self.writer = reader, writer

    async def negotiate(self) -> None:
        sent = self.connection.request_api_versions()
        while (again := self.connection.receive_api_versions(await self.exchange(sent))) is not None:
            sent = again

    async def send(self, request: Request[R]) -> R:
        """Return the response to a request."""
        sent = self.connection.request(request)
        return self.connection.receive(await self.exchange(sent), sent).decode()

    async def exchange(self, sent: SentRequest[R]) -> bytes:
        self.writer.write(sent.frame)
        try:
            size = int.from_bytes(await self.reader.readexactly(4), "big", signed=True)
            if not 0 <= size <= MAX_SIZE:
                raise OversizedFrame(self.connection.endpoint, size, MAX_SIZE)
            return await self.reader.readexactly(size)
        except asyncio.IncompleteReadError as error:
            raise ConnectionClosed(self.connection.endpoint, len(error.partial)) from None


async def main(address: str) -> None:
    endpoint = Endpoint.parse(address)
    async with asyncio.timeout(30):
        client = Client(endpoint, *await asyncio.open_connection(endpoint.host, endpoint.port))
        await client.negotiate()
        metadata = await client.send(MetadataRequest(topics=None))
    client.writer.close()
    print(*(f"{broker.host}:{broker.port}" for broker in metadata.brokers), f"{len(metadata.topics)} topics")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
