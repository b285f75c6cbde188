"""Copying of records from partitions of one cluster to partitions of another, or of the same.

Records are copied at least once: the position of a partition moves only after the target has acknowledged its records,
so a copy that continues at such a position loses none, and may repeat some. The order within a partition, keys, values,
timestamps, headers, and the compression are kept. Records of aborted transactions and control records are not copied.

Whoever may write to one topic must not stop the copy of others. So fetched batches are decoded one at a time, each
partition has a share of every round, and a partition that cannot be read or written ends alone:

| a partition | from                                                    | until                            |
|-------------|---------------------------------------------------------|----------------------------------|
| is copied   | the start                                               | its end, or an error             |
| waits       | an error that passes, such as an election, without ends | `RETRY_SECONDS`                  |
| has failed  | any other error of its source or its target             | the copy ends, which then raises |
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

from kwire import records
from kwire.client.admin import AdminError, BrokerNotFound
from kwire.client.record_fetcher import RecordFetcher
from kwire.client.record_sender import RecordSender, is_passing
from kwire.errors import EncodeError, KwireError, RecordsDecodeError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault
from kwire_admin.operations.declaration import ToolFailed
from kwire_zookeeper_tools.records.record_groups import BATCH_BYTES, encode, groups, halves, size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kwire.client.admin import AdminClient, TopicPartition
    from kwire.client.record_fetcher import FetchedRecords
    from kwire.records import RecordBatch

__all__ = ["RecordCopy"]

SHARE_BYTES = 32 << 20
"""Uncompressed bytes of a partition after which the others have their turn: a fetch of 1 MiB can hold gigabytes of
equal bytes. Chosen, not measured."""
ROUND_BYTES = 50 << 20
"""Maximum bytes of the batches sent at once; brokers close connections at requests of 100 MiB
(`socket.request.max.bytes`)."""
RETRY_SECONDS = 30.0
"""Time after which a partition is read again that had no leader. Looking for one takes seconds, in which the others
wait. Chosen, not measured."""
SHOWN = 3
"""Failed partitions that an error names."""
TOO_LARGE = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})


class _Batch(NamedTuple):
    """An encoded batch.

    Attributes:
        source: the partition of its records.
        data: its bytes.
        records: number of its records.
        end: the offset after its records in the source; None for a part that others follow.
    """

    source: TopicPartition
    data: bytes
    records: int
    end: int | None


class _Chunk(NamedTuple):
    """Batches of a partition that were fetched together, and the offset after them."""

    source: TopicPartition
    batches: list[_Batch]
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
        report: receives a line when a partition fails or waits.
        clock: returns seconds.

    Attributes:
        acknowledged: the offset after the last record that the target has acknowledged, by source partition.
        failures: the reasons of partitions that failed.
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
        report: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetcher = RecordFetcher(source, committed_only=True)
        self._sender = RecordSender(target)
        self._routes = routes
        self._next = dict(positions)
        self._limit = limit
        self._one_by_one = one_by_one
        self._skip_refused = skip_refused
        self._report = report
        self._clock = clock
        self._waiting: dict[TopicPartition, float] = {}
        """The times from which waiting partitions are read again."""
        self._batch_bytes: dict[TopicPartition, int] = {}
        """Uncompressed bytes of a batch, by target partition, after it has refused a larger one."""
        self._sent = 0
        self.refused = 0
        self.acknowledged = dict(positions)
        self.failures: dict[TopicPartition, str] = {}

    @property
    def copied(self) -> int:
        """Number of records that the target has acknowledged."""
        return self._sent - self.refused

    async def run(self, until: Mapping[TopicPartition, int] | None = None) -> None:
        """Copy until the limit, or until every partition has reached an offset or has failed.

        Args:
            until: the offsets; None to go on for ever.

        Raises:
            ToolFailed: partitions have failed, after the others were copied. Without `until`, also when the target
                refuses records, unless they are skipped.
            ConnectionFault: the target does not respond in time.
        """
        sending: asyncio.Task[None] | None = None
        try:
            while self._is_unfinished(until):
                chunks = await self._fetch(until)
                if sending is not None:
                    await sending
                sending = asyncio.create_task(self._send(chunks, is_endless=until is None))
                if self._one_by_one:
                    await sending
            if sending is not None:
                await sending
        finally:
            if sending is not None and not sending.done():
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
        if self.failures:
            shown = "; ".join(self.failures[partition] for partition in sorted(self.failures)[:SHOWN])
            count = f"{len(self.failures)} of {len(self.acknowledged)} partitions failed: "
            raise ToolFailed(f"{count if len(self.acknowledged) > 1 else ''}{shown}; records copied: {self.copied}")

    def fail(self, partition: TopicPartition, reason: str) -> None:
        """Leave a partition out from now on."""
        self.failures[partition] = reason
        self._report(f"{reason}: the rest of {partition} is not copied")

    def _is_unfinished(self, until: Mapping[TopicPartition, int] | None) -> bool:
        return self._limit != 0 and any(True for _ in self._unfinished(until))

    def _unfinished(self, until: Mapping[TopicPartition, int] | None) -> Iterator[TopicPartition]:
        for partition, offset in self._next.items():
            if partition not in self.failures and (until is None or offset < until[partition]):
                yield partition

    async def _fetch(self, until: Mapping[TopicPartition, int] | None) -> list[_Chunk]:
        unfinished = list(self._unfinished(until))
        wanted = {
            partition: self._next[partition]
            for partition in unfinished
            if self._waiting.get(partition, 0) <= self._clock()
        }
        if not wanted:
            await asyncio.sleep(min(self._waiting[partition] for partition in unfinished) - self._clock())
            return []
        chunks = []
        for partition, fetched in (await self._fetcher.fetch(wanted)).items():
            if isinstance(fetched, AdminError | ConnectionFault | BrokerNotFound):
                self._cannot_fetch(partition, wanted[partition], fetched, is_endless=until is None)
                continue
            self._waiting.pop(partition, None)
            chunk = self._chunk(partition, wanted[partition], fetched)
            if chunk is not None:
                chunks.append(chunk)
                self._next[partition] = chunk.end
            await asyncio.sleep(0)  # a share takes up to a second of CPU: commits and responses come between
        return chunks

    def _cannot_fetch(
        self,
        partition: TopicPartition,
        offset: int,
        error: AdminError | ConnectionFault | BrokerNotFound,
        *,
        is_endless: bool,
    ) -> None:
        reason = str(error)
        if isinstance(error, AdminError):
            code = ErrorCode(error.code)
            is_passing = code.retriable and code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if code == ErrorCode.OFFSET_OUT_OF_RANGE:
                reason = f"{partition} has no offset {offset}: records were deleted before they were copied"
        else:
            reason, is_passing = f"{partition}: {error}", True  # a broker that is down can return
        if is_endless and is_passing:
            if partition not in self._waiting:
                self._report(f"{reason}: read again every {RETRY_SECONDS:.0f} s")
            self._waiting[partition] = self._clock() + RETRY_SECONDS
        else:
            self.fail(partition, reason)

    def _chunk(self, partition: TopicPartition, start: int, fetched: FetchedRecords) -> _Chunk | None:
        """Return the records of a partition up to its share of a round, or up to a batch that cannot be decoded."""
        end, size, share = start, 0, SHARE_BYTES
        stopped: KwireError | None = None

        def decoded() -> Iterator[RecordBatch]:
            nonlocal end, size, share
            for batch in fetched.batches():
                size = size_of(batch.records)
                yield batch
                end = max(end, batch.last_offset + 1)
                share -= size
                if share <= 0:
                    return

        def committed() -> Iterator[tuple[RecordBatch, int]]:
            # An error ends the batches without passing through `groups`, which may hold records that precede it.
            nonlocal stopped
            try:
                for batch in records.committed(decoded(), fetched.aborted):
                    yield batch, size
            except KwireError as error:
                stopped = error

        batches: list[_Batch] = []
        try:
            self._take(partition, start, committed(), batches)
        except EncodeError as error:
            stopped = error
            end = (batches[-1].end if batches else None) or start
        if stopped is not None:
            self.fail(partition, f"{partition} at offset {end}: {_decode_text(stopped)}")
        elif self._limit == 0 and batches:
            end = batches[-1].end or end
        return _Chunk(partition, batches, end) if end > start else None

    def _take(
        self, partition: TopicPartition, start: int, decoded: Iterable[tuple[RecordBatch, int]], batches: list[_Batch]
    ) -> None:
        """Append records to `batches`, as batches for the target, up to the limit."""
        limit = self._batch_bytes.get(self._routes[partition], BATCH_BYTES)
        for compression, values in groups(decoded, start, limit):
            taken = values if self._limit is None else values[: self._limit]
            if taken:
                batches.append(_Batch(partition, encode(taken, compression), len(taken), taken[-1].offset + 1))
            if self._limit is not None:
                self._limit -= len(taken)
                if self._limit == 0:
                    return

    async def _send(self, chunks: Sequence[_Chunk], *, is_endless: bool) -> None:
        """Send batches in rounds, because a request has at most one batch for each partition."""
        queues: dict[TopicPartition, deque[_Batch]] = defaultdict(deque)
        for chunk in chunks:
            queues[self._routes[chunk.source]].extend(chunk.batches)
        refusing: set[TopicPartition] = set()
        while batches := _next_round(queues):
            results = await self._sender.send({partition: batch.data for partition, batch in batches.items()})
            for partition, result in results.items():
                batch = batches[partition]
                if not isinstance(result, AdminError):
                    self._acknowledge(batch)
                elif result.code in TOO_LARGE and batch.records > 1:
                    queues[partition].extendleft(self._split(partition, batch))
                elif self._skip_refused and not is_passing(result):
                    self.refused += batch.records
                    self._acknowledge(batch)
                else:
                    self.fail(batch.source, str(result))
                    refusing.add(batch.source)
                    # What follows must not be sent: the position of the partition stays before the refused batch.
                    queues[partition] = deque(rest for rest in queues[partition] if rest.source != batch.source)
            if refusing and is_endless:
                first = self.failures[min(refusing)]
                raise ToolFailed(f"{first}; records copied before: {self.copied}")
        for chunk in chunks:
            if chunk.source not in refusing:
                self.acknowledged[chunk.source] = chunk.end

    def _acknowledge(self, batch: _Batch) -> None:
        self._sent += batch.records
        if batch.end is not None:
            self.acknowledged[batch.source] = batch.end

    def _split(self, target: TopicPartition, batch: _Batch) -> tuple[_Batch, _Batch]:
        """Return the halves of a batch that is too large for its target, the second first, and make later ones smaller.

        The target may have a smaller `max.message.bytes`, or other records than the source.
        """
        (first, first_count), (second, second_count), size = halves(batch.data)
        self._batch_bytes[target] = min(size, self._batch_bytes.get(target, BATCH_BYTES))
        return (
            _Batch(batch.source, second, second_count, batch.end),
            _Batch(batch.source, first, first_count, None),
        )


def _next_round(queues: Mapping[TopicPartition, deque[_Batch]]) -> dict[TopicPartition, _Batch]:
    """Take the next batch of each partition, as far as they fit into a round."""
    batches: dict[TopicPartition, _Batch] = {}
    size = 0
    for partition, queue in queues.items():
        if queue and (not batches or size + len(queue[0].data) <= ROUND_BYTES):
            batches[partition] = queue.popleft()
            size += len(batches[partition].data)
    return batches


def _decode_text(error: KwireError) -> str:
    """Return the reason without the path: it counts the batches of a response, which users do not see."""
    if not isinstance(error, RecordsDecodeError):
        return str(error)
    limit = f", more than {error.wanted} bytes" if error.kind == "limit_exceeded" else ""
    field = f" in {error.path[-1]}" if error.path and isinstance(error.path[-1], str) else ""
    return f"the batch cannot be decoded: {error.kind}{field}{limit}"
