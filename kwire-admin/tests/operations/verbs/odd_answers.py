"""Answers of a broker that are valid in form and odd in content, for every API that verbs read.

A broker of another vendor, a proxy, or a broker with a bug sends them: lists without the item that was requested or
with others, numbers out of every range, unknown codes, and errors beside values. Only its own address is right, because
a client would not get further otherwise.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kwire import frame
from kwire.declare.introspect import describe, fields
from kwire.declare.wire_types import (
    ArrayType,
    BytesType,
    MaybeType,
    NullableType,
    Primitive,
    StringType,
    StructType,
)
from kwire.messages import every, find
from kwire.messages.kafka.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from tests.stream_server import stream_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kwire.declare import Message

TEXTS = ("", "orders", "orders", "g", "-1", "1", "a\nb", "é" * 10, "\0", "ANY", "two", "2147483648")
CODES = (0,) * 12 + (1, 3, -1, 29, 31, 41, 77, 999)
NUMBERS = (0, 0, 1, 1, 2, -1, 3, 1000)
FLOATS = (0.0, -1.0, 1e300, float("nan"), float("inf"))
ADDRESSED = {"host", "port", "node_id", "broker_id", "leader_id", "coordinator_id", "controller_id"}
"""Fields that lead a client to a broker. They are right in three of four answers."""


class OddBroker:
    """A broker that answers every request with something.

    Args:
        seed: chooses the answers.
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self.port = 0

    def answer(self, request: Message, version: int) -> Message:
        """Return an answer to a request in a version."""
        if isinstance(request, ApiVersionsRequest):
            return _api_versions()
        response = describe(type(request)).response
        assert response is not None
        answer: Message = self._struct(find("kafka", name=response), version, is_addressed=self._random.random() < 0.75)
        if isinstance(answer, MetadataResponse) and isinstance(request, MetadataRequest):
            me = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.port, rack=None)
            strangers = answer.brokers[: self._random.random() < 0.2]
            return type(answer)(
                **{f.name: getattr(answer, f.name) for f in fields(type(answer))}
                | {"brokers": (me, *strangers), "error_code": 0}
            )
        return answer

    def _struct(self, cls: Any, version: int, *, is_addressed: bool) -> Any:
        values: dict[str, Any] = {}
        for f in fields(cls):
            if f.in_version(version):
                values[f.name] = self._value(f.type, f.name, version, f.nullable_in(version), is_addressed)
        return cls(**values)

    def _value(self, type: Any, name: str, version: int, nullable: bool, is_addressed: bool) -> Any:
        choose = self._random
        if is_addressed and name in ADDRESSED:
            return {"host": "127.0.0.1", "port": self.port}.get(name, 1)
        match type:
            case NullableType(inner=inner) | MaybeType(inner=inner):
                if nullable and choose.random() < 0.2:
                    return None
                return self._value(inner, name, version, False, is_addressed)
            case ArrayType(element=element):
                count = choose.choice((0, 1, 1, 1, 2, 3))
                return tuple(self._value(element, name, version, False, is_addressed) for _ in range(count))
            case StructType(struct=struct):
                return self._struct(struct, version, is_addressed=is_addressed)
            case StringType():
                return choose.choice(TEXTS)
            case BytesType():
                return choose.choice((b"", b"\0", b"\xff" * 20, bytes(100)))
            case Primitive(name="bool"):
                return choose.random() < 0.5
            case Primitive(name="uuid"):
                return UUID(int=choose.choice((0, 1, 2**128 - 1)))
            case Primitive(name="float64"):
                return choose.choice(FLOATS)
        if name == "error_code":
            return choose.choice(CODES)
        if name == "throttle_time_ms":
            return 0
        edges = [type.lowest, type.highest, *(number for number in NUMBERS if type.lowest <= number <= type.highest)]
        return choose.choice(edges)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                payload = await reader.readexactly(size)
                try:
                    request = frame.decode_request(payload, dialect="kafka")
                except frame.UnsupportedRequest as unsupported:
                    refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=())
                    header = unsupported.header
                    writer.write(frame.encode_response(refusal, version=0, correlation_id=header.correlation_id))
                    continue
                version = request.header.request_api_version
                answer = self.answer(request.message, version)
                writer.write(
                    frame.encode_response(answer, version=version, correlation_id=request.header.correlation_id)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


@asynccontextmanager
async def odd_broker(seed: str) -> AsyncIterator[OddBroker]:
    """Run a broker on a free port."""
    broker = OddBroker(seed)
    async with stream_server(broker.serve) as broker.port:
        yield broker


def _api_versions() -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error_code=0,
        api_keys=tuple(
            ApiVersion(api_key=cls.api_key, min_version=cls.versions.lowest, max_version=cls.versions.highest)
            for cls in every("kafka")
            if cls.__kwire_response__ is not None
        ),
    )
