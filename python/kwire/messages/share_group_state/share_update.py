"""ShareUpdate: a change of the state of a partition in a share group since its snapshot (KIP-932)."""

from __future__ import annotations

from kwire.declare import Message, array, field, int32, int64, string, uuid
from kwire.messages.share_group_state.structures import StateBatch


class ShareUpdateKey(Message, record_type=1, versions="0"):
    """The partition that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""
    topic_id: uuid
    """The id of the topic (KIP-516)."""
    partition: int32
    """The index within the topic, from 0."""


class ShareUpdateValue(Message, record_type=1, versions="0", flexible="0+"):
    """The part of the state that changed since the snapshot."""

    snapshot_epoch: int32
    """The number of the snapshot; an update has the number of its snapshot."""
    leader_epoch: int32
    """The epoch of the leader that wrote the state."""
    start_offset: int64
    """The first offset that is not delivered completely; in updates -1 if unchanged."""
    delivery_complete_count: int32 = field(tag=0, default=-1)
    """The records from the start offset on that are acknowledged or archived; -1 if unknown."""
    state_batches: array[StateBatch]
    """The ranges of offsets in delivery, ascending."""
