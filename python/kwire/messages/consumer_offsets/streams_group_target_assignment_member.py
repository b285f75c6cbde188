"""StreamsGroupTargetAssignmentMember: the target assignment of a member of a streams group (KIP-1071)."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, int32, string


class StreamsGroupTargetAssignmentMemberKey(Message, record_type=21, versions="0"):
    """The member that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""
    member_id: string
    """The id of the member, from the coordinator or, in newer protocols, from the client."""


class StreamsGroupTargetAssignmentMemberValue(Message, record_type=21, versions="0", flexible="0+"):
    """The tasks that the member is to run."""

    active_tasks: array[TaskIds]
    """Tasks that process records and own their state."""
    standby_tasks: array[TaskIds]
    """Tasks that only keep a copy of the state."""
    warmup_tasks: array[TaskIds]
    """Tasks that restore state before they move here."""


class TaskIds(Struct):
    """Tasks of a subtopology, one for each partition."""

    subtopology_id: string
    """The name of the part of the topology, usually a number."""
    partitions: array[int32]
    """The partitions of the source topics, which number the tasks."""
