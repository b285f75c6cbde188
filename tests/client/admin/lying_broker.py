"""A broker with right answers, except for one API: a proxy or a fault loses, repeats, delays, or cuts its answers.

The content follows the request: each list has one element, with the names of the request. So operations get as far as
the requests that change something.
"""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kwire import frame
from kwire.declare.introspect import describe, fields
from kwire.declare.wire_types import ArrayType, BytesType, MaybeType, NullableType, Primitive, StringType, StructType
from kwire.frame import Splitter
from kwire.messages import every, find
from kwire.messages.kafka.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from kwire.declare import Message

LATE_S = 10.0
"""Seconds by which a late answer is delayed."""
HOSTS = {"host", "client_host"}
IDS = {"node_id", "broker_id", "leader_id", "coordinator_id", "controller_id", "replica_id", "voter_id"}


class Lie(StrEnum):
    """An event that befalls the answers of an API."""

    LOST_ONCE = "lost once"
    LOST = "lost"
    REPEATED = "repeated"
    LATE_ONCE = "late once"
    CUT = "cut in the middle"
    OTHER_ID = "with another correlation id"
    CLOSED_AFTER = "followed by the end of the connection"
    CLOSED_BEFORE = "the connection ends instead"
    TRICKLED = "10 bytes per second"
    NOT_RESPONSIBLE = "an error of brokers that are not responsible"
    TIMED_OUT = "error 7"
    UNKNOWN = "error -1"
    LOST_THEN_REFUSED = "lost once, then refused by brokers that are not responsible"


ERRORS = {Lie.TIMED_OUT: 7, Lie.UNKNOWN: -1}
NOT_RESPONSIBLE = {8: 16, 9: 16, 21: 6, 22: 16, 42: 16, 47: 16}
"""The error codes of brokers that are not the coordinator or the leader, by API key; 41 for other APIs."""


class LyingBroker:
    """A broker that is a cluster by itself.

    Attributes:
        received: all requests but those for API versions.
        lie: the fate of the answers of `liar`.
        liar: an API key; None for every API.
    """

    def __init__(self, host: str, port: int, *, topics: tuple[str, ...] = ("orders",)) -> None:
        self.host = host
        self.port = port
        self.topics = topics
        self.lie: Lie | None = None
        self.liar: int | None = None
        self.has_lied = False
        self.received: list[Message] = []

    def accept(self) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        return _Connection(self)

    def lie_about(self, api_key: int) -> Lie | None:
        """Return the fate of an answer."""
        if self.lie is None or (self.liar is not None and api_key != self.liar):
            return None
        if self.lie in {Lie.LOST_ONCE, Lie.LATE_ONCE, Lie.REPEATED} and self.has_lied:
            return None
        if self.lie is Lie.LOST_THEN_REFUSED:
            self.has_lied, has_lied = True, self.has_lied
            return Lie.NOT_RESPONSIBLE if has_lied else Lie.LOST
        self.has_lied = True
        return self.lie

    def answer(self, request: Any, version: int, error: int) -> Message:
        """Return the answer to a request in a version."""
        if isinstance(request, ApiVersionsRequest):
            return api_versions()
        if isinstance(request, MetadataRequest):
            return self._metadata()
        name = describe(type(request)).response
        assert name is not None
        answer: Message = _Answer(self, request, version, error).struct(find("kafka", name=name))
        return answer

    def _metadata(self) -> MetadataResponse:
        partition = MetadataResponsePartition(
            error_code=0, partition_index=0, leader_id=1, leader_epoch=0, replica_nodes=(1,), isr_nodes=(1,)
        )
        topics = [
            MetadataResponseTopic(error_code=0, name=name, topic_id=UUID(int=1), partitions=(partition,))
            for name in self.topics
        ]
        broker = MetadataResponseBroker(node_id=1, host=self.host, port=self.port, rack=None)
        return MetadataResponse(brokers=(broker,), cluster_id="lies", controller_id=1, topics=tuple(topics))


class _Answer:
    """An answer with the names of the request."""

    def __init__(self, broker: LyingBroker, request: Message, version: int, error: int) -> None:
        self._broker = broker
        self._version = version
        self._error = error
        self._texts: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._collect(request)

    def _collect(self, value: Any) -> None:
        for f in fields(type(value)):
            self._collect_value(f.name, getattr(value, f.name))

    def _collect_value(self, name: str, value: Any) -> None:
        if isinstance(value, str) and value:
            self._texts.setdefault(name, value)
        elif isinstance(value, int):
            self._numbers.setdefault(name, value)
        elif isinstance(value, tuple):
            for element in value[:1]:
                self._collect_value(name, element)
        elif hasattr(type(value), "__kwire_fields__") or type(value).__module__.startswith("kwire.messages"):
            self._collect(value)

    def struct(self, cls: Any) -> Any:
        """Return an instance of a struct of the answer."""
        return cls(**{f.name: self._value(f.type, f.name) for f in fields(cls) if f.in_version(self._version)})

    def _value(self, type: Any, name: str) -> Any:
        match type:
            case NullableType(inner=inner) | MaybeType(inner=inner):
                return None if name in {"error_message", "message"} else self._value(inner, name)
            case ArrayType(element=element):
                return (self._value(element, name),)
            case StructType(struct=struct):
                return self.struct(struct)
            case StringType():
                return self._broker.host if name in HOSTS else self._text(name)
            case BytesType():
                return b""
            case Primitive(name="bool"):
                return False
            case Primitive(name="uuid"):
                return UUID(int=1)
            case Primitive(name="float64"):
                return 1.0
        if name == "error_code":
            return self._error
        if name.endswith("authorized_operations"):
            return 0x7FFFFFFF
        if name == "port":
            return self._broker.port
        return 1 if name in IDS else max(self._numbers.get(name, 0), 0)

    def _text(self, name: str) -> str:
        """Return the text of the request under a name, or under another one."""
        return self._texts.get(name) or next(iter(self._texts.values()), "orders")


def api_versions() -> ApiVersionsResponse:
    """Return the list of every API of Kafka."""
    served = {
        cls.api_key: (cls.versions.lowest, cls.versions.highest)
        for cls in every("kafka")
        if cls.__kwire_response__ is not None
    }
    return ApiVersionsResponse(
        error_code=0,
        api_keys=tuple(
            ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in served.items()
        ),
    )


class _Connection(asyncio.Protocol):
    """The connection of one client."""

    def __init__(self, broker: LyingBroker) -> None:
        self._broker = broker
        self._splitter = Splitter()
        self._transport: asyncio.Transport | None = None
        self._free_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._transport = None

    def data_received(self, data: bytes) -> None:
        for payload in self._splitter.feed(data):
            self._receive(payload)

    def _receive(self, payload: bytes) -> None:
        broker = self._broker
        try:
            request = frame.decode_request(payload, dialect="kafka")
        except frame.UnsupportedRequest as unsupported:
            refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=())
            self._write(frame.encode_response(refusal, version=0, correlation_id=unsupported.header.correlation_id))
            return
        key, version, id = request.message.api_key, request.header.request_api_version, request.header.correlation_id
        if key != ApiVersionsRequest.api_key:
            broker.received.append(request.message)
        lie = broker.lie_about(key)
        error = NOT_RESPONSIBLE.get(key, 41) if lie is Lie.NOT_RESPONSIBLE else ERRORS.get(lie or Lie.LOST, 0)
        answer = broker.answer(request.message, version, error)
        if lie is Lie.OTHER_ID:
            id += 7
        self._send(lie, frame.encode_response(answer, version=version, correlation_id=id))

    def _send(self, lie: Lie | None, answer: bytes) -> None:
        loop = asyncio.get_running_loop()
        match lie:
            case Lie.LOST | Lie.LOST_ONCE:
                return
            case Lie.REPEATED:
                self._write(answer + answer)
            case Lie.LATE_ONCE:
                loop.call_later(LATE_S, self._write, answer)
            case Lie.CUT:
                self._write(answer[: len(answer) // 2])
                self._close()
            case Lie.CLOSED_AFTER:
                self._write(answer)
                self._close()
            case Lie.CLOSED_BEFORE:
                self._close()
            case Lie.TRICKLED:
                for start in range(0, len(answer), 10):
                    self._write(answer[start : start + 10])
                    self._free_at = max(self._free_at, loop.time()) + 1
            case _:
                self._write(answer)

    def _write(self, data: bytes) -> None:
        """Write bytes after the trickling ones."""
        loop = asyncio.get_running_loop()
        if self._free_at > loop.time():
            loop.call_at(self._free_at, self._write_now, data)
        else:
            self._write_now(data)

    def _write_now(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()
