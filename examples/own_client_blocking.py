"""A Kafka client on a blocking socket, on the protocol of kwire without I/O.

pip install kwire
python own_client_blocking.py 127.0.0.1:9092
"""

from __future__ import annotations

import socket
import sys
from typing import TypeVar

from kwire.declare import Message, Request
from kwire.messages.kafka import MetadataRequest
from kwire.protocol import ClientConnection, ConnectionClosed, Endpoint, FrameReceiver, OversizedFrame, SentRequest

R = TypeVar("R", bound=Message)


class Client:
    """A connection with one request in flight."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.connection = ClientConnection(endpoint, client_id="own-client")
        self.receiver = FrameReceiver()
        self.socket = socket.create_connection((endpoint.host, endpoint.port), timeout=30)
        sent = self.connection.request_api_versions()
        while (again := self.connection.receive_api_versions(self.exchange(sent))) is not None:
            sent = again

    def send(self, request: Request[R]) -> R:
        """Return the response to a request."""
        sent = self.connection.request(request)
        return self.connection.receive(self.exchange(sent), sent).decode()

    def exchange(self, sent: SentRequest[R]) -> bytes:
        self.socket.sendall(sent.frame)
        while True:
            count = self.socket.recv_into(self.receiver.get_buffer())
            payloads = self.receiver.buffer_updated(count)
            if payloads:
                return payloads[0]
            if self.receiver.error is not None:
                raise OversizedFrame(self.connection.endpoint, self.receiver.error.size, self.receiver.max_size)
            if count == 0:
                raise ConnectionClosed(self.connection.endpoint, self.receiver.partial_bytes)


def main(address: str) -> None:
    client = Client(Endpoint.parse(address))
    with client.socket:
        metadata = client.send(MetadataRequest(topics=None))
    print(*(f"{broker.host}:{broker.port}" for broker in metadata.brokers), f"{len(metadata.topics)} topics")


if __name__ == "__main__":
    main(sys.argv[1])
