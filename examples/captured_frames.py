"""A part of the demo: frames captured from real Kafka, what they say, and how fast that was read.

Everything that is printed comes out of the bytes in ``tests/data/frames.jsonl.xz``, through the same calls that a
program would make.
"""

from __future__ import annotations

import json
import lzma
from collections import Counter, defaultdict
from pathlib import Path
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import kwire
from examples import speed
from examples.stage import Stage, paint, title
from kwire import frame, messages
from kwire.cli.error_rendering import fault_text
from kwire.cli.frames import of_response
from kwire.cli.hexdump import hexdump
from kwire.declare import Struct
from kwire.declare.introspect import fields
from kwire.messages.kafka import MetadataResponse
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire.declare import Message

CAPTURE = Path(__file__).parent.parent / "tests" / "data" / "frames.jsonl.xz"
WIDTH = 110
ERRORS_SHOWN = 4
COUNT_OF_BROKERS = 9
"""Where it stands in a Metadata answer: behind five bytes of header, and the throttle time."""


class Exchange(NamedTuple):
    """A request and its answer, decoded; None for what cannot be."""

    broker: str
    api_key: int
    version: int
    request: frame.Request | None
    response: frame.Response[Any] | None
    payload: bytes
    """The answer's bytes."""


def show(stage: Stage) -> None:
    """The part."""
    del stage
    exchanges = list(captured())
    clusters(exchanges)
    conversations(exchanges)
    errors(exchanges)
    one_frame(exchanges)
    requests = [(each.request.message, each.version) for each in exchanges if each.request]
    answers = [(each.response.message, each.response.version) for each in exchanges if each.response]
    speed.report(requests + answers, paint)


def captured() -> Iterator[Exchange]:
    """The capture, line by line."""
    with lzma.open(CAPTURE, "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            payload = bytes.fromhex(line["response_hex"])
            request = read_request(bytes.fromhex(line["request_hex"]))
            response = read_response(payload, line["api_key"], line["api_version"])
            yield Exchange(line["broker"], line["api_key"], line["api_version"], request, response, payload)


def read_request(payload: bytes) -> frame.Request | None:
    try:
        return frame.decode_request(payload)
    except (messages.UnknownMessage, kwire.UnsupportedVersion):
        return None


def read_response(payload: bytes, api_key: int, version: int) -> frame.Response[Any] | None:
    try:
        cls = messages.find("kafka", api_key=api_key, kind="response")
        # A version that no broker has is asked for on purpose in the capture; the answer comes in version 0.
        return frame.decode_response(payload, cls, version=min(version, cls.versions.highest))
    except messages.UnknownMessage:
        return None


def clusters(exchanges: list[Exchange]) -> None:
    """Who was talked to."""
    title("The clusters")
    for broker in sorted({each.broker for each in exchanges}):
        answers = [each.response.message for each in exchanges if each.broker == broker and each.response]
        metadata = [answer for answer in answers if isinstance(answer, MetadataResponse)]
        cluster_id = next(answer.cluster_id for answer in metadata if answer.cluster_id)
        nodes = {node.node_id: node for answer in metadata for node in answer.brokers if node.rack}
        topics = {topic.name: topic for answer in metadata for topic in answer.topics if topic.partitions}
        partitions = sum(len(topic.partitions) for topic in topics.values())
        down = {node for topic in topics.values() for each in topic.partitions for node in each.offline_replicas}
        print(f"Kafka {broker}, cluster {cluster_id}: {len(topics)} topics with {partitions} partitions")
        for node in sorted(nodes.values(), key=lambda node: node.node_id):
            state = ", was down for a while" if node.node_id in down else ""
            print(f"  broker {node.node_id} at {node.host}:{node.port} in {node.rack}{state}")
        longest = sorted(topics.values(), key=lambda topic: (-len(topic.partitions), topic.name))[:3]
        largest = ", ".join(f"{topic.name} ({len(topic.partitions)})" for topic in longest)
        print(f"  largest topics: {largest}")


def conversations(exchanges: list[Exchange]) -> None:
    """What was asked, and in which versions."""
    clients = {each.request.header.client_id for each in exchanges if each.request}
    title(f"{len(exchanges)} requests and their answers, by {len(clients)} clients")
    asked: defaultdict[str, list[int]] = defaultdict(list)
    unknown: Counter[str] = Counter()
    for each in exchanges:
        if each.request is None:
            answer = f", answered in version {each.response.version}" if each.response else ""
            unknown[f"key {each.api_key} v{each.version}{answer}"] += 1
        else:
            asked[type(each.request.message).__name__.removesuffix("Request")].append(each.version)
    for line in wrap(
        ", ".join(f"{name} v{span(versions)} ({len(versions)})" for name, versions in sorted(asked.items())),
        WIDTH,
    ):
        print(line)
    print("Not declared here: " + ", ".join(f"{what} ({times})" for what, times in sorted(unknown.items())))


def span(versions: Iterable[int]) -> str:
    found = sorted(set(versions))
    return str(found[0]) if len(found) == 1 else f"{found[0]}-{found[-1]}"


def errors(exchanges: list[Exchange]) -> None:
    """What the brokers complained about."""
    found = Counter(code for each in exchanges if each.response for code in error_codes(each.response.message))
    title(f"{len(found)} kinds of errors that brokers answered, the most frequent first")
    for code, times in found.most_common(ERRORS_SHOWN):
        known = ErrorCode(code)
        print(f"{times:5}  {code:3}  {known.name:30}  {shorten(known.text, WIDTH - 45, placeholder=' ...')}")
    others = [ErrorCode(code).name for code, _ in found.most_common()[ERRORS_SHOWN:]]
    for line in wrap(f"and {', '.join(others)}", WIDTH):
        print(line)


def error_codes(value: object) -> Iterator[int]:
    """All error codes in a message that are not 0, however deep."""
    if isinstance(value, tuple):
        for item in value:
            yield from error_codes(item)
    elif isinstance(value, Struct):
        for f in fields(type(value)):
            inside = getattr(value, f.name)
            if f.name.endswith("error_code") and inside:
                yield inside
            yield from error_codes(inside)


def one_frame(exchanges: list[Exchange]) -> None:
    """A frame byte by byte, and the same frame damaged."""
    chosen = min(
        (each for each in exchanges if each.response and is_worth_showing(each.response.message, each.version)),
        key=lambda each: len(each.payload),
    )
    whole = of_response(chosen.payload, "kafka", chosen.api_key, chosen.version)
    title("One answer, byte by byte (kwire decode --response --output hexdump)")
    print("\n".join(hexdump(whole, "kafka", paint, everything=True)))
    damaged = chosen.payload[:COUNT_OF_BROKERS] + b"\xff\xff\xff\xff\x0f" + chosen.payload[COUNT_OF_BROKERS + 1 :]
    title("The same, with a count that lies: four billion brokers")
    print(fault_text(of_response(damaged, "kafka", chosen.api_key, chosen.version), paint))


def is_worth_showing(message: Message, version: int) -> bool:
    return isinstance(message, MetadataResponse) and version >= 9 and any(topic.error_code for topic in message.topics)
