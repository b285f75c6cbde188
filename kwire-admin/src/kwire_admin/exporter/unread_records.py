"""The first records that groups have not read, where the samples of a topic do not suffice.

The samples of a topic have the time of a record that was written while the exporter ran. For a group that stands still
at an older record, the record itself has its time: its timestamp, which the producer or the broker has set. Samples do
not show either which offsets have a record: control records of transactions are never read, and compaction removes
records.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import kwire.records
from kwire.errors import KwireError
from kwire.messages.kafka.fetch import FetchPartition, FetchRequest, FetchTopic
from kwire_admin.exporter.group_record import UnreadRecord

if TYPE_CHECKING:
    from kwire.client.polled_requests import RequestSequence
    from kwire_admin.exporter.observed_cluster import ObservedCluster

__all__ = ["UnreadRecords"]

MAX_UNBOUNDED = 1_000
"""Maximum number of unread records of a leader considered in a round. Chosen: fifty times as many as are fetched."""
MAX_RECORDS = 20
"""Maximum number of records fetched from a broker in a round. Chosen: one batch each, so at most 20 MB by default."""
BATCH_BYTES = 64 << 10
"""Bytes of a response beyond its first batch, which a broker returns whole."""
MAX_DECODED = 64 << 20
"""Maximum memory in bytes of the decoded records of a response; a larger batch has no timestamp."""
EARLIEST_TIMESTAMP_S = 1_293_840_000
"""Beginning of 2011, when Kafka was published: an older timestamp is not the time at which a record was written."""


class UnreadRecords:
    """Requests for the first unread records of groups that stand still, on the logs that a broker leads.

    The records of all brokers are found at once, when the first broker of a round is asked.
    """

    def __init__(self) -> None:
        self._before: dict[int, dict[tuple[str, str, int], int]] = {}
        self._found: dict[int, dict[tuple[str, str, int], int]] = {}
        self._asked: set[int] | None = None

    def requests(self, state: ObservedCluster, _: Any, broker: int) -> RequestSequence:
        before = self._before.get(broker)
        if self._asked is None or broker in self._asked:
            self._found, self._asked = _unbounded_records(state), set()
        self._asked.add(broker)
        unread = self._before[broker] = self._found.get(broker, {})
        # In the first round, every group may stand still: after a restart of the exporter, its alerts need the age.
        still = [item for item in unread.items() if before is None or before.get(item[0]) == item[1]]
        for (group, topic, partition), offset in still[:MAX_RECORDS]:
            response = yield _fetch(topic, partition, offset)
            record = _first_record(response, (topic, partition), offset, state.clock())
            state.groups.set_unread(group, topic, partition, record)


def _unbounded_records(state: ObservedCluster) -> dict[int, dict[tuple[str, str, int], int]]:
    """Return the first unread records whose time no sample shows.

    Returns:
        By leader, their offsets by group, topic, and partition, at most MAX_UNBOUNDED.
    """
    unread: dict[int, dict[tuple[str, str, int], int]] = defaultdict(dict)
    for group_id, topic in state.groups.unbounded:
        record, read = state.topics.records.get(topic), state.groups.read(group_id, topic)
        if record is None or read is None:
            continue
        for partition, offset in read.unbounded.items():
            of_leader = unread[record.leader(partition)]
            if len(of_leader) < MAX_UNBOUNDED:
                of_leader[group_id, topic, partition] = offset
    return unread


def _fetch(topic: str, partition: int, offset: int) -> FetchRequest:
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=BATCH_BYTES)
    return FetchRequest(
        max_wait_ms=0, min_bytes=0, max_bytes=BATCH_BYTES, topics=(FetchTopic(topic=topic, partitions=(wanted,)),)
    )


def _first_record(response: Any, log: tuple[str, int], offset: int, now: float) -> UnreadRecord:
    """Return the first record of a log from an offset on, as far as it is known.

    Errors and answers about other logs do not count.
    """
    first = offset
    answers = (
        partition
        for topic in response.responses
        for partition in topic.partitions
        if (topic.topic, partition.partition_index) == log and not partition.error_code
    )
    for answer in answers:
        try:
            decoded = kwire.records.decode(answer.records or b"", max_size=MAX_DECODED)
        except KwireError:
            break
        for batch in decoded.batches:
            records = () if batch.is_control else batch.records
            record = next((record for record in records if record.offset >= offset), None)
            if record is not None:
                seconds = record.timestamp / 1000
                is_usable = EARLIEST_TIMESTAMP_S <= seconds <= now
                return UnreadRecord(offset, seconds if is_usable else None, record.offset)
            first = max(first, batch.base_offset + batch.last_offset_delta + 1)
    return UnreadRecord(offset, None, first)
