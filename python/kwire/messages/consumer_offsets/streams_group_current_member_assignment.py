"""StreamsGroupCurrentMemberAssignment: the current assignment of a member of a streams group (KIP-1071)."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, field, int8, int32, nullable, string


class StreamsGroupCurrentMemberAssignmentKey(Message, record_type=22, versions="0"):
    """The member that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""
    member_id: string
    """The id of the member, from the coordinator or, in newer protocols, from the client."""


class StreamsGroupCurrentMemberAssignmentValue(Message, record_type=22, versions="0", flexible="0+"):
    """The progress of a member towards its target assignment."""

    member_epoch: int32
    """The epoch that the next heartbeat must have."""
    previous_member_epoch: int32
    """The epoch before, which is accepted as well, because the response might have been lost."""
    state: int8
    """The number of the state in the coordinator: 0 stable, 1 unrevoked tasks, 2 unreleased tasks."""
    active_tasks: array[TaskIds]
    """Tasks that process records and own their state."""
    standby_tasks: array[TaskIds]
    """Tasks that only keep a copy of the state."""
    warmup_tasks: array[TaskIds]
    """Tasks that restore state before they move here."""
    active_tasks_pending_revocation: array[TaskIds]
    """Processing tasks that the client must give up first."""
    standby_tasks_pending_revocation: array[TaskIds]
    """Copies of state that the client must give up first."""
    warmup_tasks_pending_revocation: array[TaskIds]
    """Restoring tasks that the client must give up first."""


class TaskIds(Struct):
    """Tasks of a subtopology, one for each partition."""

    subtopology_id: string
    """The name of the part of the topology, usually a number."""
    partitions: array[int32]
    """The partitions of the source topics, which number the tasks."""
    assignment_epochs: nullable[array[int32]] = field(tag=0, default=())
    """The epochs in which the partitions were assigned, in the same order, to fence late commits (KIP-1251); empty if
    unknown."""
