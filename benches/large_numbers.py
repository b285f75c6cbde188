"""Measure messages full of int64 numbers against msgspec: offsets, timestamps, and sizes of 500,000 partitions.

    python -m benches.large_numbers [--partitions NUMBER] [--rounds NUMBER]

The numbers are above 256, for which CPython has no cached objects, and differ for each partition. Prints nanoseconds
for each partition, and msgspec's time relative to kwire's.
"""

from __future__ import annotations

import argparse
from random import Random
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

import kwire
from benches.interleave import Contestant, take_turns
from kwire.declare.introspect import fields
from kwire.declare.wire_types import ArrayType, NullableType, StringType, StructType, WireType, boolean
from kwire.messages.kafka import DescribeLogDirsResponse, ListOffsetsResponse, OffsetFetchResponse
from kwire.messages.kafka.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kwire.messages.kafka.list_offsets import ListOffsetsPartitionResponse, ListOffsetsTopicResponse
from kwire.messages.kafka.offset_fetch import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

if TYPE_CHECKING:
    from kwire.declare import Message, Struct

PARTITIONS_OF_TOPIC = 20
LARGEST_OFFSET = 10**12
LARGEST_SIZE = 10**11
NOW_MS = 1_760_000_000_000


class Case(NamedTuple):
    """A message to measure; `at_least` is the lowest acceptable multiple of kwire's speed of decoding."""

    message: Message
    version: int
    at_least: float = 4


def cases(partitions: int) -> list[Case]:
    random = Random(1)
    topics = [f"topic-{index:06}.events.prod" for index in range(partitions // PARTITIONS_OF_TOPIC)]
    indexes = range(PARTITIONS_OF_TOPIC)

    def number(limit: int) -> int:
        return random.randint(257, limit)

    fetched = OffsetFetchResponse(
        throttle_time_ms=0,
        groups=(
            OffsetFetchResponseGroup(
                group_id="billing",
                error_code=0,
                topics=tuple(
                    OffsetFetchResponseTopics(
                        name=topic,
                        partitions=tuple(
                            OffsetFetchResponsePartitions(
                                partition_index=index,
                                committed_offset=number(LARGEST_OFFSET),
                                committed_leader_epoch=random.randint(0, 60),
                                metadata="",
                                error_code=0,
                            )
                            for index in indexes
                        ),
                    )
                    for topic in topics
                ),
            ),
        ),
    )
    listed = ListOffsetsResponse(
        throttle_time_ms=0,
        topics=tuple(
            ListOffsetsTopicResponse(
                name=topic,
                partitions=tuple(
                    ListOffsetsPartitionResponse(
                        partition_index=index,
                        error_code=0,
                        timestamp=NOW_MS + number(10**9),
                        offset=number(LARGEST_OFFSET),
                        leader_epoch=random.randint(0, 60),
                    )
                    for index in indexes
                ),
            )
            for topic in topics
        ),
    )
    described = DescribeLogDirsResponse(
        throttle_time_ms=0,
        results=(
            DescribeLogDirsResult(
                error_code=0,
                log_dir="/var/lib/kafka",
                topics=tuple(
                    DescribeLogDirsTopic(
                        name=topic,
                        partitions=tuple(
                            DescribeLogDirsPartition(
                                partition_index=index,
                                partition_size=number(LARGEST_SIZE),
                                offset_lag=number(100_000),
                                is_future_key=False,
                            )
                            for index in indexes
                        ),
                    )
                    for topic in topics
                ),
            ),
        ),
    )
    return [Case(fetched, 8), Case(listed, 7), Case(described, 4)]


def peer_type(cls: type[Struct], version: int) -> Any:
    """Return msgspec's fastest form of a struct: an array-like struct without a header of the collector."""

    def of(type: WireType) -> Any:
        match type:
            case ArrayType(element=element):
                return GenericAlias(tuple, (of(element), ...))
            case StructType(struct=struct):
                return peer_type(struct, version)
            case NullableType(inner=inner):
                return of(inner) | None
            case StringType():
                return str
        return bool if type is boolean else int

    declared = [(f.name, of(f.type)) for f in fields(cls) if f.in_version(version)]
    return msgspec.defstruct(cls.__name__, declared, array_like=True, gc=False, frozen=True)


def as_arrays(value: Any, version: int) -> Any:
    """Convert a message to the nested lists that msgspec reads."""
    if isinstance(value, tuple):
        return [as_arrays(element, version) for element in value]
    if hasattr(type(value), "__kwire_fields__"):
        return [as_arrays(getattr(value, f.name), version) for f in fields(type(value)) if f.in_version(version)]
    return value


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.large_numbers")
    parser.add_argument("--partitions", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=11)
    given = parser.parse_args()
    for case in cases(given.partitions):
        measure(case, given.partitions, given.rounds)


def measure(case: Case, partitions: int, rounds: int) -> None:
    cls, version = type(case.message), case.version
    body = kwire.encode(case.message, version=version)
    packed = msgspec.msgpack.encode(as_arrays(case.message, version))
    decode_packed = msgspec.msgpack.Decoder(peer_type(cls, version)).decode
    decoded, unpacked = kwire.decode(cls, body, version=version), decode_packed(packed)
    assert decoded == case.message
    assert msgspec.msgpack.encode(unpacked) == packed

    def decode(data: bytes) -> Message:
        return kwire.decode(cls, data, version=version)

    def encode(message: Message) -> bytes:
        return kwire.encode(message, version=version)

    contestants = [
        Contestant("kwire", "decode", decode, body),
        Contestant("msgspec", "decode", decode_packed, packed),
        Contestant("kwire", "encode", encode, decoded),
        Contestant("msgspec", "encode", msgspec.msgpack.Encoder().encode, unpacked),
    ]
    kwire_decode, peer_decode, kwire_encode, peer_encode = take_turns(contestants, 1, rounds, Random(0))

    def row(kwire_ns: float, peer_ns: float) -> str:
        return f"{kwire_ns / partitions:6.1f} {peer_ns / partitions:6.1f} ns  {peer_ns / kwire_ns:4.1f} x"

    verdict = "met" if peer_decode.median_ns / kwire_decode.median_ns >= case.at_least else "missed"
    print(f"{cls.__name__} v{version}, {partitions:,} partitions: kwire and msgspec")
    print(f"  decode         {row(kwire_decode.median_ns, peer_decode.median_ns)}  at least {case.at_least}: {verdict}")
    freeing = (kwire_decode.median_ns + kwire_decode.median_free_ns, peer_decode.median_ns + peer_decode.median_free_ns)
    print(f"  decode + free  {row(*freeing)}")
    print(f"  encode         {row(kwire_encode.median_ns, peer_encode.median_ns)}", flush=True)


if __name__ == "__main__":
    main()
