"""Record batches against real brokers of both versions, and against confluent-kafka."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest

from kwire import records
from kwire.client import Connection
from kwire.messages.kafka.fetch import FetchPartition, FetchRequest, FetchTopic
from kwire.messages.kafka.init_producer_id import InitProducerIdRequest
from kwire.messages.kafka.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kwire.records import Compression, Header, MemoryRecords, Record
from tests.eventually import eventually
from tests.kafka.administrator import Administrator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.real_kafka import Kafka39, KafkaCluster

confluent: Any = confluent_kafka  # its stubs lack some classes

PRODUCE_VERSION = 11
"""The highest version of Kafka 3.9."""
FETCH_VERSION = 12
"""The highest version that names topics."""
NOT_READY = (3, 6)
"""UNKNOWN_TOPIC_OR_PARTITION and NOT_LEADER_OR_FOLLOWER."""
SECONDS = 30
TIME = 1_700_000_000_000

RECORDS = tuple(
    Record(
        offset=index,
        timestamp=TIME + index,
        key=None if index % 3 == 0 else b"key-%d" % index,
        value=None if index % 5 == 4 else b"value %d " % index * (index % 40),
        headers=tuple(Header(key=f"header-{number}", value=b"%d" % number) for number in range(index % 3)),
    )
    for index in range(300)
)
PLAIN = tuple(
    Record(offset=record.offset, timestamp=record.timestamp, key=record.key, value=record.value) for record in RECORDS
)


@pytest.fixture
def topic(cluster: KafkaCluster) -> str:
    return new_topic(cluster)


def new_topic(cluster: KafkaCluster) -> str:
    name = f"records-{uuid.uuid4().hex[:8]}"
    # The records are years old, so the broker would delete them as soon as it looks for old segments.
    Administrator(cluster).create(name, 1, retention_ms="-1")
    return name


async def produce(connection: Connection, topic: str, data: bytes, *, version: int = PRODUCE_VERSION) -> int:
    """Append a batch to partition 0. Returns the error code."""
    partition = PartitionProduceData(index=0, records=data)
    request = ProduceRequest(
        acks=-1, timeout_ms=SECONDS * 1000, topic_data=(TopicProduceData(name=topic, partition_data=(partition,)),)
    )

    async def results() -> tuple[int] | None:
        response = await connection.send(request, version=version)
        code = response.responses[0].partition_responses[0].error_code
        # The broker possibly does not know yet that it leads the new partition.
        return None if code in NOT_READY else (code,)

    found: Any = await eventually(results, within=SECONDS)
    return int(found[0])


async def fetch(
    connection: Connection, topic: str, offset: int = 0, *, version: int = FETCH_VERSION, max_bytes: int = 1 << 20
) -> MemoryRecords:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    request = FetchRequest(max_wait_ms=1000, min_bytes=1, topics=(FetchTopic(topic=topic, partitions=(partition,)),))
    response = await connection.send(request, version=version)
    found = response.responses[0].partitions[0]
    assert found.error_code == 0
    return records.decode(found.records or b"")


@pytest.mark.parametrize("compression", Compression)
async def test_broker_appends_what_kwire_encodes(cluster: KafkaCluster, topic: str, compression: Compression) -> None:
    data = records.encode(RECORDS, compression=compression)
    async with await Connection.open(cluster.bootstrap) as connection:
        assert await produce(connection, topic, data) == 0
        assert await produce(connection, topic, data) == 0
        found = await fetch(connection, topic)

    assert [batch.base_offset for batch in found.batches] == [0, len(RECORDS)]
    for batch in found.batches:
        assert batch.compression is compression
        assert [record.offset - batch.base_offset for record in batch.records] == list(range(len(RECORDS)))
        assert [contents(record) for record in batch.records] == [contents(record) for record in RECORDS]


def contents(record: Record) -> tuple[Any, ...]:
    return record.timestamp, record.key, record.value, record.headers


async def test_broker_rejects_a_wrong_checksum(cluster: KafkaCluster, topic: str) -> None:
    data = bytearray(records.encode(RECORDS))
    data[-1] ^= 1
    async with await Connection.open(cluster.bootstrap) as connection:
        assert await produce(connection, topic, bytes(data)) == 2  # CORRUPT_MESSAGE


async def test_a_cut_batch_of_a_fetch_response_is_unread(cluster: KafkaCluster, topic: str) -> None:
    data = records.encode(RECORDS)
    async with await Connection.open(cluster.bootstrap) as connection:
        for _ in range(3):
            assert await produce(connection, topic, data) == 0
        found = await fetch(connection, topic, max_bytes=len(data) + 100)
    assert len(found.batches) == 1
    assert found.unread == 100


async def test_broker_accepts_the_sequence_of_an_idempotent_producer(cluster: KafkaCluster, topic: str) -> None:
    async with await Connection.open(cluster.bootstrap) as connection:

        async def new_producer() -> Any:
            response = await connection.send(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000))
            return response if response.error_code == 0 else None

        # The coordinator may still be loading.
        producer: Any = await eventually(new_producer, within=SECONDS)
        options = {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}

        def batch(base_sequence: int) -> bytes:
            return records.encode(RECORDS[:3], base_sequence=base_sequence, **options)

        assert await produce(connection, topic, batch(0)) == 0
        assert await produce(connection, topic, batch(3)) == 0
        assert await produce(connection, topic, batch(9)) == 45  # OUT_OF_ORDER_SEQUENCE_NUMBER
        found = await fetch(connection, topic)
    assert [(batch.producer_id, batch.base_sequence, batch.last_sequence) for batch in found.batches] == [
        (producer.producer_id, 0, 2),
        (producer.producer_id, 3, 5),
    ]


async def test_connection_goes_on_after_records_that_need_no_acknowledgment(cluster: KafkaCluster, topic: str) -> None:
    data = records.encode(RECORDS[:3])
    partition = PartitionProduceData(index=0, records=data)
    request = ProduceRequest(
        acks=0, timeout_ms=1000, topic_data=(TopicProduceData(name=topic, partition_data=(partition,)),)
    )
    async with await Connection.open(cluster.bootstrap) as connection:
        assert await produce(connection, topic, data) == 0
        assert await connection.send(request, version=PRODUCE_VERSION) is None
        assert await produce(connection, topic, data) == 0
        found = await fetch(connection, topic)
    assert [batch.base_offset for batch in found.batches] == [0, 3, 6]


@pytest.mark.parametrize("compression", list(Compression)[:4])
@pytest.mark.parametrize(("magic", "version"), [(0, 0), (1, 2)])
async def test_older_brokers_convert_message_sets(
    kafka39: Kafka39, magic: int, version: int, compression: Compression
) -> None:
    topic = new_topic(kafka39)
    sent = [record.__replace__(timestamp=-1) for record in PLAIN] if magic == 0 else PLAIN  # type: ignore[attr-defined]  # since 3.13
    data = records.encode(sent, magic=magic, compression=compression)
    async with await Connection.open(kafka39.bootstrap) as connection:
        assert await produce(connection, topic, data, version=version) == 0
        stored = await fetch(connection, topic)
        converted = await fetch(connection, topic, version=3 if magic else 1)

    assert {batch.magic for batch in stored.batches} == {2}
    assert [(record.offset, *contents(record)) for record in stored.records()] == [
        (record.offset, *contents(record)) for record in sent
    ]
    assert {batch.magic for batch in converted.batches} == {magic}
    assert [(record.offset, *contents(record)) for record in converted.records()] == [
        (record.offset, *contents(record)) for record in sent
    ]


@pytest.mark.parametrize("compression", Compression)
async def test_kwire_reads_what_librdkafka_produces(
    cluster: KafkaCluster, topic: str, compression: Compression
) -> None:
    producer = confluent.Producer(
        {"bootstrap.servers": cluster.bootstrap, "compression.type": compression.name.lower(), "linger.ms": 200}
    )
    for record in RECORDS:
        headers = [(header.key, header.value) for header in record.headers]
        producer.produce(
            topic, value=record.value, key=record.key, partition=0, timestamp=record.timestamp, headers=headers
        )
    assert producer.flush(SECONDS) == 0
    async with await Connection.open(cluster.bootstrap) as connection:
        found = await fetch(connection, topic)

    assert list(found.records()) == list(RECORDS)
    assert compression in {batch.compression for batch in found.batches}


@pytest.mark.parametrize("compression", Compression)
async def test_librdkafka_reads_what_kwire_encodes(cluster: KafkaCluster, topic: str, compression: Compression) -> None:
    async with await Connection.open(cluster.bootstrap) as connection:
        assert await produce(connection, topic, records.encode(RECORDS, compression=compression)) == 0
    consumer = confluent.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none", "check.crcs": True})
    try:
        consumer.assign([confluent.TopicPartition(topic, 0, 0)])
        found = consume(consumer, len(RECORDS))
    finally:
        consumer.close()
    assert found == [(record.offset, *contents(record)) for record in RECORDS]


def consume(consumer: Any, count: int) -> list[tuple[Any, ...]]:
    messages: Iterable[Any] = consumer.consume(count, SECONDS)
    return [
        (
            message.offset(),
            message.timestamp()[1],
            message.key(),
            message.value(),
            tuple(Header(key=key, value=value) for key, value in message.headers() or ()),
        )
        for message in messages
    ]
