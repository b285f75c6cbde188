"""Correct uses of declarations, as users write them. Strict mypy and pyright report nothing here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from enum import IntEnum
from typing import ClassVar, assert_type
from uuid import UUID

import kwire
from kwire.client import BlockingPoller, Poll, PolledRequest, Poller, topic_configs
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
from kwire.messages.kafka.describe_configs import DescribeConfigsResponse
from kwire.messages.kafka.metadata import MetadataResponse
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataResponse_V1
from kwire.messages import kafka
from kwire.messages.kafka import MetadataRequest, MetadataResponse, api_versions
from kwire.messages.kafka.metadata import MetadataRequestTopic, MetadataResponseTopic
from kwire.messages.kip4 import CreateTopicRequest_V2
from kwire.messages.kip584 import UpdateFeaturesRequest


class Origin(Struct):
    country: string
    altitude: nullable[int32] = field(since=1, default=None, ignorable=True)


class Brewer(Struct, weakref=True):
    node_id: int32
    host: string
    rack: nullable[string] = field(since=1, default=None, ignorable=True)
    """The documentation of the field."""


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


# The constructor takes keywords; fields with a default are optional.
brewer = Brewer(node_id=1, host="a")
request = BrewRequest()
response = BrewResponse(small=1, port=9092, brewers=(brewer,), controller=brewer, error_code=Priority.HIGH)

# Attributes have the types of their hints.
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

# Class keywords are attributes of the class.
assert_type(BrewRequest.api_key, int)
assert_type(BrewRequest.versions, VersionRange)
assert_type(BrewRequest.flexible, VersionRange | None)

# Unknown tagged fields.
assert_type(response.unknown_tags, Mapping[int, bytes])
with_tags = Brewer(node_id=1, host="a", unknown_tags={7: b"\x01"})

# Instances are hashable, comparable dataclasses.
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

# Encoding and decoding return the given class.
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

# A view has the type of its message; `View` adds what only views have.
view = kwire.view(BrewResponse, data, version=3)
assert_type(view, BrewResponse)
assert_type(view.brewers, tuple[Brewer, ...])
assert_type(kwire.find(view.brewers, host="a", node_id=1), Brewer | None)
assert_type(kwire.find(response.brewers, host="a"), Brewer | None)
if isinstance(view, kwire.View):
    assert_type(view.version, int)
    assert_type(view.nbytes, int)
    assert_type(view.data, bytes | memoryview)
    assert_type(view.brewers, tuple[Brewer, ...])
    decoded: BrewResponse = view.decode()

# Kafka's JSON form.
document = kwire.to_json(response, version=3)
assert_type(kwire.from_json(BrewResponse, document, version=3), BrewResponse)

# Messages can be imported from their package or from their module.
metadata_request = MetadataRequest(topics=(MetadataRequestTopic(name="orders"),))
metadata = kwire.decode(MetadataResponse, kwire.encode(metadata_request, version=12), version=12)
assert_type(metadata, MetadataResponse)
assert_type(metadata.topics, tuple[MetadataResponseTopic, ...])
assert_type(kafka.DescribeClusterRequest(include_cluster_authorized_operations=False).endpoint_type, int)
assert_type(api_versions.ApiVersion(api_key=3, min_version=0, max_version=13).max_version, int)
assert_type(CreateTopicRequest_V2.versions, VersionRange)
assert_type(UpdateFeaturesRequest.api_key, int)

# Field documentation, and the unshortened repr.
documented = {f.name: f.metadata["doc"] for f in fields(metadata)}
assert_type(kwire.full_repr(metadata), str)

# A poller knows the type of its messages, by the dialect or by an annotation.


async def poll_metadata() -> None:
    async with Poller("broker-1:9092", dialect="kafka") as poller:
        assert_type(poller, Poller[MetadataResponse])
        async for poll in poller:
            assert_type(poll, Poll[MetadataResponse])
            if poll.message is not None:
                assert_type(poll.message.topics[0].name, str | None)
    async with Poller("broker-1:9092", dialect="kip4", interval=5.0) as drafts:
        async for draft in drafts:
            assert_type(draft.message, TopicMetadataResponse_V1 | None)
    async with Poller("broker-1:9092") as detected:
        assert_type(detected, Poller[MetadataResponse | TopicMetadataResponse_V1])
    requests = [PolledRequest(topic_configs(), 60.0)]
    both: Poller[MetadataResponse | DescribeConfigsResponse] = Poller("broker-1:9092", requests=requests)
    async with both:
        async for reported in both:
            assert_type(reported.message, MetadataResponse | DescribeConfigsResponse | None)


def poll_without_asyncio() -> None:
    with BlockingPoller("broker-1:9092", dialect="kafka") as poller:
        for poll in poller:
            assert_type(poll.message, MetadataResponse | None)
