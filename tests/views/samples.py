"""Messages with views, and how much of a view has been decoded."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import kwire
from kwire.declare import Message, Struct, array, field, float64, int8, int32, maybe, nullable, string, uuid, zero
from kwire.messages.kafka.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire.views import ArrayView


class Brew(Struct, key=("name", "year")):
    year: int32
    name: nullable[string] = None
    strength: float64 = 0.0
    token: uuid = field(since=1, default=zero)
    note: string = field(tag=0, since=1, default="")


class Menu(Message, versions="0-1", flexible="1+"):
    version: int32
    decode: string = ""
    brews: nullable[array[Brew]] = None
    codes: array[int8] = ()
    special: maybe[Brew] = None
    closed: bool = field(tag=0, since=1, default=False)
    recent: array[Brew] = field(tag=1, since=1, default=())


BREWS = tuple(Brew(year=2000 + number, name=f"brew-{number}", strength=number / 2) for number in range(1_000))
MENU = Menu(version=7, decode="plain", brews=BREWS, codes=(1, 2, 3), special=BREWS[0], closed=True, recent=BREWS[:2])
MENU_BODY = kwire.encode(MENU, version=1)

TOPICS = tuple(
    MetadataResponseTopic(
        error_code=0,
        name=f"topic-{number:04}",
        topic_id=UUID(int=number + 1),
        partitions=tuple(
            MetadataResponsePartition(
                error_code=0,
                partition_index=index,
                leader_id=1,
                leader_epoch=number % 7,
                replica_nodes=(1, 2, 3),
                isr_nodes=(1, 2, 3),
            )
            for index in range(20)
        ),
    )
    for number in range(2_000)
)
METADATA = MetadataResponse(
    brokers=tuple(MetadataResponseBroker(node_id=number, host="h", port=9092) for number in range(1, 4)),
    cluster_id="c",
    controller_id=1,
    topics=TOPICS,
)
BODY = kwire.encode(METADATA, version=12)


def menu() -> Menu:
    return kwire.view(Menu, MENU_BODY, version=1)


def metadata() -> MetadataResponse:
    return kwire.view(MetadataResponse, BODY, version=12)


def array_of(view: MetadataResponse) -> ArrayView[MetadataResponseTopic]:
    assert isinstance(view.topics, ArrayView)
    return view.topics


def touched(elements: Any) -> int:
    """Return how many elements have been decoded."""
    return sum(element is not None for element in elements._elements)
