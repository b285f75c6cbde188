"""Print the lag of all consumer groups, from the offsets that they have committed to `__consumer_offsets`.

    pip install kwire
    python consumer_lag.py 127.0.0.1:9092

Each line has the group, the topic, the partition, the committed offset, the end of the partition, and the lag.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from uuid import UUID

from kwire import records
from kwire.client import BlockingConnection
from kwire.messages.consumer_offsets import OffsetCommitKey, OffsetCommitValue
from kwire.messages.kafka import FetchRequest, ListOffsetsRequest, MetadataRequest
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.fetch import FetchPartition, FetchTopic
from kwire.messages.kafka.list_offsets import ListOffsetsPartition, ListOffsetsTopic

OFFSETS = "__consumer_offsets"
EARLIEST, LATEST = -2, -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
MAX_BYTES = 1 << 20

Partition = tuple[str, int]
"""The name of a topic, and the index."""


def check(error_code: int) -> None:
    """Raise an error that names an error code."""
    if code := ErrorCode(error_code):
        raise SystemExit(f"{code.name}: {code.message}")


class Lag:
    """The leaders of all partitions, and the committed offset of each group and partition."""

    def __init__(self, address: str, connections: ExitStack) -> None:
        self.connections = connections
        self.bootstrap = connections.enter_context(BlockingConnection(address))
        self.brokers: dict[str, BlockingConnection] = {}
        self.leaders: dict[Partition, BlockingConnection] = {}
        self.committed: dict[tuple[str, Partition], int] = {}
        self.topic_id = UUID(int=0)

    def find_leaders(self) -> None:
        """Connect to the leaders of all partitions."""
        metadata = self.bootstrap.send(MetadataRequest(topics=None))
        addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in metadata.brokers}
        for topic in metadata.topics:
            if topic.name == OFFSETS:
                self.topic_id = topic.topic_id
            for partition in topic.partitions:
                if topic.name is None or partition.leader_id not in addresses:
                    continue
                address = addresses[partition.leader_id]
                if address not in self.brokers:
                    self.brokers[address] = self.connections.enter_context(BlockingConnection(address))
                self.leaders[topic.name, partition.partition_index] = self.brokers[address]

    def offset(self, partition: Partition, timestamp: int, isolation: int) -> int:
        """Return the first offset of a partition, or the offset behind its last record."""
        query = ListOffsetsPartition(partition_index=partition[1], timestamp=timestamp)
        topics = (ListOffsetsTopic(name=partition[0], partitions=(query,)),)
        request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics)
        [response] = self.leaders[partition].send(request).topics[0].partitions
        check(response.error_code)
        return response.offset

    def read(self, partition: Partition) -> None:
        """Read a partition of `__consumer_offsets`."""
        position = self.offset(partition, EARLIEST, READ_COMMITTED)
        end = self.offset(partition, LATEST, READ_COMMITTED)
        while position < end:
            query = FetchPartition(partition=partition[1], fetch_offset=position, partition_max_bytes=MAX_BYTES)
            topics = (FetchTopic(topic=OFFSETS, topic_id=self.topic_id, partitions=(query,)),)
            request = FetchRequest(max_wait_ms=500, min_bytes=1, isolation_level=READ_COMMITTED, topics=topics)
            response = self.leaders[partition].send(request)
            check(response.error_code)
            [fetched] = response.responses[0].partitions
            check(fetched.error_code)
            batches = records.decode(fetched.records or b"").batches
            for batch in records.committed(batches, fetched.aborted_transactions or ()):
                for record in batch.records:
                    self.apply(record)
            if not batches:  # compaction has removed the rest
                break
            position = batches[-1].last_offset + 1

    def apply(self, record: records.Record) -> None:
        """Keep a committed offset, or forget a deleted one."""
        entry = records.internal_record(OFFSETS, record)
        if isinstance(entry.key, OffsetCommitKey):
            commit = entry.key.group, (entry.key.topic, entry.key.partition)
            if isinstance(entry.value, OffsetCommitValue):
                self.committed[commit] = entry.value.offset
            else:
                self.committed.pop(commit, None)

    def print(self) -> None:
        """Read all of the topic, and print a line for each committed offset."""
        self.find_leaders()
        for partition in self.leaders:
            if partition[0] == OFFSETS:
                self.read(partition)
        for (group, partition), offset in sorted(self.committed.items()):
            if partition in self.leaders:  # otherwise its topic is deleted, or it has no leader
                end = self.offset(partition, LATEST, READ_UNCOMMITTED)
                print(group, *partition, offset, end, max(end - offset, 0))


if __name__ == "__main__":
    with ExitStack() as connections:
        Lag(sys.argv[1], connections).print()
