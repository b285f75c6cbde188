"""Print the requests and responses between Kafka clients and a broker as JSON lines.

The sniffer is a TCP proxy. Start it with the broker's address and a free local port, and point a client to that port:

    pip install kwire
    python two_way_sniffer.py broker-1:9092 9999 | jq -c '[.kind, .message, .version]'
    kafka-topics.sh --bootstrap-server localhost:9999 --list

Clients reconnect to the addresses that Metadata responses list. So that they stay with the sniffer, it replaces the
broker's address in these responses by its own, provided that the broker advertises the address that you gave. Traffic
to other brokers is not shown. Everything else is forwarded unchanged, whether or not it can be decoded. TLS cannot be
decoded.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import kwire
from kwire import frame, messages
from kwire.errors import KwireError
from kwire.messages.kafka import MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    Address = tuple[str, int]


class ConnectionSniffer:
    """Decodes and prints both directions of one connection.

    A response does not say what it is, so the API key and version of each request are kept until its response arrives.
    """

    def __init__(self, client: Address, broker: Address, proxy: Address) -> None:
        self.client = client
        self.broker = broker
        self.proxy = proxy
        self._pending: dict[int, tuple[int, int]] = {}

    def on_request(self, payload: bytes) -> bytes:
        """Print a request and return the payload to forward."""
        api_key, version, correlation_id = struct.unpack_from(">hhi", payload)
        self._pending[correlation_id] = (api_key, version)
        try:
            request = frame.decode_request(payload)
        except KwireError as error:
            self._print("request", api_key, version, correlation_id, error=str(error), hex=payload.hex())
        else:
            body = kwire.to_json(request.message, version=version)
            name, client_id = type(request.message).__name__, request.header.client_id
            self._print("request", api_key, version, correlation_id, message=name, client_id=client_id, body=body)
        return payload

    def on_response(self, payload: bytes) -> bytes:
        """Print a response and return the payload to forward."""
        (correlation_id,) = struct.unpack_from(">i", payload)
        api_key, version = self._pending.pop(correlation_id, (-1, -1))
        try:
            cls = messages.find("kafka", api_key=api_key, version=version, kind="response")
            response = frame.decode_response(payload, cls, version=version)
        except KwireError as error:
            self._print("response", api_key, version, correlation_id, error=str(error), hex=payload.hex())
            return payload
        version, message = response.version, response.message
        body = kwire.to_json(message, version=version)
        self._print("response", api_key, version, correlation_id, message=cls.__name__, body=body)
        if not isinstance(message, MetadataResponse):
            return payload
        brokers = tuple(
            replace(each, host=self.proxy[0], port=self.proxy[1]) if (each.host, each.port) == self.broker else each
            for each in message.brokers
        )
        redirected = replace(message, brokers=brokers)
        return frame.encode_response(redirected, version=version, correlation_id=correlation_id)[4:]

    def _print(self, kind: str, api_key: int, version: int, correlation_id: int, **facts: Any) -> None:
        common = {"api_key": api_key, "version": version, "correlation_id": correlation_id}
        print(json.dumps({"client": "{}:{}".format(*self.client), "kind": kind, **common, **facts}), flush=True)


async def forward(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, on_frame: Callable[[bytes], bytes]
) -> None:
    """Forward one direction of a connection, frame by frame; without decoding if it is not Kafka's protocol."""
    splitter: frame.Splitter | None = frame.Splitter()
    waiting = bytearray()  # received and not yet forwarded
    while chunk := await reader.read(1 << 16):
        waiting += chunk
        if splitter is not None:
            try:
                for payload in splitter.feed(chunk):
                    forwarded = on_frame(payload)
                    writer.write(struct.pack(">i", len(forwarded)) + forwarded)
                    del waiting[: 4 + len(payload)]
            except (KwireError, struct.error) as error:
                print(json.dumps({"error": str(error)}), flush=True)
                splitter = None
        if splitter is None:
            writer.write(bytes(waiting))
            waiting.clear()
        await writer.drain()
    writer.write(bytes(waiting))
    writer.close()


async def sniff(broker: Address, port: int = 0) -> asyncio.Server:
    """Start the proxy on a local port; 0 chooses a free one."""

    async def connect(client_reader: asyncio.StreamReader, client_writer: asyncio.StreamWriter) -> None:
        client = client_writer.get_extra_info("peername")[:2]
        proxy = client_writer.get_extra_info("sockname")[:2]
        sniffer = ConnectionSniffer(client, broker, proxy)
        try:
            broker_reader, broker_writer = await asyncio.open_connection(*broker)
        except OSError as error:
            print(f"cannot connect to {broker[0]}:{broker[1]}: {error}", file=sys.stderr)
            client_writer.close()
            return
        with suppress(ConnectionError):
            await asyncio.gather(
                forward(client_reader, broker_writer, sniffer.on_request),
                forward(broker_reader, client_writer, sniffer.on_response),
            )
        for writer in (client_writer, broker_writer):
            writer.close()

    return await asyncio.start_server(connect, "127.0.0.1", port)


async def main(broker: str, port: str) -> None:
    host, _, broker_port = broker.rpartition(":")
    async with await sniff((host, int(broker_port)), int(port)) as server:
        print("listening on {}:{}".format(*server.sockets[0].getsockname()), file=sys.stderr, flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python two_way_sniffer.py BROKER_HOST:PORT LOCAL_PORT")
    with suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1], sys.argv[2]))
