"""Part of the demo: frames captured from real Kafka, and their contents.

All output comes from the bytes in `tests/data/frames.jsonl.xz`, decoded by kwire's public functions. The engine is not
needed: without it, the codec in Python decodes them.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import kwire
from examples.demo.terminal import DemoContext, paint, print_title
from kwire import frame, messages
from kwire.cli.error_rendering import render_error
from kwire.cli.frames import parse_response
from kwire.cli.hexdump import hexdump
from kwire.declare import Struct
from kwire.declare.introspect import fields
from kwire.messages.kafka import MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.declare import Message

CAPTURE = Path(__file__).parents[2] / "tests" / "data" / "frames.jsonl.xz"
BROKER_COUNT_OFFSET = 9
"""Offset of the number of brokers in a Metadata response: after five bytes of header and the throttle time."""


class Exchange(NamedTuple):
    """A request and its response; None for a frame that cannot be decoded."""

    broker: str
    api_key: int
    version: int
    request: frame.DecodedRequest | None
    response: frame.DecodedResponse[Any] | None
    payload: bytes
    """The bytes of the response."""


def run(context: DemoContext) -> None:
    """Run this part."""
    del context
    exchanges = list(read_capture())
    print_clusters(exchanges)
    print_counts(exchanges)
    print_one_frame(exchanges)


def read_capture() -> Iterator[Exchange]:
    """Read the capture line by line."""
    with lzma.open(CAPTURE, "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            payload = bytes.fromhex(line["response_hex"])
            request = read_request(bytes.fromhex(line["request_hex"]))
            response = read_response(payload, line["api_key"], line["api_version"])
            yield Exchange(line["broker"], line["api_key"], line["api_version"], request, response, payload)


def read_request(payload: bytes) -> frame.DecodedRequest | None:
    try:
        return frame.decode_request(payload)
    except (messages.UnknownMessage, kwire.UnsupportedVersion):
        return None


def read_response(payload: bytes, api_key: int, version: int) -> frame.DecodedResponse[Any] | None:
    try:
        cls = messages.find("kafka", api_key=api_key, kind="response")
        # The capture has requests of a version that no broker supports; their responses have version 0.
        return frame.decode_response(payload, cls, version=min(version, cls.versions.highest))
    except messages.UnknownMessage:
        return None


def print_clusters(exchanges: list[Exchange]) -> None:
    """Print the captured clusters."""
    print_title("The clusters")
    for broker in sorted({exchange.broker for exchange in exchanges}):
        own = [exchange for exchange in exchanges if exchange.broker == broker]
        responses = [exchange.response.message for exchange in own if exchange.response]
        metadata = [response for response in responses if isinstance(response, MetadataResponse)]
        cluster_id = next(response.cluster_id for response in metadata if response.cluster_id)
        nodes = {node.node_id: node for response in metadata for node in response.brokers if node.rack}
        topics = {topic.name: topic for response in metadata for topic in response.topics if topic.partitions}
        partitions = sum(len(topic.partitions) for topic in topics.values())
        down = {node for topic in topics.values() for row in topic.partitions for node in row.offline_replicas}
        print(f"Kafka {broker}, cluster {cluster_id}: {len(topics)} topics with {partitions} partitions")
        for node in sorted(nodes.values(), key=lambda node: node.node_id):
            state = ", was down for a while" if node.node_id in down else ""
            print(f"  broker {node.node_id} at {node.host}:{node.port} in {node.rack}{state}")
        longest = sorted(topics.values(), key=lambda topic: (-len(topic.partitions), topic.name))[:3]
        largest = ", ".join(f"{topic.name} ({len(topic.partitions)})" for topic in longest)
        print(f"  largest topics: {largest}")


def print_counts(exchanges: list[Exchange]) -> None:
    """Print how much was captured."""
    clients = {exchange.request.header.client_id for exchange in exchanges if exchange.request}
    responses = [exchange.response.message for exchange in exchanges if exchange.response]
    codes = {code for response in responses for code in error_codes(response)}
    print(f"{len(exchanges)} requests and their responses, by {len(clients)} clients, with {len(codes)} error codes")


def error_codes(value: object) -> Iterator[int]:
    """Yield all error codes except 0 in a message, at any depth."""
    if isinstance(value, tuple):
        for item in value:
            yield from error_codes(item)
    elif isinstance(value, Struct):
        for f in fields(type(value)):
            field_value = getattr(value, f.name)
            if f.name.endswith("error_code") and field_value:
                yield field_value
            yield from error_codes(field_value)


def print_one_frame(exchanges: list[Exchange]) -> None:
    """Print the annotated hex dump of a response, and the error of the same response with a wrong count."""
    chosen = min(
        (
            exchange
            for exchange in exchanges
            if exchange.response and is_good_example(exchange.response.message, exchange.version)
        ),
        key=lambda exchange: len(exchange.payload),
    )
    response = parse_response(chosen.payload, "kafka", chosen.api_key, chosen.version)
    print_title("One response, byte by byte (kwire decode --response --output hexdump)")
    print("\n".join(hexdump(response, "kafka", paint, everything=True)))
    damaged = chosen.payload[:BROKER_COUNT_OFFSET] + b"\xff\xff\xff\xff\x0f" + chosen.payload[BROKER_COUNT_OFFSET + 1 :]
    print_title("The same response with a wrong count: four billion brokers")
    print(render_error(parse_response(damaged, "kafka", chosen.api_key, chosen.version), paint))


def is_good_example(message: Message, version: int) -> bool:
    return isinstance(message, MetadataResponse) and version >= 9 and any(topic.error_code for topic in message.topics)
