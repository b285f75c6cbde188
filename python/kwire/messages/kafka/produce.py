"""Produce (key 0): append records to partitions.

The leader of each partition appends. With `acks` 0 there is no response. Kafka 4 has removed versions 0 to 2, but still
lists them in ApiVersions because of a defect in librdkafka (KAFKA-18659).

Versions:
     1  throttle time
     2  message format 1 with timestamps (KIP-32, Kafka 0.10)
     3  record batches; transactions (KIP-98, Kafka 0.11)
     4  the client supports error 56: storage error (KIP-112)
     5  log start offset in the response
     6  throttled clients are answered at once and must wait themselves (KIP-219)
     7  zstd compression (KIP-110, Kafka 2.1)
     8  errors of single records (KIP-467, Kafka 2.4)
     9  flexible (KIP-482)
    10  address of a new leader in the response (KIP-951, Kafka 3.7)
    11  the client supports error 120: abort the transaction (KIP-890)
    12  the broker adds the partitions to the transaction itself (KIP-890, Kafka 4.0)
    13  topic ids instead of names (KIP-516, Kafka 4.1)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string, uuid, zero


class ProduceRequest(Request["ProduceResponse"], api_key=0, versions="0-13", flexible="9+"):
    """Appends record batches."""

    transactional_id: nullable[string] = field(since=3, default=None)
    """The transactional id (`transactional.id`); None if the batches do not belong to a transaction."""
    acks: int16
    """The replicas that must have the records before the response: 0 none, and no response; 1 the leader; -1 all
    in-sync replicas. Error 21 for other values."""
    timeout_ms: int32
    """The time in milliseconds that the leader waits for the replicas (`request.timeout.ms`); error 7 afterwards."""
    topic_data: array[TopicProduceData]
    """The records to append, by topic and partition."""

    @property
    def has_response(self) -> bool:
        """False with `acks` 0. If such a request fails, the broker closes the connection."""
        return self.acks != 0


class TopicProduceData(Struct, key=("name", "topic_id")):
    """The records for a topic."""

    name: string = field(until=12, default="", ignorable=True)
    """The name of the topic, up to version 12."""
    topic_id: uuid = field(since=13, default=zero, ignorable=True)
    """The topic id, which prevents writes to a later topic of the same name (KIP-516, Kafka 4.1)."""
    partition_data: array[PartitionProduceData]
    """The records for each partition."""


class PartitionProduceData(Struct):
    """The records for a partition."""

    index: int32
    """The index of the partition within its topic, starting at 0."""
    records: nullable[bytes]
    """A record batch; in versions 0 to 2, a message set. Only its bytes are declared."""


class ProduceResponse(Message, api_key=0, versions="0-13", flexible="9+"):
    """The result for each partition."""

    responses: array[TopicProduceResponse]
    """The results by topic."""
    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 6, the client
    must wait instead of the broker."""
    node_endpoints: array[NodeEndpoint] = field(since=10, tag=0, default=())
    """The addresses of the new leaders of partitions with error 6 (KIP-951, Kafka 3.7)."""


class TopicProduceResponse(Struct, key=("name", "topic_id")):
    """The results for the partitions of a topic."""

    name: string = field(until=12, default="", ignorable=True)
    """The name of the topic, up to version 12."""
    topic_id: uuid = field(since=13, default=zero, ignorable=True)
    """The unique id of the topic, as in the request (KIP-516)."""
    partition_responses: array[PartitionProduceResponse]
    """The result for each partition of the request."""


class PartitionProduceResponse(Struct):
    """The result for one partition."""

    index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 2 corrupt batch; 3 or 100 unknown topic; 6 not the leader; 7 timeout; 10 batch too large; 19 or 20 not enough
    replicas; 29 or 53 not authorized; 45 or 46 wrong sequence; 47 or 90 fenced; 48 invalid state of the transaction; 56
    storage error; 87 invalid records; 120 abort the transaction."""
    base_offset: int64
    """The offset of the first record of the batch; -1 on error."""
    log_append_time_ms: int64 = field(since=2, default=-1, ignorable=True)
    """The timestamp in milliseconds since 1970 that the broker gave to the records
    (`message.timestamp.type=LogAppendTime`); -1 if they keep their own."""
    log_start_offset: int64 = field(since=5, default=-1, ignorable=True)
    """The first offset of the log; -1 if unknown."""
    record_errors: array[BatchIndexAndErrorMessage] = field(since=8, default=(), ignorable=True)
    """The records that caused error 87, by which the whole batch was rejected (KIP-467, Kafka 2.4)."""
    error_message: nullable[string] = field(since=8, default=None, ignorable=True)
    """Common message of the errors of the records; None if there is nothing to add to the error code."""
    current_leader: LeaderIdAndEpoch = field(since=10, tag=0, default=zero)
    """The new leader with error 6; otherwise not sent."""


class BatchIndexAndErrorMessage(Struct):
    """An invalid record."""

    batch_index: int32
    """The position of the record within its batch, starting at 0."""
    batch_index_error_message: nullable[string] = None
    """Reason why the record is invalid; None if there is nothing to add to the error code."""


class LeaderIdAndEpoch(Struct):
    """The leader of a partition."""

    leader_id: int32 = -1
    """The broker id of the leader; -1 if unknown."""
    leader_epoch: int32 = -1
    """The epoch of the leader; -1 if unknown."""


class NodeEndpoint(Struct, key="node_id"):
    """The address of a leader."""

    node_id: int32
    """The broker id, as in `current_leader`."""
    host: string
    """The host name to connect to."""
    port: int32
    """The TCP port to connect to."""
    rack: nullable[string] = None
    """The rack of the broker (`broker.rack`); None if not configured."""
