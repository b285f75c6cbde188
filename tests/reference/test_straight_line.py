"""The generated functions agree with the functions that check each value."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

import kwire
from kwire.errors import DecodeError
from kwire.messages.kafka import ApiVersionsResponse, MetadataResponse
from kwire.messages.kafka.api_versions import ApiVersion, SupportedFeatureKey
from kwire.messages.kafka.metadata import MetadataResponsePartition, MetadataResponseTopic
from kwire.reference.decoder import Input, Readers
from kwire.reference.encoder import EncoderOutput, Writers
from kwire.reference.generated_code import UNUSUAL
from kwire.reference.layout import layout_of
from kwire.reference.straight_line import Decoding
from kwire.reference.straight_line_encoding import Encoding
from tests.for_rows import for_rows
from tests.proof.material import message_class, vectors

each_message = for_rows("message", sorted(vectors()))


@each_message
def test_generated_functions_handle_what_kafka_writes(message: str) -> None:
    cls = message_class(message)
    for version in {vector.version for vector in vectors()[message]}:
        layout = layout_of(cls, version)
        readers, writers = Readers(layout), Writers(layout)
        decode = Decoding(layout, readers.tag_section, Input).function()
        encode = Encoding(layout, writers.tag_section, EncoderOutput).function()
        for vector in vectors()[message]:
            if vector.version == version:
                decoded = decode(vector.body)
                assert decoded == readers.message()(Input(vector.body)), vector.name
                output = EncoderOutput()
                writers.message()(output, decoded)
                assert encode(decoded) == vector.body == bytes(output.data), vector.name


def test_generated_function_ends_at_every_invalid_body() -> None:
    layout = layout_of(MetadataResponse, 12)
    decode = Decoding(layout, Readers(layout).tag_section, Input).function()
    body = next(vector.body for vector in vectors()["MetadataResponse"] if vector.version == 12)

    for end in range(len(body)):
        with pytest.raises(UNUSUAL):
            decode(body[:end])
        with pytest.raises(DecodeError):
            kwire.reference.decode(MetadataResponse, body[:end], version=12)


def partitions_with_replicas(*counts: int) -> MetadataResponse:
    """Return a response whose partitions have these numbers of replicas, and one replica fewer in sync."""
    partitions = tuple(
        MetadataResponsePartition(
            error_code=0,
            partition_index=index,
            leader_id=index,
            replica_nodes=tuple(range(index, index + count)),
            isr_nodes=tuple(range(index, index + count - 1)),
        )
        for index, count in enumerate(counts)
    )
    topic = MetadataResponseTopic(error_code=0, name="t", topic_id=UUID(int=0), partitions=partitions)
    return MetadataResponse(brokers=(), cluster_id=None, controller_id=1, topics=(topic,))


@for_rows("version", [1, 9, 12])
def test_partitions_may_have_any_numbers_of_replicas(version: int) -> None:
    layout = layout_of(MetadataResponse, version)
    decode = Decoding(layout, Readers(layout).tag_section, Input).function()

    # Equal and different numbers, none, more than a format is kept for, and lengths of several bytes.
    for counts in ((3, 3, 3), (3, 2, 3), (0, 0, 1, 1, 0), (7, 8, 9, 3, 3), (130, 3, 3, 130), (3, 3, 1)):
        message = partitions_with_replicas(*counts)
        assert decode(kwire.encode(message, version=version)) == message, counts


@for_rows("version", [1, 9, 12])
def test_changed_byte_of_partitions_is_decoded_as_by_the_checking_functions(version: int) -> None:
    layout = layout_of(MetadataResponse, version)
    decode = Decoding(layout, Readers(layout).tag_section, Input).function()
    check = Readers(layout).message()
    body = kwire.encode(partitions_with_replicas(2, 2, 1, 1, 1), version=version)

    decoded = 0
    for position in range(len(body)):
        for value in (0, 1, 2, 3, 0x7F, 0x80, 0xFF):
            changed = body[:position] + bytes([value]) + body[position + 1 :]
            try:
                result = decode(changed)
            except UNUSUAL:
                continue
            decoded += 1
            source = Input(changed)
            assert result == check(source), (position, value)
            assert source.position == len(changed), (position, value)
    assert decoded > len(body), "half of the bytes are parts of numbers, which may have any value"


def test_equal_arrays_of_partitions_are_decoded_once() -> None:
    partitions = tuple(
        MetadataResponsePartition(
            error_code=0, partition_index=index, leader_id=300 + index, replica_nodes=(1, 2, 3), isr_nodes=(1, 2)
        )
        for index in range(9)
    )
    # The bytes of fewer partitions begin those of more, before and after them.
    arrays = [partitions[:count] for count in (6, 6, 4, 9, 6, 3, 3, 0, 9)] + [partitions[3:], partitions[3:7]]
    topics = tuple(
        MetadataResponseTopic(error_code=0, name=f"t{number}", topic_id=UUID(int=0), partitions=array)
        for number, array in enumerate(arrays)
    )
    message = MetadataResponse(brokers=(), cluster_id=None, controller_id=1, topics=topics)
    layout = layout_of(MetadataResponse, 1)
    decode = Decoding(layout, Readers(layout).tag_section, Input).function()

    decoded = decode(kwire.encode(message, version=1))
    assert decoded == message
    assert decoded.topics[4].partitions is decoded.topics[1].partitions
    assert decoded.topics[8].partitions is decoded.topics[3].partitions


@for_rows(
    "values",
    [
        {},
        {"zk_migration_ready": True},
        {"finalized_features_epoch": 1 << 40},
        {"supported_features": (SupportedFeatureKey(name="f", min_version=1, max_version=2),), "throttle_time_ms": 9},
        {"unknown_tags": {9: b"x"}},
        {"unknown_tags": {9: b"x"}, "finalized_features_epoch": 0},
    ],
)
def test_declared_tags_are_written_unless_they_have_their_default(values: dict[str, Any]) -> None:
    message = ApiVersionsResponse(
        error_code=0,
        api_keys=(ApiVersion(api_key=3, min_version=0, max_version=4),),
        **values,
    )
    layout = layout_of(ApiVersionsResponse, 3)
    encode = Encoding(layout, Writers(layout).tag_section, EncoderOutput).function()

    assert encode(message) == kwire.encode(message, version=3)
