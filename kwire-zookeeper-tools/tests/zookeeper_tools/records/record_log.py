"""A broker in memory that keeps record batches of partitions, for tests of tools that read and write them."""

from __future__ import annotations

import struct
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from kwire import records
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from kwire.messages.kafka.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kwire.messages.kafka.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kwire.messages.kafka.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire.messages.kafka.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kwire.messages.kafka.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from kwire.messages.kafka.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from kwire.client.admin import TopicPartition
    from kwire.declare import Message

LATEST = -1


class RecordLog:
    """Responds to requests; `respond` is for `scripted_broker`.

    Attributes:
        logs: stored batches by topic and partition.
        leaders: leaders other than the broker itself, by topic and partition.
        lists_dead_broker: true to list broker 2, at an address where nothing listens.
        fetch_errors, produce_errors: error codes by topic and partition.
        max_message_bytes: maximum size of a produced batch.
        committed: offsets committed by groups.
        fetches: number of Fetch requests.
        port: the port of the broker, which a test sets.
    """

    def __init__(self, **partitions: int) -> None:
        self.logs: dict[tuple[str, int], list[bytes]] = {
            (topic, index): [] for topic, count in partitions.items() for index in range(count)
        }
        self.leaders: dict[tuple[str, int], int] = {}
        self.lists_dead_broker = False
        self.fetch_errors: dict[tuple[str, int], int] = {}
        self.produce_errors: dict[tuple[str, int], int] = {}
        self.max_message_bytes = 1_048_588
        self.committed: dict[tuple[str, int], int] = {}
        self.fetches = 0
        self.port = 0

    def append(self, topic: str, index: int, batch: bytes) -> None:
        """Store a batch with the next offset as its base."""
        self.logs[topic, index].append(struct.pack(">q", self.end(topic, index)) + batch[8:])

    def end(self, topic: str, index: int) -> int:
        batches = self.logs[topic, index]
        return _last_offset(batches[-1]) + 1 if batches else 0

    def values(self, topic: str, index: int) -> list[bytes | None]:
        """Return the values of all records of a partition."""
        data = b"".join(self.logs[topic, index])
        return [record.value for batch in records.batches(data, max_ratio=None) for record in batch.records]

    def respond(self, request: Message) -> Message:
        match request:
            case MetadataRequest():
                return self._metadata(request)
            case FetchRequest():
                return self._fetch(request)
            case ProduceRequest():
                return self._produce(request)
            case ListOffsetsRequest():
                return self._list_offsets(request)
            case FindCoordinatorRequest():
                return FindCoordinatorResponse(
                    coordinators=tuple(
                        Coordinator(
                            key=key, node_id=1, host="127.0.0.1", port=self.port, error_code=0, error_message=None
                        )
                        for key in request.coordinator_keys
                    )
                )
            case OffsetFetchRequest():
                groups = tuple(
                    OffsetFetchResponseGroup(group_id=group.group_id, topics=(), error_code=0)
                    for group in request.groups
                )
                return OffsetFetchResponse(groups=groups)
            case OffsetCommitRequest():
                return self._commit(request)
        raise AssertionError(type(request))

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        by_topic: dict[str, list[int]] = defaultdict(list)
        for topic, index in self.logs:
            by_topic[topic].append(index)
        named = by_topic if request.topics is None else [topic.name or "" for topic in request.topics]
        topics = tuple(
            MetadataResponseTopic(
                error_code=0 if name in by_topic else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                name=name,
                partitions=tuple(
                    MetadataResponsePartition(
                        error_code=0,
                        partition_index=index,
                        leader_id=self.leaders.get((name, index), 1),
                        replica_nodes=(1,),
                        isr_nodes=(1,),
                    )
                    for index in by_topic.get(name, ())
                ),
            )
            for name in named
        )
        ports = {1: self.port, 2: 1} if self.lists_dead_broker else {1: self.port}
        brokers = tuple(MetadataResponseBroker(node_id=id, host="127.0.0.1", port=port) for id, port in ports.items())
        return MetadataResponse(brokers=brokers, cluster_id="log", controller_id=1, topics=topics)

    def _fetch(self, request: FetchRequest) -> FetchResponse:
        self.fetches += 1
        return FetchResponse(
            responses=tuple(
                FetchableTopicResponse(
                    topic=topic.topic,
                    partitions=tuple(
                        PartitionData(
                            partition_index=wanted.partition,
                            error_code=self.fetch_errors.get((topic.topic, wanted.partition), 0),
                            high_watermark=self.end(topic.topic, wanted.partition),
                            records=self._from(topic.topic, wanted),
                        )
                        for wanted in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    def _from(self, topic: str, wanted: Any) -> bytes:
        found: list[bytes] = []
        for batch in self.logs[topic, wanted.partition]:
            if _last_offset(batch) >= wanted.fetch_offset:
                if found and sum(map(len, found)) + len(batch) > wanted.partition_max_bytes:
                    break
                found.append(batch)
        return b"".join(found)

    def _produce(self, request: ProduceRequest) -> ProduceResponse:
        return ProduceResponse(
            responses=tuple(
                TopicProduceResponse(
                    name=topic.name,
                    partition_responses=tuple(
                        PartitionProduceResponse(
                            index=data.index,
                            error_code=self._store(topic.name, data.index, bytes(data.records or b"")),
                            base_offset=self.end(topic.name, data.index),
                        )
                        for data in topic.partition_data
                    ),
                )
                for topic in request.topic_data
            )
        )

    def _store(self, topic: str, index: int, batch: bytes) -> int:
        if len(batch) > self.max_message_bytes:
            return ErrorCode.MESSAGE_TOO_LARGE
        code = self.produce_errors.get((topic, index), 0)
        if not code:
            self.append(topic, index, batch)
        return code

    def _list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=tuple(
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=tuple(
                        ListOffsetsPartitionResponse(
                            partition_index=wanted.partition_index,
                            error_code=0,
                            timestamp=-1,
                            offset=self.end(topic.name, wanted.partition_index) if wanted.timestamp == LATEST else 0,
                        )
                        for wanted in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    def _commit(self, request: OffsetCommitRequest) -> OffsetCommitResponse:
        for topic in request.topics:
            for partition in topic.partitions:
                self.committed[topic.name, partition.partition_index] = partition.committed_offset
        return OffsetCommitResponse(
            topics=tuple(
                OffsetCommitResponseTopic(
                    name=topic.name,
                    partitions=tuple(
                        OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=0)
                        for partition in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )


def offset_of(positions: dict[TopicPartition, int], topic: str, index: int) -> int:
    """Return the position of a partition."""
    return next(offset for partition, offset in positions.items() if partition == (topic, index))


def _last_offset(batch: bytes) -> int:
    [header] = records.batch_headers(batch, check_crc=False)
    return header.last_offset
