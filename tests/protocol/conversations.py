"""Frames of both directions, and conversations that receive them."""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING, Any

from kwire import frame
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.messages.kafka.produce import ProduceRequest
from kwire.protocol import Conversation, Endpoint, Exchange

if TYPE_CHECKING:
    from kwire.declare import Message

BROKER = Endpoint("broker-1", 9092)
METADATA = MetadataResponse(brokers=(), topics=())


def sized(payload: bytes) -> bytes:
    return pack(">i", len(payload)) + payload


def request(message: Message, version: int, correlation_id: int = 7, client_id: str | None = "app") -> bytes:
    return frame.encode_request(message, version=version, correlation_id=correlation_id, client_id=client_id)


def response(message: Message, version: int, correlation_id: int = 7) -> bytes:
    return frame.encode_response(message, version=version, correlation_id=correlation_id)


def metadata_request(correlation_id: int) -> bytes:
    return request(MetadataRequest(topics=None), 12, correlation_id)


def metadata_response(correlation_id: int) -> bytes:
    return response(METADATA, 12, correlation_id)


def produce(acks: int, correlation_id: int) -> bytes:
    return request(ProduceRequest(acks=acks, timeout_ms=1000, topic_data=()), 9, correlation_id)


def conversation(**options: Any) -> Conversation:
    return Conversation(BROKER, **options)


def ids(found: list[Exchange]) -> list[int | None]:
    return [exchange.correlation_id for exchange in found]
