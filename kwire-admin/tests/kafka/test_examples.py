"""The examples for clusters, against real brokers of both versions."""

from __future__ import annotations

import asyncio
import sys
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import confluent_kafka

from kwire.client import Connection
from kwire.messages.kafka import MetadataRequest
from tests.kafka.administrator import Administrator
from tests.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.real_kafka import KafkaCluster

confluent: Any = confluent_kafka  # its stubs lack some classes
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def produce(bootstrap: str, topic: str) -> None:
    """Append one record for each codec, through the clients of librdkafka."""
    for codec in CODECS:
        producer = confluent.Producer({"bootstrap.servers": bootstrap, "compression.type": codec})
        # A batch of one short record is sent uncompressed, because compression would make it longer.
        producer.produce(topic, key=codec, value=codec * 1000)
        assert producer.flush(60) == 0


async def printed(program: str, *arguments: str) -> list[list[str]]:
    """Return the words of the lines that an example prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, f"examples/{program}.py", *arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
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
            assert await printed("last_records", bootstrap, topic, "3") == expected[2:]
            assert await printed("last_records", bootstrap, topic, "100") == expected
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


def commit(bootstrap: str, group: str, offsets: dict[int, int]) -> None:
    """Commit offsets of partitions of the topic with the name of the group."""
    consumer = confluent.Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    partitions = [confluent.TopicPartition(group, index, offset) for index, offset in offsets.items()]
    consumer.commit(offsets=partitions, asynchronous=False)
    consumer.close()


def commit_in_transaction(bootstrap: str, group: str, offset: int, *, aborted: bool) -> None:
    """Commit an offset of partition 0 as part of a transaction."""
    consumer = confluent.Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    producer = confluent.Producer({"bootstrap.servers": bootstrap, "transactional.id": group})
    producer.init_transactions(60)
    producer.begin_transaction()
    partitions = [confluent.TopicPartition(group, 0, offset)]
    producer.send_offsets_to_transaction(partitions, consumer.consumer_group_metadata(), 60)
    if aborted:
        producer.abort_transaction(60)
    else:
        producer.commit_transaction(60)
    consumer.close()


async def test_lag_follows_commits_transactions_and_deletions(cluster: KafkaCluster) -> None:
    group = f"examples-{uuid.uuid4().hex[:8]}"
    bootstrap = cluster.bootstrap.split(",")[0]
    administrator = Administrator(cluster)
    administrator.create(group, 2)
    producer = confluent.Producer({"bootstrap.servers": bootstrap})
    for partition, count in enumerate((10, 4)):
        for _ in range(count):
            producer.produce(group, b"value", partition=partition)
    assert producer.flush(60) == 0

    async def lag() -> list[list[str]]:
        return [line[2:] for line in await printed("consumer_lag", bootstrap) if line[:2] == [group, group]]

    assert await lag() == []
    await asyncio.to_thread(commit, bootstrap, group, {0: 3, 1: 4})
    assert await lag() == [["0", "3", "10", "7"], ["1", "4", "4", "0"]]
    await asyncio.to_thread(commit_in_transaction, bootstrap, group, 8, aborted=True)
    assert await lag() == [["0", "3", "10", "7"], ["1", "4", "4", "0"]]
    await asyncio.to_thread(commit_in_transaction, bootstrap, group, 9, aborted=False)
    assert await lag() == [["0", "9", "10", "1"], ["1", "4", "4", "0"]]
    client = confluent.admin.AdminClient({"bootstrap.servers": bootstrap})
    client.delete_consumer_groups([group])[group].result(60)
    assert await lag() == []
