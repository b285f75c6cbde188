"""Right uses of declarations, as a third party would write them: mypy and pyright, both strict, find nothing here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from enum import IntEnum
from typing import ClassVar, assert_type
from uuid import UUID

import kwire
from kwire.declare import (
    Message,
    Request,
    Struct,
    VersionRange,
    array,
    field,
    float64,
    int8,
    int16,
    int32,
    int64,
    maybe,
    nullable,
    string,
    uint16,
    uint32,
    uuid,
    zero,
)


class Origin(Struct):
    country: string
    altitude: nullable[int32] = field(since=1, default=None, ignorable=True)


class Brewer(Struct, weakref=True):
    node_id: int32
    host: string
    rack: nullable[string] = field(since=1, default=None, ignorable=True)
    """A field may be followed by what it means."""


class BrewRequest(Request["BrewResponse"], api_key=900, versions="0-3", flexible="2+"):
    """One sentence about the message."""

    LIMIT: ClassVar[int] = 3

    topics: nullable[array[string]] = field(nullable_since=1, default=())
    timeout_ms: int32 = 60_000
    deep: bool = field(tag=0, since=2, default=False)

    @property
    def patient(self) -> bool:
        return self.timeout_ms > self.LIMIT


class BrewResponse(Message, api_key=900, versions="0-3", flexible="2+", dialect=("kafka", "kip4"), header_version=0):
    small: int8
    port: uint16
    epoch: uint32 = field(since=1, default=0)
    size: int64 = field(until=2, default=-1)
    share: float64 = 0.5
    payload: bytes = b""
    topic_id: uuid = field(since=3, default=zero)
    brewers: array[Brewer]
    origin: Origin = field(since=1, default=zero)
    controller: maybe[Brewer] = None
    error_code: int16 = field(default=0, name="error", compact=False)


class Priority(IntEnum):
    HIGH = 1


# Construction by keyword; a field that has a default may be left out.
brewer = Brewer(node_id=1, host="a")
request = BrewRequest()
response = BrewResponse(small=1, port=9092, brewers=(brewer,), controller=brewer, error_code=Priority.HIGH)

# An attribute has the type of its hint.
assert_type(brewer.node_id, int)
assert_type(brewer.rack, str | None)
assert_type(request.topics, tuple[str, ...] | None)
assert_type(request.deep, bool)
assert_type(response.share, float)
assert_type(response.payload, bytes)
assert_type(response.topic_id, UUID)
assert_type(response.brewers, tuple[Brewer, ...])
assert_type(response.brewers[0].host, str)
assert_type(response.controller, Brewer | None)
assert_type(request.patient, bool)

# Facts about a message stand on its class.
assert_type(BrewRequest.api_key, int)
assert_type(BrewRequest.versions, VersionRange)
assert_type(BrewRequest.flexible, VersionRange | None)

# What the declaration does not know.
assert_type(response.unknown_tags, Mapping[int, bytes])
with_tags = Brewer(node_id=1, host="a", unknown_tags={7: b"\x01"})

# Values: hashable, comparable, and dataclasses to those who ask.
assert_type({brewer: 1}, dict[Brewer, int])
assert_type(brewer == with_tags, bool)
assert_type(replace(brewer, host="b"), Brewer)
names = [f.name for f in fields(brewer)]
as_dictionary = asdict(response)
assert_type(is_dataclass(BrewResponse), bool)

match brewer:
    case Brewer(node_id=node_id, rack=None):
        assert_type(node_id, int)
    case Brewer(host=host, rack=rack):
        assert_type(host, str)
        assert_type(rack, str | None)

# Bytes and back: the class that is asked for is the class that comes.
data = kwire.encode(response, version=3)
assert_type(data, bytes)
assert_type(kwire.decode(BrewResponse, data, version=3), BrewResponse)
assert_type(kwire.decode(BrewResponse, memoryview(data), version=3), BrewResponse)
assert_type(kwire.decode(BrewResponse, bytearray(data), version=3).brewers, tuple[Brewer, ...])
kwire.validate(BrewResponse, data, version=3)
assert_type(kwire.plan(BrewResponse, version=3), str)
assert_type(kwire.reference.decode(BrewResponse, data, version=3), BrewResponse)
assert_type(kwire.reference.encode(response, version=3), bytes)
kwire.reference.validate(BrewResponse, data, version=3)

# Kafka's JSON form.
document = kwire.to_json(response, version=3)
assert_type(kwire.from_json(BrewResponse, document, version=3), BrewResponse)
