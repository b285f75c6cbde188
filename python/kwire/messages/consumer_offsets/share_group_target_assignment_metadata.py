"""ShareGroupTargetAssignmentMetadata: the epoch of the target assignment of a share group (KIP-932)."""

from __future__ import annotations

from kwire.declare import Message, field, int32, int64, string


class ShareGroupTargetAssignmentMetadataKey(Message, record_type=12, versions="0"):
    """The group that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""


class ShareGroupTargetAssignmentMetadataValue(Message, record_type=12, versions="0", flexible="0+"):
    """The epoch that the target assignment was computed for."""

    assignment_epoch: int32
    """The epoch of the group for which assignments were computed."""
    assignment_timestamp: int64 = field(tag=0, default=0, ignorable=True)
    """The time at which the computation ended, in milliseconds since 1970; 0 if unknown."""
