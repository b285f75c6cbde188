"""ShareSnapshot: the complete state of a partition in a share group (KIP-932)."""

from __future__ import annotations

from kwire.declare import Message, array, field, int32, int64, string, uuid
from kwire.messages.share_group_state.structures import StateBatch


class ShareSnapshotKey(Message, record_type=0, versions="0"):
    """The partition that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""
    topic_id: uuid
    """The id of the topic (KIP-516)."""
    partition: int32
    """The index within the topic, from 0."""


class ShareSnapshotValue(Message, record_type=0, versions="0", flexible="0+"):
    """The state of the partition, which replaces all earlier records of it."""

    snapshot_epoch: int32
    """The number of the snapshot; an update has the number of its snapshot."""
    state_epoch: int32
    """The epoch of the group when it initialized the partition."""
    leader_epoch: int32
    """The epoch of the leader that wrote the state."""
    start_offset: int64
    """The first offset that is not delivered completely; in updates -1 if unchanged."""
    delivery_complete_count: int32 = field(tag=0, default=-1)
    """The records from the start offset on that are acknowledged or archived; -1 if unknown."""
    create_timestamp: int64
    """The time of the first state in milliseconds since 1970."""
    write_timestamp: int64
    """The time of the record in milliseconds since 1970."""
    state_batches: array[StateBatch]
    """The ranges of offsets in delivery, ascending."""
