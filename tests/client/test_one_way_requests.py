"""Requests without a response: Produce with `acks` 0, between others, and to a broker that does not read."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from kwire import frame
from kwire.client import Connection
from kwire.client.connection_pool import ConnectionPool
from kwire.messages.kafka.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.messages.kafka.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kwire.protocol import ConnectionClosed, Endpoint
from tests.stream_server import stream_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SERVED = ApiVersionsResponse(
    error_code=0,
    api_keys=tuple(
        ApiVersion(api_key=key, min_version=low, max_version=high)
        for key, low, high in ((0, 9, 11), (3, 0, 12), (18, 0, 4))
    ),
)


def produce(acks: int, records: bytes = b"") -> ProduceRequest:
    partitions = (PartitionProduceData(index=0, records=records),)
    return ProduceRequest(
        acks=acks, timeout_ms=1000, topic_data=(TopicProduceData(name="t", partition_data=partitions),)
    )


class Broker:
    """A broker that responds like Kafka: in order, and not to Produce with `acks` 0."""

    def __init__(self) -> None:
        self.received: list[Any] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await self.reads.wait()
                size = int.from_bytes(await reader.readexactly(4), "big")
                request = frame.decode_request(await reader.readexactly(size))
                self.received.append(request.message)
                response: Any
                match request.message:
                    case ApiVersionsRequest():
                        response = SERVED
                    case MetadataRequest():
                        response = MetadataResponse(brokers=(), topics=())
                    case ProduceRequest(acks=0):
                        continue
                    case _:
                        response = ProduceResponse(responses=())
                header = request.header
                version, correlation_id = header.request_api_version, header.correlation_id
                writer.write(frame.encode_response(response, version=version, correlation_id=correlation_id))
        except asyncio.IncompleteReadError:
            pass  # the client has closed the connection
        finally:
            writer.close()


@asynccontextmanager
async def running_broker() -> AsyncIterator[Broker]:
    broker = Broker()
    async with stream_server(broker.serve) as broker.port:
        try:
            yield broker
        finally:
            broker.reads.set()


async def test_connection_goes_on_after_a_request_without_response() -> None:
    async with running_broker() as broker, await Connection.open(f"127.0.0.1:{broker.port}") as connection:
        for _ in range(3):
            assert await connection.send(produce(0)) is None
            assert await connection.send(MetadataRequest(topics=())) == MetadataResponse(brokers=(), topics=())
        before, _, after = await asyncio.gather(
            connection.send(produce(1)), connection.send(produce(0)), connection.send(produce(-1))
        )

        assert before == after == ProduceResponse(responses=())
        assert [message.acks for message in broker.received if isinstance(message, ProduceRequest)] == [
            0,
            0,
            0,
            1,
            0,
            -1,
        ]
        assert connection.fault is None


async def test_pool_sends_requests_without_response() -> None:
    async with running_broker() as broker:
        pool = ConnectionPool(client_id=None, timeout=30)
        endpoint = Endpoint("127.0.0.1", broker.port)
        assert await pool.send(endpoint, produce(0)) is None
        assert await pool.send(endpoint, MetadataRequest(topics=())) == MetadataResponse(brokers=(), topics=())
        await pool.close()


async def test_response_of_a_request_without_one_cannot_be_submitted_for() -> None:
    async with running_broker() as broker, await Connection.open(f"127.0.0.1:{broker.port}") as connection:
        with pytest.raises(ValueError, match=r"ProduceRequest has no response: use send\(\) instead of submit\(\)"):
            connection.submit(produce(0))
        assert await connection.send(MetadataRequest(topics=())) == MetadataResponse(brokers=(), topics=())


async def until_one_waits(connection: Connection) -> asyncio.Task[Any]:
    """Send until a request waits for the network; more than the system's buffers hold."""
    for _ in range(10_000):
        task = asyncio.create_task(connection.send(produce(0, bytes(1 << 18))))
        done, _ = await asyncio.wait([task], timeout=0.2)
        if not done:
            return task
    raise AssertionError("a sender is never stopped, so its memory grows without limit")


async def test_sender_waits_for_a_broker_that_does_not_read() -> None:
    async with running_broker() as broker, await Connection.open(f"127.0.0.1:{broker.port}") as connection:
        broker.reads.clear()
        task = await until_one_waits(connection)
        broker.reads.set()

        assert await task is None
        assert await connection.send(MetadataRequest(topics=())) == MetadataResponse(brokers=(), topics=())


async def test_waiting_request_without_response_fails_when_the_connection_ends() -> None:
    async with running_broker() as broker, await Connection.open(f"127.0.0.1:{broker.port}") as connection:
        broker.reads.clear()
        task = await until_one_waits(connection)
        connection.abort()

        with pytest.raises(ConnectionClosed):
            await task
        with pytest.raises(ConnectionClosed):
            await connection.send(produce(0))
        broker.reads.set()
