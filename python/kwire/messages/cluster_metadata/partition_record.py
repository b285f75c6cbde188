"""PartitionRecord: the complete state of a partition."""

from __future__ import annotations

from kwire.declare import Message, array, field, int8, int32, nullable, uuid


class PartitionRecord(Message, record_type=3, versions="0-2", flexible="0+"):
    """A partition is created; snapshots contain its current state."""

    partition_id: int32 = -1
    """The index within the topic, from 0."""
    topic_id: uuid
    """The id of the topic (KIP-516)."""
    replicas: array[int32]
    """The ids of the brokers with a replica, the preferred leader first."""
    isr: array[int32]
    """The ids of the brokers in sync."""
    removing_replicas: array[int32]
    """The replicas that a reassignment removes."""
    adding_replicas: array[int32]
    """The replicas that a reassignment adds."""
    leader: int32 = -1
    """The node id; -1 for no leader."""
    leader_recovery_state: int8 = field(tag=0, default=0)
    """1 while an uncleanly elected leader recovers (KIP-704); 0 otherwise."""
    leader_epoch: int32 = -1
    """The number of elections so far."""
    partition_epoch: int32 = -1
    """The number of changes of the partition."""
    directories: array[uuid] = field(since=1, default=())
    """The id of the log directory of each replica, in the same order (KIP-858)."""
    eligible_leader_replicas: nullable[array[int32]] = field(since=2, tag=1, default=None)
    """The replicas outside of the ISR that have all committed records (KIP-966); None if there are none."""
    last_known_elr: nullable[array[int32]] = field(since=2, tag=2, default=None)
    """The eligible replicas that were lost by an unclean shutdown (KIP-966); None if there are none."""
