"""ConsumerGroupMetadata: the epoch of a consumer group (KIP-848)."""

from __future__ import annotations

from kwire.declare import Message, field, int32, int64, string


class ConsumerGroupMetadataKey(Message, record_type=3, versions="0"):
    """The group that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""


class ConsumerGroupMetadataValue(Message, record_type=3, versions="0", flexible="0+"):
    """The epoch of a group. A record without a value deletes the group."""

    epoch: int32
    """The number of the latest state; increases with each change of members, subscriptions, or topics."""
    metadata_hash: int64 = field(tag=0, default=0)
    """A hash of the subscribed topics with their partitions and racks, which finds changes; 0 if unknown."""
