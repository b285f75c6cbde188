"""ShareGroupMetadata: the epoch of a share group (KIP-932)."""

from __future__ import annotations

from kwire.declare import Message, int32, int64, string


class ShareGroupMetadataKey(Message, record_type=11, versions="0"):
    """The group that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""


class ShareGroupMetadataValue(Message, record_type=11, versions="0", flexible="0+"):
    """The epoch of a group. A record without a value deletes the group."""

    epoch: int32
    """The number of the latest state; increases with each change of members, subscriptions, or topics."""
    metadata_hash: int64
    """A hash of the subscribed topics with their partitions and racks, which finds changes; 0 if unknown."""
