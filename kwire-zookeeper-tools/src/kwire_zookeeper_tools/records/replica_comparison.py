"""Comparison of the records that the replicas of a partition have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import AdminError, TopicPartition
from kwire.client.record_fetcher import RecordFetcher
from kwire.errors import RecordsDecodeError
from kwire.protocol.errors import ConnectionFault
from kwire_admin.operations.partitions import existing_topics
from kwire_zookeeper_tools.records.record_groups import size_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient
    from kwire.records import Record
    from kwire_admin.operations.topic_filter import TopicFilter

__all__ = ["ReplicaComparison", "replicas_of"]

SHOWN = 10
"""Differences of a partition that are reported."""
READ_BYTES = 32 << 20
"""Uncompressed bytes of a replica after which the others are read: a fetch of 1 MiB can hold gigabytes of equal bytes.
Chosen, not measured."""


async def replicas_of(admin: AdminClient, topics: TopicFilter) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the replicas of each partition of topics, without internal ones.

    Raises:
        AdminError: a topic cannot be described.
    """
    return {
        TopicPartition(name, partition.partition): partition.replicas
        for name, topic in (await existing_topics(admin)).items()
        if topics.accepts(name) and not topic.is_internal
        for partition in topic.partitions
    }


class ReplicaComparison:
    """Reads partitions from all their replicas.

    Attributes:
        compared: number of records that the first replica of each partition has returned.
    """

    def __init__(self, admin: AdminClient, *, fetch_size: int, max_wait_ms: int) -> None:
        self._fetcher = RecordFetcher(admin, max_wait_ms=max_wait_ms, partition_max_bytes=fetch_size)
        self.compared = 0

    async def compare(self, partition: TopicPartition, replicas: Sequence[int], start: int, end: int) -> list[str]:
        """Return a line for each difference, and for a replica that cannot be read, at most `SHOWN` of them."""
        differences: list[str] = []
        position = start
        while position < end and len(differences) < SHOWN:
            logs: dict[int, dict[int, Record]] = {}
            reached = end
            for broker in replicas:
                try:
                    logs[broker], following = await self._read(broker, partition, position)
                except (AdminError, ConnectionFault, RecordsDecodeError) as error:
                    differences.append(f"{partition}: broker {broker} at offset {position}: {error}")
                    return differences
                if following == position:
                    differences.append(f"{partition}: broker {broker} ends at offset {position}, expected {end}")
                    return differences
                reached = min(reached, following)
            differences += _differences(partition, logs, reached)
            self.compared += sum(position <= offset < reached for offset in logs[replicas[0]])
            position = reached
        return differences[:SHOWN]

    async def _read(self, broker: int, partition: TopicPartition, position: int) -> tuple[dict[int, Record], int]:
        """Return the records of a replica from an offset on, by offset, and the offset after them."""
        fetched = (await self._fetcher.fetch_from(broker, {partition: position}))[partition]
        if isinstance(fetched, AdminError):
            raise fetched
        by_offset: dict[int, Record] = {}
        size, end = 0, position
        for batch in fetched.batches():
            if size > READ_BYTES:
                break
            by_offset |= {record.offset: record for record in batch.records if record.offset >= position}
            end = batch.last_offset + 1
            size += size_of(batch.records)
        return by_offset, max(position, end)


def _differences(partition: TopicPartition, logs: dict[int, dict[int, Record]], end: int) -> list[str]:
    (first, expected), *others = logs.items()
    return [
        f"{partition}: offset {offset} differs between brokers {first} and {broker}"
        for broker, log in others
        for offset in sorted(expected.keys() & log.keys())
        if offset < end and log[offset] != expected[offset]
    ]
