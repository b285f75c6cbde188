"""Sending of record batches to the leaders of partitions, for tools: at least once, without a producer id."""

from __future__ import annotations

from operator import attrgetter

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin.errors import AdminError, BrokerNotFound
from kwire.client.admin.group_values import TopicPartition
from kwire.client.admin.leaders import by_topic, results_at_leaders
from kwire.client.admin.tries import FIRST_PAUSE, back_off
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.client.admin import AdminClient
    from kwire.client.admin.targets import BrokerTarget

HIGHEST_VERSION = 12
"""Later versions of Produce need topic ids."""


class RecordSender:
    """Appends record batches.

    Args:
        admin: a client of the cluster.
        acks: the replicas that must have the records: 1 the leader, -1 all in-sync replicas.

    Raises:
        ValueError: `acks` is another number. Without acknowledgment, records could be lost.
    """

    def __init__(self, admin: AdminClient, *, acks: int = -1) -> None:
        if acks not in {1, -1}:
            raise ValueError(f"acks: expected 1 or -1, found {acks}")
        self._router = admin.router
        self._acks = acks

    async def send(self, batches: Mapping[TopicPartition, bytes]) -> dict[TopicPartition, int | AdminError]:
        """Append a batch to each partition, again after a lost response or a passing error, until the timeout.

        Errors of a partition: 3 unknown partition; 10 the batch is too large; 19 not enough replicas are in sync.

        Args:
            batches: an encoded batch by partition.

        Returns:
            The offset of the first record by partition; -1 if the broker does not report it.

        Raises:
            ConnectionFault: the leader of a partition did not respond in time.
            BrokerNotFound: the cluster did not list the leader in time.
        """
        results: dict[TopicPartition, int | AdminError] = {}
        remaining = dict(batches)
        deadline = self._router.metadata.clock() + self._router.timeout
        pause = FIRST_PAUSE
        while True:
            results |= await self._send(remaining)
            remaining = {partition: data for partition, data in remaining.items() if is_passing(results[partition])}
            if not remaining or self._router.metadata.clock() >= deadline:
                return results
            pause = await back_off(pause)

    async def _send(self, batches: Mapping[TopicPartition, bytes]) -> dict[TopicPartition, int | AdminError]:
        async def send(leader: BrokerTarget, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Any]:
            request = self._request(partitions, batches)
            response = (
                await self._router.command(request, leader, repeatable=True, highest=HIGHEST_VERSION, is_recorded=False)
            ).response
            return {
                TopicPartition(topic.name, partition_response.index): partition_response
                for topic in response.responses
                for partition_response in topic.partition_responses
            }

        results: dict[TopicPartition, int | AdminError] = {}
        sent = await results_at_leaders(self._router, batches, send, attrgetter("base_offset"))
        for partition, result in sent.items():
            if isinstance(result, ConnectionFault | BrokerNotFound):
                raise result  # no broker refused the batch: a caller must not take it for that
            results[partition] = result
        return results

    def _request(self, partitions: Sequence[TopicPartition], batches: Mapping[TopicPartition, bytes]) -> ProduceRequest:
        return ProduceRequest(
            acks=self._acks,
            timeout_ms=self._router.timeout_ms,
            topic_data=tuple(
                TopicProduceData(
                    name=topic,
                    partition_data=tuple(
                        PartitionProduceData(index=index, records=batches[TopicPartition(topic, index)])
                        for index in indexes
                    ),
                )
                for topic, indexes in by_topic(partitions).items()
            ),
        )


def is_passing(result: int | AdminError) -> bool:
    """Return whether a result is an error that a retry can cure."""
    if not isinstance(result, AdminError):
        return False
    code = ErrorCode(result.code)
    return code.retriable and code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
