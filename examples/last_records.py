"""Print the last records of a topic, in any compression.

    pip install kwire
    python last_records.py 127.0.0.1:9092 orders 10

Each line has the partition, the offset, the compression, and the record.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kwire import records
from kwire.client import BlockingConnection
from kwire.messages.kafka import FetchRequest, ListOffsetsRequest, MetadataRequest
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.fetch import FetchPartition, FetchTopic
from kwire.messages.kafka.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from kwire.messages.kafka.metadata import MetadataRequestTopic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

EARLIEST, LATEST = -2, -1
MAX_BYTES = 1 << 20


def check(error_code: int) -> None:
    """Raise an error that names an error code."""
    code = ErrorCode(error_code)
    if code:
        raise SystemExit(f"{code.name}: {code.message}")


def offset(leader: BlockingConnection, topic: str, partition: int, timestamp: int) -> int:
    """Return the first offset of a partition, or the one behind its last record."""
    wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=topic, partitions=(wanted,)),))
    [response] = leader.send(request).topics[0].partitions
    check(response.error_code)
    return response.offset


def fetch(leader: BlockingConnection, topic_id: UUID, partition: int, start: int) -> Iterator[records.RecordBatch]:
    """Yield the batches from an offset on, at most about `MAX_BYTES` of them."""
    wanted = FetchPartition(partition=partition, fetch_offset=start, partition_max_bytes=MAX_BYTES)
    topic = FetchTopic(topic_id=topic_id, partitions=(wanted,))
    response = leader.send(FetchRequest(max_wait_ms=500, min_bytes=1, topics=(topic,)))
    check(response.error_code)
    [fetched] = response.responses[0].partitions
    check(fetched.error_code)
    # One batch at a time, and of any ratio: equal bytes compress ten thousandfold, and brokers accept them.
    return records.batches(fetched.records or b"", max_ratio=None)


def last_records(leader: BlockingConnection, topic: str, topic_id: UUID, partition: int, count: int) -> Iterator[str]:
    """Return a line for each of the last records of a partition."""
    end = offset(leader, topic, partition, LATEST)
    first = position = max(offset(leader, topic, partition, EARLIEST), end - count)
    while position < end:
        for batch in fetch(leader, topic_id, partition, position):
            position = batch.last_offset + 1
            for record in batch.records:  # a batch may begin before the offset that was asked for
                if not batch.is_control and first <= record.offset < end:
                    yield f"{partition} {record.offset} {batch.compression.name} {record.key!r} {record.value!r}"


def main(address: str, topic: str, count: str) -> None:
    with BlockingConnection(address) as bootstrap:
        metadata = bootstrap.send(MetadataRequest(topics=(MetadataRequestTopic(name=topic),)))
    [described] = metadata.topics
    check(described.error_code)
    brokers = {broker.node_id: f"{broker.host}:{broker.port}" for broker in metadata.brokers}
    for partition in sorted(described.partitions, key=lambda partition: partition.partition_index):
        check(partition.error_code)
        with BlockingConnection(brokers[partition.leader_id]) as leader:
            for line in last_records(leader, topic, described.topic_id, partition.partition_index, int(count)):
                print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
