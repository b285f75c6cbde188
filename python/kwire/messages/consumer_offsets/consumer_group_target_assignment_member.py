"""ConsumerGroupTargetAssignmentMember: the target assignment of a member of a consumer group (KIP-848)."""

from __future__ import annotations

from kwire.declare import Message, array, string
from kwire.messages.consumer_offsets.structures import TopicPartition


class ConsumerGroupTargetAssignmentMemberKey(Message, record_type=7, versions="0"):
    """The member that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""
    member_id: string
    """The id of the member, from the coordinator or, in newer protocols, from the client."""


class ConsumerGroupTargetAssignmentMemberValue(Message, record_type=7, versions="0", flexible="0+"):
    """The partitions that the member is to read."""

    topic_partitions: array[TopicPartition]
    """The target of the member, one entry for each topic."""
