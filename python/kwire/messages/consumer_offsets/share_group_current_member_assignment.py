"""ShareGroupCurrentMemberAssignment: the current assignment of a member of a share group (KIP-932)."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, int8, int32, string, uuid


class ShareGroupCurrentMemberAssignmentKey(Message, record_type=14, versions="0"):
    """The member that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""
    member_id: string
    """The id of the member, from the coordinator or, in newer protocols, from the client."""


class ShareGroupCurrentMemberAssignmentValue(Message, record_type=14, versions="0", flexible="0+"):
    """The progress of a member towards its target assignment."""

    member_epoch: int32
    """The epoch that the next heartbeat must have."""
    previous_member_epoch: int32
    """The epoch before, which is accepted as well, because the response might have been lost."""
    state: int8
    """The number of the state in the coordinator; 0 is stable."""
    assigned_partitions: array[TopicPartitions]
    """The partitions to read now, one entry for each topic."""


class TopicPartitions(Struct, key="topic_id"):
    """Partitions of a topic."""

    topic_id: uuid
    """The id of the topic (KIP-516)."""
    partitions: array[int32]
    """The indexes within the topic, from 0."""
