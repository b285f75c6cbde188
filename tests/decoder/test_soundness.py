"""The decoder survives forged messages, garbage collection at any time, and many frames."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

import pytest

import kwire
from kwire.messages.kafka.metadata import MetadataResponse
from tests.decoder.test_decoder import metadata, topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIRST = kwire.encode(metadata(topic("a"), topic("b"), topic("c")), version=12)
SECOND = kwire.encode(metadata(topic("a"), topic("b", 9, 2, 3), topic("c"), topic("d")), version=12)


@pytest.fixture
def eager_collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(1)
    yield
    gc.set_threshold(*before)


def put(name: str, value: Callable[[Any], object]) -> Callable[[Any], None]:
    return lambda target: object.__setattr__(target, name, value(target))


def remove(*names: str) -> Callable[[Any], None]:
    def forge(target: Any) -> None:
        for name in names:
            object.__delattr__(target, name)

    return forge


def in_a_topic(forge: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda message: forge(message.topics[1])


FORGERIES: dict[str, Callable[[Any], None]] = {
    "topics are a list": put("topics", lambda message: list(message.topics)),
    "topics are fewer": put("topics", lambda message: message.topics[:1]),
    "topics are gone": remove("topics"),
    "topics are None": put("topics", lambda _: None),
    "not a topic": put("topics", lambda _: ("a", 1, None)),
    "partitions are a list": in_a_topic(put("partitions", lambda _: [1, 2, 3])),
    "partitions are fewer": in_a_topic(put("partitions", lambda _: ())),
    "partitions are gone": in_a_topic(remove("partitions")),
    "a name is gone": in_a_topic(remove("name")),
    "all is gone": remove("brokers", "topics", "cluster_id"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.usefixtures("eager_collector")
def test_decoder_survives_a_forged_last_message(forgery: str) -> None:
    decoder = kwire.Decoder(MetadataResponse, version=12)
    FORGERIES[forgery](decoder.decode(FIRST))

    again = decoder.decode(SECOND)

    assert again.topics[3] == topic("d")
    third = decoder.decode(SECOND)
    assert third is again
    decoder.reset()
    assert decoder.decode(SECOND) == kwire.decode(MetadataResponse, SECOND, version=12)


@pytest.mark.usefixtures("eager_collector")
def test_decoder_neither_leaks_nor_frees_early() -> None:
    decoder = kwire.Decoder(MetadataResponse, version=12)
    kept = decoder.decode(FIRST)
    for frame in (SECOND, FIRST) * 2_000:
        decoder.decode(frame)
        assert decoder.changed
    assert kept == kwire.decode(MetadataResponse, FIRST, version=12)

    alive = sys.getrefcount(kept.topics[0])
    for frame in (SECOND, FIRST) * 10:
        decoder.decode(frame)
    still_alive = sys.getrefcount(kept.topics[0])  # outside the assertion, which keeps references to its values
    assert still_alive == alive


def test_decoder_in_a_reference_cycle_is_collected() -> None:
    decoder = kwire.Decoder(MetadataResponse, version=12)
    decoder.decode(FIRST)
    del decoder

    gc.collect()
    assert gc.garbage == []
