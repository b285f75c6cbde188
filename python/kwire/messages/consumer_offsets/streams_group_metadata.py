"""StreamsGroupMetadata: the epoch of a streams group (KIP-1071)."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, field, int32, int64, nullable, string


class StreamsGroupMetadataKey(Message, record_type=17, versions="0"):
    """The group that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""


class StreamsGroupMetadataValue(Message, record_type=17, versions="0", flexible="0+"):
    """The epochs of a group. A record without a value deletes the group."""

    epoch: int32
    """The number of the latest state; increases with each change of members, subscriptions, or topics."""
    metadata_hash: int64
    """A hash of the subscribed topics with their partitions and racks, which finds changes; 0 if unknown."""
    validated_topology_epoch: int32 = field(tag=0, default=-1)
    """The topology whose topics all exist; -1 if none."""
    last_assignment_configs: nullable[array[LastAssignmentConfig]] = field(tag=1, default=())
    """The settings of the last assignment; empty if unknown."""
    stored_description_topology_epoch: int32 = field(tag=2, default=-1)
    """The topology whose description a plug-in has stored; -1 if none, -2 after an interrupted change (KIP-1331)."""
    failed_description_topology_epoch: int32 = field(tag=3, default=-1)
    """The topology whose description the plug-in refused for good; -1 if none (KIP-1331)."""


class LastAssignmentConfig(Struct):
    """A config of the assignor."""

    key: string
    """The name of the setting."""
    value: string
    """The text that the configuration has."""
