"""TransactionLog: the state of a transactional id (KIP-98)."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, field, int8, int16, int32, int64, nullable, string


class TransactionLogKey(Message, record_type=0, versions="0"):
    """The transactional id that the value describes."""

    transactional_id: string
    """The id that the producer is configured with (`transactional.id`)."""


class TransactionLogValue(Message, record_type=0, versions="0-1", flexible="1+"):
    """The producer and its transaction. A record without a value deletes the transactional id."""

    producer_id: int64
    """The id that records of the transaction have."""
    previous_producer_id: int64 = field(since=1, tag=0, default=-1)
    """The id of the last completed transaction (KIP-890); -1 if none."""
    next_producer_id: int64 = field(since=1, tag=1, default=-1)
    """The latest id sent to the client, after the epoch was exhausted (KIP-890); -1 if none."""
    producer_epoch: int16
    """The epoch that fences older instances of the producer."""
    next_producer_epoch: int16 = field(since=1, tag=3, default=-1)
    """The epoch that belongs to the next id (KIP-890); -1 if none."""
    transaction_timeout_ms: int32
    """Time in milliseconds after which the coordinator aborts (`transaction.timeout.ms`)."""
    transaction_status: int8
    """0 empty; 1 ongoing; 2 prepare commit; 3 prepare abort; 4 complete commit; 5 complete abort; 6 dead; 7 prepare
    epoch fence."""
    transaction_partitions: nullable[array[PartitionsSchema]]
    """The partitions with records of the transaction, by topic; None if it is empty."""
    transaction_last_update_timestamp_ms: int64
    """The time of the last change in milliseconds since 1970."""
    transaction_start_timestamp_ms: int64
    """The start in milliseconds since 1970; -1 if none was started."""
    client_transaction_version: int16 = field(since=1, tag=2, default=0)
    """The level of `transaction.version` that the client uses (KIP-890)."""


class PartitionsSchema(Struct, key="topic"):
    """Partitions of a topic in the transaction."""

    topic: string
    """The name of the written topic."""
    partition_ids: array[int32]
    """The indexes within the topic, from 0."""
