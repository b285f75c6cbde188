"""RemotePartitionDeleteMetadataRecord: the deletion of a partition from remote storage (KIP-405)."""

from __future__ import annotations

from kwire.declare import Message, int8, int32, int64
from kwire.messages.remote_log_metadata.structures import TopicIdPartitionEntry


class RemotePartitionDeleteMetadataRecord(Message, record_type=2, versions="0", flexible="0+"):
    """The deletion of a partition advances."""

    topic_id_partition: TopicIdPartitionEntry
    """The partition whose records are moved."""
    broker_id: int32
    """The `node.id` that the configuration has."""
    event_timestamp_ms: int64
    """The time of the event in milliseconds since 1970."""
    remote_partition_delete_state: int8
    """0 marked; 1 started; 2 finished."""
