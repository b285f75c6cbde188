"""Hanging transactions of real Kafka: found from producers, and aborted with a marker."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from kwire import records
from kwire.client import Connection
from kwire.client.admin import LATEST, AdminClient, HangingTransaction, PartitionOffset, TopicPartition
from kwire.messages.kafka.init_producer_id import InitProducerIdRequest
from kwire.messages.kafka.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kwire.records import Record
from tests.cli.administration import Operator
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_kafka import KafkaCluster

PRODUCE_VERSION = 11
"""The last version in which a producer adds partitions to its transaction in requests of their own."""
LONG_AGO = 1_000_000


@pytest.fixture
def operator(cluster: KafkaCluster) -> Iterator[Operator]:
    """A topic with one partition on brokers that accept records of transactions without checking them (KIP-890)."""
    operator = Operator(cluster.bootstrap)
    verification = "transaction.partition.verification.enable"
    operator.create_topic("hanging", 1)
    operator.json("configs", "set", "broker/default", f"{verification}=false")
    yield operator
    operator.json("configs", "delete", "broker/default", verification, "--yes")
    operator.json("topics", "delete", "hanging", "--yes")


async def write_without_coordinator(cluster: KafkaCluster, admin: AdminClient, transactional_id: str) -> int:
    """Write a record of a transaction that its coordinator does not know, and return the producer id."""
    await admin.describe_transactions([transactional_id])  # creates the topic of the coordinators
    async with await Connection.open(cluster.bootstrap) as connection:

        async def new_producer() -> Any:
            request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
            response = await connection.send(request)
            return response if response.error_code == 0 else None

        producer: Any = await eventually(new_producer, "the coordinator is ready")
        data = records.encode(
            [Record(offset=0, timestamp=LONG_AGO, key=None, value=b"1")],
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=0,
            is_transactional=True,
        )
        partition = PartitionProduceData(index=0, records=data)
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=20_000,
            topic_data=(TopicProduceData(name="hanging", partition_data=(partition,)),),
        )

        async def written() -> Any:
            response = await connection.send(request, version=PRODUCE_VERSION)
            return response.responses[0].partition_responses[0].error_code == 0

        # The dynamic config takes effect a moment later.
        await eventually(written, "the broker accepts the record")
    producer_id: int = producer.producer_id
    return producer_id


async def test_hanging_transaction_is_found_and_aborted(cluster: KafkaCluster, operator: Operator) -> None:
    hanging = TopicPartition("hanging", 0)
    transactional_id = f"lost-{uuid.uuid4().hex[:6]}"
    async with await AdminClient.open(cluster.bootstrap) as admin:
        assert await admin.find_hanging_transactions([hanging]) == []
        producer_id = await write_without_coordinator(cluster, admin, transactional_id)
        [found] = await admin.find_hanging_transactions([hanging])
        assert isinstance(found, HangingTransaction)
        assert (found.partition, found.transactional_id) == (hanging, transactional_id)
        assert (found.producer.producer_id, found.producer.transaction_start_offset) == (producer_id, 0)
        assert await admin.find_hanging_transactions([hanging], older_than_ms=2**45) == []

        async def stable_end() -> int | None:
            offset = (await admin.list_offsets({hanging: LATEST}, committed_only=True))[hanging]
            assert isinstance(offset, PartitionOffset)
            return offset.offset

        assert await stable_end() == 0, "consumers with read_committed stop here"

        [row] = operator.json("transactions", "find-hanging")
        assert (row["topic"], row["partition"], row["start_offset"]) == ("hanging", 0, 0)
        assert (row["transaction"], row["producer_id"], row["last_timestamp_ms"]) == (
            transactional_id, producer_id, LONG_AGO,
        )  # fmt: skip
        assert operator.json("transactions", "find-hanging", "hanging:0", "--broker", "1") == [row]
        assert operator.json("transactions", "find-hanging", "hanging", "--broker", "7") == []

        elsewhere = operator.run("transactions", "abort", "hanging:0", "--start-offset", "5", "--yes")
        assert elsewhere.code == 2
        assert "no open transaction of hanging-0 starts at 5: there are some at 0" in elsewhere.err
        abort = ("transactions", "abort", "hanging:0", "--start-offset", "0")
        assert operator.json(*abort, "--dry-run")[0]["status"] == "would be aborted"
        assert await stable_end() == 0, "a dry run changes nothing"
        unconfirmed = operator.run(*abort)
        assert (unconfirmed.code, "Confirm with --yes" in unconfirmed.err) == (2, True)
        assert operator.json(*abort, "--yes") == [{"name": "hanging-0", "status": "aborted", "attempts": 1}]

        async def readable() -> Any:
            return await stable_end() == 2

        await eventually(readable, "consumers read past the record and its marker")
        assert await admin.find_hanging_transactions([hanging]) == []
