"""Copying of records from partitions of one cluster to partitions of another, or of the same.

Records are copied at least once: the position of a partition moves only after the target has acknowledged its records,
so a copy that continues at such a position loses none, and may repeat some. The order within a partition, keys, values,
timestamps, headers, and the compression are kept. Records of aborted transactions and control records are not copied.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

from kwire import records
from kwire.client.admin import AdminError
from kwire.client.record_fetcher import RecordFetcher
from kwire.client.record_sender import RecordSender
from kwire.errors import RecordsDecodeError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.operations.declaration import ToolFailed
from kwire.records import Compression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire.client.admin import AdminClient, TopicPartition
    from kwire.client.record_fetcher import FetchedRecords
    from kwire.records import Record, RecordBatch

__all__ = ["RecordCopy"]

BATCH_BYTES = 500_000
"""Small batches are merged up to this size, as stored in the source. Brokers accept 1 MB (`max.message.bytes`)."""


class _Chunk(NamedTuple):
    """Records of a partition that were fetched together, and the offset after them."""

    source: TopicPartition
    batches: list[bytes]
    records: int
    end: int


class RecordCopy:
    """Copies records.

    Args:
        source: a client of the cluster to read from.
        target: a client of the cluster to write to.
        routes: the target partition of each source partition.
        positions: the offset of the first record to copy, by source partition.
        limit: the most records to copy; None for all.
        one_by_one: true to wait for an acknowledgment before more records are fetched.
        skip_refused: true to go on after records that the target refuses, which are lost in the target.

    Attributes:
        acknowledged: the offset after the last record that the target has acknowledged, by source partition.
        refused: number of records that the target has refused.
    """

    def __init__(
        self,
        source: AdminClient,
        target: AdminClient,
        routes: Mapping[TopicPartition, TopicPartition],
        positions: Mapping[TopicPartition, int],
        *,
        limit: int | None = None,
        one_by_one: bool = False,
        skip_refused: bool = False,
    ) -> None:
        self._fetcher = RecordFetcher(source, committed_only=True)
        self._sender = RecordSender(target)
        self._routes = routes
        self._next = dict(positions)
        self._limit = limit
        self._one_by_one = one_by_one
        self._skip_refused = skip_refused
        self.refused = 0
        self.acknowledged = dict(positions)
        self._sent = 0

    @property
    def copied(self) -> int:
        """Number of records that the target has acknowledged."""
        return self._sent - self.refused

    async def run(self, until: Mapping[TopicPartition, int] | None = None) -> None:
        """Copy until the limit, or until every partition has reached an offset.

        Args:
            until: the offsets; None to go on for ever.

        Raises:
            ToolFailed: records cannot be read or written. Those before were copied.
            ConnectionFault: a cluster does not respond in time.
        """
        sending: asyncio.Task[None] | None = None
        try:
            while self._is_unfinished(until):
                chunks = await self._fetch(until)
                if sending is not None:
                    await sending
                sending = asyncio.create_task(self._send(chunks))
                if self._one_by_one:
                    await sending
            if sending is not None:
                await sending
        finally:
            if sending is not None and not sending.done():
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)

    def _is_unfinished(self, until: Mapping[TopicPartition, int] | None) -> bool:
        if self._limit == 0:
            return False
        return until is None or any(offset < until[partition] for partition, offset in self._next.items())

    async def _fetch(self, until: Mapping[TopicPartition, int] | None) -> list[_Chunk]:
        wanted = {
            partition: offset for partition, offset in self._next.items() if until is None or offset < until[partition]
        }
        chunks = []
        for partition, fetched in (await self._fetcher.fetch(wanted)).items():
            if isinstance(fetched, AdminError):
                if fetched.code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    raise ToolFailed(
                        f"{partition} has no offset {wanted[partition]}: records were deleted before they were copied"
                    )
                raise ToolFailed(str(fetched))
            chunk = self._chunk(partition, wanted[partition], fetched)
            if chunk is not None:
                chunks.append(chunk)
                self._next[partition] = chunk.end
        return chunks

    def _chunk(self, partition: TopicPartition, start: int, fetched: FetchedRecords) -> _Chunk | None:
        try:
            decoded = records.decode(fetched.records)
        except RecordsDecodeError as error:
            raise ToolFailed(f"{partition} from offset {start}: {error}") from None
        if not decoded.batches:
            return None
        sizes = [header.size for header in records.batch_headers(fetched.records, check_crc=False)]
        committed = {batch.base_offset for batch in records.committed(decoded.batches, fetched.aborted)}
        sized = [pair for pair in zip(decoded.batches, sizes, strict=True) if pair[0].base_offset in committed]
        encoded, copied, end = [], 0, decoded.batches[-1].last_offset + 1
        for compression, values in _groups(sized, start):
            taken = values if self._limit is None else values[: self._limit]
            if self._limit is not None:
                self._limit -= len(taken)
            if taken:
                encoded.append(_encode(taken, compression))
                copied += len(taken)
            if len(taken) < len(values):
                end = taken[-1].offset + 1 if taken else end
                break
        return _Chunk(partition, encoded, copied, end)

    async def _send(self, chunks: Sequence[_Chunk]) -> None:
        """Send batches in rounds, because a request has at most one batch for each partition."""
        queues: dict[TopicPartition, deque[bytes]] = defaultdict(deque)
        for chunk in chunks:
            queues[self._routes[chunk.source]].extend(chunk.batches)
        while any(queues.values()):
            batches = {partition: queue.popleft() for partition, queue in queues.items() if queue}
            for partition, result in (await self._sender.send(batches)).items():
                if not isinstance(result, AdminError):
                    continue
                if not self._skip_refused:
                    raise ToolFailed(f"{result}; records copied before: {self.copied}")
                self.refused += sum(header.count for header in records.batch_headers(batches[partition]))
        for chunk in chunks:
            self.acknowledged[chunk.source] = chunk.end
            self._sent += chunk.records


def _groups(batches: Iterable[tuple[RecordBatch, int]], start: int) -> Iterator[tuple[Compression, Sequence[Record]]]:
    """Yield records that become one batch: neighbors of the same compression, and not too large together.

    Args:
        start: the first offset to copy: a batch may begin before it.
    """
    group: list[Record] = []
    compression = Compression.NONE
    total = 0
    for batch, size in batches:
        kept = (
            [record for record in batch.records if record.offset >= start]
            if batch.base_offset < start
            else batch.records
        )
        if group and (total + size > BATCH_BYTES or compression is not batch.compression):
            yield compression, group
            group, total = [], 0
        compression = batch.compression
        if size > BATCH_BYTES and len(kept) > 1:  # with another compressor, it could exceed the limit of the target
            yield compression, kept[: len(kept) // 2]
            kept = kept[len(kept) // 2 :]
        group += kept
        total += size
    if group:
        yield compression, group


def _encode(values: Sequence[Record], compression: Compression) -> bytes:
    """Encode records as one batch, with offsets from 0, as brokers expect them from producers."""
    if values[-1].offset - values[0].offset + 1 == len(values):
        data = records.encode(values, compression=compression)
        return bytes(8) + data[8:]  # the base offset, which the checksum does not cover
    numbered = [
        (number, record.timestamp, record.key, record.value, tuple(record.headers))
        for number, record in enumerate(values)
    ]
    return records.encode(numbered, compression=compression)
