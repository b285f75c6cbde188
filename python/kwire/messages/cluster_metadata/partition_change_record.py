"""PartitionChangeRecord: a change of a partition."""

from __future__ import annotations

from kwire.declare import Message, array, field, int8, int32, nullable, uuid


class PartitionChangeRecord(Message, record_type=5, versions="0-2", flexible="0+"):
    """The state of a partition changes. Fields without a value do not change."""

    partition_id: int32 = -1
    """The index within the topic, from 0."""
    topic_id: uuid
    """The id of the topic (KIP-516)."""
    isr: nullable[array[int32]] = field(tag=0, default=None)
    """The ids of the brokers in sync; None for no change."""
    leader: int32 = field(tag=1, default=-2)
    """The node id; -1 for no leader, -2 for no change."""
    replicas: nullable[array[int32]] = field(tag=2, default=None)
    """The ids of the brokers with a copy; None for no change."""
    removing_replicas: nullable[array[int32]] = field(tag=3, default=None)
    """The replicas that a reassignment removes; None for no change."""
    adding_replicas: nullable[array[int32]] = field(tag=4, default=None)
    """The replicas that a reassignment adds; None for no change."""
    leader_recovery_state: int8 = field(tag=5, default=-1)
    """1 while an uncleanly elected leader recovers (KIP-704); 0 when it has recovered; -1 for no change."""
    directories: nullable[array[uuid]] = field(since=1, tag=8, default=None)
    """The id of the log directory of each replica, in the same order (KIP-858); None for no change."""
    eligible_leader_replicas: nullable[array[int32]] = field(since=2, tag=6, default=None)
    """The replicas outside of the ISR that have all committed records (KIP-966); None for no change."""
    last_known_elr: nullable[array[int32]] = field(since=2, tag=7, default=None)
    """The eligible replicas that were lost by an unclean shutdown (KIP-966); None for no change."""
