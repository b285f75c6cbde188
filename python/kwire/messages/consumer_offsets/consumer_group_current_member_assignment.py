"""ConsumerGroupCurrentMemberAssignment: the current assignment of a member of a consumer group (KIP-848)."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, field, int8, int32, nullable, string, uuid


class ConsumerGroupCurrentMemberAssignmentKey(Message, record_type=8, versions="0"):
    """The member that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""
    member_id: string
    """The id of the member, from the coordinator or, in newer protocols, from the client."""


class ConsumerGroupCurrentMemberAssignmentValue(Message, record_type=8, versions="0", flexible="0+"):
    """The progress of a member towards its target assignment."""

    member_epoch: int32
    """The epoch that the next heartbeat must have."""
    previous_member_epoch: int32
    """The epoch before, which is accepted as well, because the response might have been lost."""
    state: int8
    """The number of the state in the coordinator: 0 stable, 1 unrevoked partitions, 2 unreleased partitions."""
    assigned_partitions: array[TopicPartitions]
    """The partitions to read now, one entry for each topic."""
    partitions_pending_revocation: array[TopicPartitions]
    """The partitions to give up first, one entry for each topic."""


class TopicPartitions(Struct, key="topic_id"):
    """Partitions of a topic."""

    topic_id: uuid
    """The id of the topic (KIP-516)."""
    partitions: array[int32]
    """The indexes within the topic, from 0."""
    assignment_epochs: nullable[array[int32]] = field(tag=0, default=())
    """The epochs in which the partitions were assigned, in the same order, to fence late commits (KIP-1251); empty if
    unknown."""
