"""`Decoder` returns what `kwire.decode` returns, keeps unchanged objects, and reports changes."""

from __future__ import annotations

import dataclasses
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.declare import Message, array, float64
from kwire.decoder import Changes, compare
from kwire.messages.kafka.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
from kwire.messages.kafka.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire.messages.kip4.structures import ConfigEntry
from kwire.messages.kip4.topic_metadata_v1 import PartitionMetadata as PartitionMetadata_V1
from kwire.messages.kip4.topic_metadata_v1 import ReplicaLag, TopicMetadataResponse_V1
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadata as TopicMetadata_V1
from kwire.testing import strategies
from tests.for_rows import for_rows
from tests.proof.material import message_class, vectors
from tests.proof.test_differential import damaged
from tests.random_declarations import message_classes, versions

if TYPE_CHECKING:
    from collections.abc import Callable

NOTHING = Changes(first=False, fields=(), arrays={})


def partition(index: int, leader: int = 1, replicas: tuple[int, ...] = (1, 2, 3)) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=0, partition_index=index, leader_id=leader, replica_nodes=replicas, isr_nodes=replicas
    )


def topic(name: str | None, *leaders: int) -> MetadataResponseTopic:
    partitions = tuple(partition(index, leader) for index, leader in enumerate(leaders or (1, 2, 3)))
    return MetadataResponseTopic(error_code=0, name=name, partitions=partitions)


def broker(node_id: int, host: str = "host") -> MetadataResponseBroker:
    return MetadataResponseBroker(node_id=node_id, host=host, port=9092, rack=None)


def metadata(
    *topics: MetadataResponseTopic, controller_id: int = 1, brokers: tuple[int, ...] = (1, 2)
) -> MetadataResponse:
    return MetadataResponse(brokers=tuple(map(broker, brokers)), controller_id=controller_id, topics=topics)


class MessageDecoder:
    """A decoder that is given messages instead of bytes."""

    def __init__(self, version: int = 12) -> None:
        self.version = version
        self.decoder = kwire.Decoder(MetadataResponse, version=version)

    def __call__(self, message: MetadataResponse) -> MetadataResponse:
        body = kwire.encode(message, version=self.version)
        read = self.decoder.decode(body)
        assert read == kwire.decode(MetadataResponse, body, version=self.version)
        return read

    @property
    def changed(self) -> Changes:
        return self.decoder.changed


# The same objects


def test_equal_frame_returns_the_same_message() -> None:
    decoder = MessageDecoder()
    first = decoder(metadata(topic("a"), topic("b")))

    assert decoder(metadata(topic("a"), topic("b"))) is first
    assert decoder.changed == NOTHING
    assert not decoder.changed


def test_other_controller_keeps_topics_and_brokers() -> None:
    decoder = MessageDecoder()
    first = decoder(metadata(topic("a"), topic("b")))

    second = decoder(metadata(topic("a"), topic("b"), controller_id=2))

    assert second.topics is first.topics
    assert second.brokers is first.brokers
    assert decoder.changed == Changes(first=False, fields=("controller_id",), arrays={})


def test_unchanged_parts_around_and_inside_a_changed_topic_are_kept() -> None:
    decoder = MessageDecoder()
    first = decoder(metadata(topic("a"), topic("b", 1, 2, 3), topic("c")))

    second = decoder(metadata(topic("a"), topic("b", 1, 9, 3), topic("c")))

    assert second.topics[0] is first.topics[0]
    assert second.topics[2] is first.topics[2]
    assert second.topics[1] is not first.topics[1]
    assert second.topics[1].name is first.topics[1].name
    before, after = first.topics[1].partitions, second.topics[1].partitions
    assert [one is other for one, other in zip(before, after, strict=True)] == [True, False, True]
    [array] = decoder.changed.arrays.values()
    assert array.changed == ((first.topics[1], second.topics[1]),)
    assert (array.added, array.removed, array.moved) == ((), (), False)


@for_rows("gone", [(0,), (3,), (9,), (3, 4), (0, 1, 2), (2, 4, 6), (8, 9)])
def test_other_topics_are_kept_when_topics_are_removed_and_added(gone: tuple[int, ...]) -> None:
    decoder = MessageDecoder()
    topics = [topic(f"topic-{number}") for number in range(10)]
    first = decoder(metadata(*topics))

    second = decoder(metadata(*(topic for number, topic in enumerate(topics) if number not in gone)))

    assert [id(topic) for topic in second.topics] == [
        id(topic) for number, topic in enumerate(first.topics) if number not in gone
    ]
    assert decoder.changed.arrays["topics"].removed == tuple(first.topics[number] for number in gone)

    third = decoder(metadata(*topics))

    assert all(
        one is other
        for number, (one, other) in enumerate(zip(first.topics, third.topics, strict=True))
        if number not in gone
    )
    assert decoder.changed.arrays["topics"].added == tuple(third.topics[number] for number in gone)


def test_reordered_topics_are_kept() -> None:
    decoder = MessageDecoder()
    topics = [topic(f"topic-{number}") for number in range(10)]
    first = decoder(metadata(*topics))

    second = decoder(metadata(*reversed(topics)))

    assert all(one is other for one, other in zip(first.topics, reversed(second.topics), strict=True))
    assert decoder.changed.arrays["topics"] == ((), (), (), True)


def test_topics_with_a_common_prefix_are_different() -> None:
    decoder = MessageDecoder(version=1)
    decoder(metadata(topic("a", 1), topic("ab", 1)))

    assert [described.name for described in decoder(metadata(topic("ab", 1), topic("a", 1))).topics] == ["ab", "a"]
    assert [len(described.partitions) for described in decoder(metadata(topic("a", 1, 1), topic("ab", 1))).topics] == [
        2,
        1,
    ]


def test_topics_with_the_same_name_are_matched_by_position() -> None:
    decoder = MessageDecoder()
    decoder(metadata(topic("a", 1), topic("a", 2), topic(None, 3), topic(None, 4)))

    decoder(metadata(topic("a", 2), topic("a", 1), topic(None, 4), topic("a", 1), topic(None, 3)))


# What changed


@given(
    st.lists(st.lists(st.builds(topic, st.sampled_from("ab"), st.integers(1, 3)), max_size=5), min_size=2, max_size=4)
)
def test_duplicate_keys_are_paired_as_in_an_object_comparison(history: list[list[MetadataResponseTopic]]) -> None:
    decoder = MessageDecoder()
    before = None
    for some in history:
        read = decoder(metadata(*some))
        assert decoder.changed == compare(before, read)
        before = read


def test_equal_values_with_other_bytes_are_not_changes() -> None:
    decoder = kwire.Decoder(MetadataResponse, version=12)
    body = kwire.encode(metadata(topic("a"), topic("b")), version=12)
    name, longer_name = b"\x02a", b"\x82\x00a"
    assert body.count(name) == 1
    first = decoder.decode(body)

    assert decoder.decode(body.replace(name, longer_name)) == first
    assert decoder.changed == NOTHING

    other = decoder.decode(kwire.encode(metadata(topic("a"), topic("b", 9)), version=12))
    assert decoder.changed.fields == ("topics",)
    assert decoder.changed.arrays["topics"] == ((), (), ((first.topics[1], other.topics[1]),), False)


def test_equal_nan_is_not_a_change() -> None:
    class Load(Message, versions="0"):
        load: float64
        loads: array[float64] = ()

    nan = float("nan")
    body = kwire.encode(Load(load=nan, loads=(nan,)), version=0)
    first, second = kwire.decode(Load, body, version=0), kwire.decode(Load, body, version=0)
    assert compare(first, second) == NOTHING


def test_first_message_is_all_new() -> None:
    decoder = MessageDecoder()
    assert decoder.changed == NOTHING

    first = decoder(metadata(topic("a")))

    assert decoder.changed.first
    assert decoder.changed
    assert decoder.changed.arrays["topics"].added == first.topics

    decoder.decoder.reset()
    decoder(metadata(topic("a")))
    assert decoder.changed.first


def test_invalid_frame_keeps_the_last_valid_message() -> None:
    decoder = MessageDecoder()
    first = decoder(metadata(topic("a"), topic("b")))
    body = kwire.encode(metadata(topic("a"), topic("b", 9)), version=12)

    with pytest.raises(kwire.DecodeError, match="truncated"):
        decoder.decoder.decode(body[:-3])

    assert decoder.changed == NOTHING
    second = decoder(metadata(topic("a"), topic("b", 9)))
    assert second.topics[0] is first.topics[0]
    assert decoder.changed.arrays["topics"].changed == ((first.topics[1], second.topics[1]),)


def test_changes_include_tagged_fields() -> None:
    decoder = kwire.Decoder(ApiVersionsResponse, version=3)
    plain = ApiVersionsResponse(error_code=0, api_keys=())
    featured = dataclasses.replace(
        plain,
        finalized_features_epoch=7,
        finalized_features=(FinalizedFeatureKey(name="f", max_version_level=2, min_version_level=1),),
    )
    decoder.decode(kwire.encode(plain, version=3))

    decoder.decode(kwire.encode(featured, version=3))

    assert decoder.changed.fields == ("finalized_features_epoch", "finalized_features")
    assert decoder.changed.arrays["finalized_features"].added == featured.finalized_features


def test_changes_include_unknown_tags() -> None:
    decoder = MessageDecoder()
    decoder(metadata(topic("a")))

    tagged = decoder(dataclasses.replace(metadata(topic("a")), unknown_tags={5: b"x"}))

    assert decoder.changed == Changes(first=False, fields=("unknown_tags",), arrays={})
    assert decoder.changed
    decoder(tagged)
    assert decoder.changed == NOTHING
    decoder(metadata(topic("a")))
    assert decoder.changed.fields == ("unknown_tags",)


def test_first_message_changes_include_unknown_tags() -> None:
    decoder = MessageDecoder()

    decoder(dataclasses.replace(metadata(topic("a")), unknown_tags={5: b"x"}))

    assert decoder.changed.fields[-1] == "unknown_tags"


def test_decoder_rejects_other_classes_and_versions() -> None:
    with pytest.raises(kwire.DeclarationError, match="MetadataResponseBroker: this class is not a message"):
        kwire.Decoder(MetadataResponseBroker, version=9)  # type: ignore[type-var]  # the mistake
    with pytest.raises(TypeError, match="version: expected an int, found True"):
        kwire.Decoder(MetadataResponse, version=True)


# Bytes-likes


def test_views_of_bytes_are_kept_and_mutable_buffers_are_copied() -> None:
    decoder = kwire.Decoder(MetadataResponse, version=12)
    body = kwire.encode(metadata(topic("a"), topic("b")), version=12)
    first = decoder.decode(memoryview(b"head" + body)[4:])
    changing = bytearray(body)
    assert decoder.decode(changing) is first

    changing[:] = bytes(len(changing))

    assert decoder.decode(memoryview(b"other" + body + b"tail")[5:-4]) is first
    assert decoder.decode(memoryview(bytes(byte for byte in body for _ in range(2)))[::2]) is first


# Against a plain diff

names = st.sampled_from(["a", "b", "c", "ab", "abc", "d", "e", ""])
topics = st.builds(
    lambda name, leaders, order: dataclasses.replace(
        topic(name, *leaders), partitions=tuple(Random(order).sample(topic(name, *leaders).partitions, len(leaders)))
    ),
    names,
    st.lists(st.integers(-1, 300), min_size=1, max_size=4),
    st.integers(0, 2),
)
messages = st.builds(
    lambda topics, controller, brokers: metadata(*topics, controller_id=controller, brokers=tuple(brokers)),
    st.lists(topics, max_size=6, unique_by=lambda topic: topic.name),
    st.integers(1, 2),
    st.lists(st.integers(1, 4), max_size=3, unique=True),
)


@given(st.lists(messages, min_size=1, max_size=6), st.sampled_from([0, 1, 8, 9, 12]))
def test_changes_equal_an_object_comparison(history: list[MetadataResponse], version: int) -> None:
    decoder = kwire.Decoder(MetadataResponse, version=version)
    before = None
    for message in history:
        body = (
            kwire.encode(message, version=version)
            if version
            else kwire.encode(dataclasses.replace(message, controller_id=-1), version=0)
        )
        read = decoder.decode(body)
        assert read == kwire.decode(MetadataResponse, body, version=version)
        assert decoder.changed == compare(before, read)
        if before is not None:
            old = {topic.name: topic for topic in before.topics}
            assert all(topic is old[topic.name] for topic in read.topics if old.get(topic.name) == topic)
        before = read


api_versions = st.builds(
    ApiVersionsResponse,
    error_code=st.integers(0, 1),
    api_keys=st.lists(
        st.builds(ApiVersion, api_key=st.integers(0, 3), min_version=st.just(0), max_version=st.integers(0, 1)),
        max_size=3,
        unique_by=lambda api: api.api_key,
    ),
    throttle_time_ms=st.integers(0, 1),
    finalized_features_epoch=st.integers(-1, 0),
    finalized_features=st.lists(
        st.builds(
            FinalizedFeatureKey, name=names, max_version_level=st.integers(0, 1), min_version_level=st.integers(0, 1)
        ),
        max_size=3,
        unique_by=lambda topic: topic.name,
    ),
    unknown_tags=st.dictionaries(st.integers(4, 5), st.binary(max_size=1), max_size=2),
)


@given(st.lists(api_versions, min_size=1, max_size=6))
def test_tagged_changes_equal_an_object_comparison(history: list[ApiVersionsResponse]) -> None:
    decoder = kwire.Decoder(ApiVersionsResponse, version=3)
    before = None
    for message in history:
        read = decoder.decode(kwire.encode(message, version=3))
        assert decoder.changed == compare(before, read)
        assert bool(decoder.changed) == (read != before)
        before = read


@given(
    st.lists(
        st.tuples(st.lists(topics, max_size=5), st.integers(0, 400), st.integers(0, 255), st.booleans()),
        min_size=2,
        max_size=8,
    ),
    st.sampled_from([1, 12]),
)
def test_damaged_frames_raise_the_errors_of_decode(
    history: list[tuple[list[MetadataResponseTopic], int, int, bool]], version: int
) -> None:
    """Includes topics with the same name, which are matched by position."""
    decoder = kwire.Decoder(MetadataResponse, version=version)
    for some, place, byte, cut in history:
        body = bytearray(kwire.encode(metadata(*some), version=version))
        if place < len(body):
            body[place] = byte
            if cut:
                del body[place:]
        frame = bytes(body)
        assert outcome(partial(decoder.decode, frame)) == outcome(
            partial(kwire.decode, MetadataResponse, frame, version=version)
        )


def outcome(read: Callable[[], object]) -> object:
    """Return the decoded message, or the facts of the error."""
    try:
        return read()
    except kwire.DecodeError as error:
        return error.kind, error.offset, error.path, error.wanted, error.left


@given(st.data())
def test_decoder_of_random_declarations(data: st.DataObject) -> None:
    cls = data.draw(message_classes())
    version = data.draw(versions)
    decoder: kwire.Decoder[Any] = kwire.Decoder(cls, version=version)
    bodies = strategies.messages(cls, version=version).map(lambda message: kwire.encode(message, version=version))
    seen = data.draw(st.lists(bodies, min_size=1, max_size=3))
    frames = st.one_of(st.sampled_from(seen), st.sampled_from(seen).flatmap(damaged), st.binary(max_size=30))
    for frame in [*seen, *data.draw(st.lists(frames, max_size=8))]:
        again = outcome(partial(decoder.decode, frame))
        assert again == outcome(partial(kwire.decode, cls, frame, version=version))


@for_rows("message", sorted(vectors()))
def test_decoder_of_kafkas_bodies(message: str) -> None:
    cls = message_class(message)
    for version in cls.versions:
        decoder: kwire.Decoder[Any] = kwire.Decoder(cls, version=version)
        bodies = [vector.body for vector in vectors()[message] if vector.version == version]
        for body in [*bodies, *reversed(bodies)]:
            assert decoder.decode(body) == kwire.decode(cls, body, version=version)


def test_kip4_topics_are_matched_by_name_and_nested_parts_are_kept() -> None:
    def message(lag: int, *extra: str) -> TopicMetadataResponse_V1:
        lags = (ReplicaLag(replica_id=1, lag=0), ReplicaLag(replica_id=2, lag=lag))
        parts = tuple(
            PartitionMetadata_V1(
                partition_error_code=0,
                partition_id=index,
                leader=1,
                replicas_lag=lags if index == 1 else lags[:1],
                isr=(1,),
            )
            for index in range(3)
        )
        decoder = TopicMetadata_V1(
            topic_error_code=0,
            topic_name="orders",
            partitions=parts,
            config_entries=(ConfigEntry(config_key="retention.ms", config_value="1"),),
        )
        others = (
            TopicMetadata_V1(topic_error_code=3, topic_name=name, partitions=(), config_entries=()) for name in extra
        )
        return TopicMetadataResponse_V1(brokers=(), topics=(*others, decoder))

    decoder = kwire.Decoder(TopicMetadataResponse_V1, version=1)
    first = decoder.decode(kwire.encode(message(0), version=1)).topics[0]

    second = decoder.decode(kwire.encode(message(500, "new"), version=1)).topics[1]

    assert second.config_entries is first.config_entries
    assert second.topic_name is first.topic_name
    assert [one is other for one, other in zip(first.partitions, second.partitions, strict=True)] == [True, False, True]
    assert second.partitions[1].replicas_lag[0] is first.partitions[1].replicas_lag[0]
    assert decoder.changed.arrays["topics"].changed == ((first, second),)


def test_repr_of_changes_is_bounded() -> None:
    decoder = MessageDecoder()

    decoder(metadata(*(topic(f"topic-{number}") for number in range(1000))))

    assert "added=<1000 MetadataResponseTopic>" in repr(decoder.changed)
    assert repr(decoder.changed).startswith("Changes(first=True, fields=(")
    assert len(repr(decoder.changed)) < 3000
