"""Fetching of record batches by offset, for tools: without a consumer group and without fetch sessions.

Fetch up to version 12 names topics; later versions need topic ids.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire.client.admin.errors import AdminError
from kwire.client.admin.group_values import TopicPartition
from kwire.client.admin.leaders import by_topic, results_at_leaders
from kwire.client.admin.targets import BrokerTarget
from kwire.messages.kafka.fetch import FetchPartition, FetchRequest, FetchTopic
from kwire.records import batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire.client.admin import AdminClient
    from kwire.client.admin.errors import BrokerNotFound
    from kwire.messages.kafka.fetch import AbortedTransaction
    from kwire.protocol.errors import ConnectionFault
    from kwire.records import RecordBatch

HIGHEST_VERSION = 12
DEBUGGING_REPLICA = -2
"""The replica id by which any replica answers, not only the leader (`FetchRequest.DEBUGGING_CONSUMER_ID`)."""


class FetchedRecords(NamedTuple):
    """The response of a broker for a partition.

    Attributes:
        records: record batches, which `kwire.records` decodes. The first may begin before the requested offset, and the
            last may be cut short.
        high_watermark: the offset after the last record that consumers can read.
        log_start_offset: the first offset of the log; -1 if the broker does not report it.
        aborted: the aborted transactions among the records, if only committed records are fetched.
    """

    records: bytes
    high_watermark: int
    log_start_offset: int
    aborted: tuple[AbortedTransaction, ...]

    def batches(self) -> Iterator[RecordBatch]:
        """Decode the batches one at a time, so that memory is needed for one of them.

        A batch may compress to any ratio, because brokers accept it and every other consumer reads it. Its size is
        limited by `DEFAULT_MAX_SIZE` of `kwire.records`.

        Raises:
            RecordsDecodeError: the next batch is invalid or too large. The batches before it were returned.
        """
        return batches(self.records, max_ratio=None)


class RecordFetcher:
    """Fetches records from the leaders of partitions, or from one replica.

    Args:
        admin: a client of the cluster.
        max_wait_ms: milliseconds that a broker waits for records; they must be below the timeout of the client.
        partition_max_bytes: the most bytes of a partition, except for the first batch.
        max_bytes: the most bytes of a response.
        committed_only: end at the last stable offset, and report aborted transactions.
    """

    def __init__(
        self,
        admin: AdminClient,
        *,
        max_wait_ms: int = 500,
        partition_max_bytes: int = 1 << 20,
        max_bytes: int = 50 << 20,
        committed_only: bool = False,
    ) -> None:
        self._router = admin.router
        self._max_wait_ms = max_wait_ms
        self._partition_max_bytes = partition_max_bytes
        self._max_bytes = max_bytes
        self._committed_only = committed_only

    async def fetch(
        self, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, FetchedRecords | AdminError | ConnectionFault | BrokerNotFound]:
        """Fetch records from the leaders, and look for the new leader of a partition that has moved.

        Errors of a partition: 1 the offset is not in the log; 3 unknown partition; 5 it has no leader. A
        ConnectionFault or BrokerNotFound stands for a leader that did not respond, or was not listed, in time.

        Args:
            offsets: the offset of the first record, by partition.
        """

        async def send(leader: BrokerTarget, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Any]:
            request = self._request(partitions, offsets)
            response = (await self._router.read(request, leader, highest=HIGHEST_VERSION)).response
            return {
                TopicPartition(topic.topic, partition.partition_index): partition
                for topic in response.responses
                for partition in topic.partitions
            }

        return await results_at_leaders(self._router, offsets, send, _fetched)

    async def fetch_from(
        self, broker_id: int, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, FetchedRecords | AdminError]:
        """Fetch records from one replica. Errors: see `fetch`; 6, 9 the broker has no replica of the partition.

        Raises:
            ConnectionFault: the broker did not respond in time.
            BrokerNotFound: the cluster does not list the broker.
        """
        request = self._request(offsets, offsets, DEBUGGING_REPLICA)
        response = (await self._router.read(request, BrokerTarget(broker_id), highest=HIGHEST_VERSION)).response
        fetched: dict[TopicPartition, FetchedRecords | AdminError] = {}
        for topic in response.responses:
            for result in topic.partitions:
                partition = TopicPartition(topic.topic, result.partition_index)
                failed = result.error_code != 0
                fetched[partition] = (
                    AdminError.of_kafka(result.error_code, str(partition)) if failed else _fetched(result)
                )
        return fetched

    def _request(
        self, partitions: Iterable[TopicPartition], offsets: Mapping[TopicPartition, int], replica: int = -1
    ) -> FetchRequest:
        return FetchRequest(
            replica_id=replica,
            max_wait_ms=self._max_wait_ms,
            min_bytes=1,
            max_bytes=self._max_bytes,
            isolation_level=1 if self._committed_only else 0,
            topics=tuple(
                FetchTopic(
                    topic=topic,
                    partitions=tuple(
                        FetchPartition(
                            partition=index,
                            fetch_offset=offsets[TopicPartition(topic, index)],
                            partition_max_bytes=self._partition_max_bytes,
                        )
                        for index in indexes
                    ),
                )
                for topic, indexes in by_topic(partitions).items()
            ),
        )


def _fetched(data: Any) -> FetchedRecords:
    return FetchedRecords(
        data.records or b"", data.high_watermark, data.log_start_offset, data.aborted_transactions or ()
    )
