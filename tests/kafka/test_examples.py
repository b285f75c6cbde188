"""The examples for clusters, against real brokers of both versions."""

from __future__ import annotations

import asyncio
import sys
import uuid
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import confluent_kafka

from kwire.client import Connection
from kwire.messages.kafka import MetadataRequest
from tests.kafka.administrator import Administrator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kwire.testing.kafka import KafkaCluster

confluent: Any = confluent_kafka  # its stubs lack some classes
ROOT = Path(__file__).parents[2]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def produce(bootstrap: str, topic: str) -> None:
    """Append one record for each codec, through the clients of librdkafka."""
    for codec in CODECS:
        producer = confluent.Producer({"bootstrap.servers": bootstrap, "compression.type": codec})
        # A batch of one short record is sent uncompressed, because compression would make it longer.
        producer.produce(topic, key=codec, value=codec * 1000)
        assert producer.flush(60) == 0


async def last_records(bootstrap: str, topic: str, count: int) -> list[list[str]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "examples/last_records.py", bootstrap, topic, str(count),
        cwd=ROOT, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(120):
        output, _ = await process.communicate()
    assert process.returncode == 0
    return [line.split() for line in output.decode().splitlines()]


@asynccontextmanager
async def proxy(bootstrap: str) -> AsyncIterator[str]:
    """Run the proxy, and return its address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "examples/rewriting_proxy.py", bootstrap, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(120):
            yield (await process.stdout.readline()).decode().strip()
    finally:
        process.kill()
        await process.communicate()


async def test_last_records_have_any_compression_directly_and_through_the_proxy(cluster: KafkaCluster) -> None:
    topic = f"examples-{uuid.uuid4().hex[:8]}"
    Administrator(cluster).create(topic, 1)
    expected = [["0", str(at), codec.upper(), f"b'{codec}'", f"b'{codec * 1000}'"] for at, codec in enumerate(CODECS)]
    async with proxy(cluster.bootstrap.split(",")[0]) as address:
        await asyncio.to_thread(produce, address, topic)
        for bootstrap in (cluster.bootstrap.split(",")[0], address):
            assert await last_records(bootstrap, topic, 3) == expected[2:]
            assert await last_records(bootstrap, topic, 100) == expected
        async with await Connection.open(address) as connection:
            metadata = await connection.send(MetadataRequest(topics=None))
        ports = {int(endpoint.rpartition(":")[2]) for endpoint in cluster.bootstrap.split(",")}
        assert ports.isdisjoint(broker.port for broker in metadata.brokers)


async def test_groups_consume_through_the_proxy(cluster: KafkaCluster) -> None:
    topic = f"examples-{uuid.uuid4().hex[:8]}"
    Administrator(cluster).create(topic, 1)

    def consume(bootstrap: str) -> list[str]:
        settings = {"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
        consumer = confluent.Consumer(settings)
        consumer.subscribe([topic])
        records = consumer.consume(len(CODECS), 60)
        consumer.close()
        return [record.key().decode() for record in records]

    async with proxy(cluster.bootstrap.split(",")[0]) as address:
        await asyncio.to_thread(produce, address, topic)
        assert await asyncio.to_thread(consume, address) == list(CODECS)
