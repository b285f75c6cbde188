"""ListPartitionReassignments (key 46): the ongoing reassignments of partitions (KIP-455, Kafka 2.4)."""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, nullable, string


class ListPartitionReassignmentsRequest(
    Request["ListPartitionReassignmentsResponse"], api_key=46, versions="0", flexible="0+"
):
    """Requests the ongoing reassignments. With ZooKeeper, only the controller accepts it."""

    timeout_ms: int32 = 60000
    """The time in milliseconds that the controller may take to respond."""
    topics: nullable[array[ListPartitionReassignmentsTopics]] = None
    """The partitions to list; None for all reassignments of the cluster."""


class ListPartitionReassignmentsTopics(Struct):
    """The partitions of a topic to list."""

    name: string
    """The name of the topic; an unknown topic is left out of the response."""
    partition_indexes: array[int32]
    """The partition indexes; partitions that are not being reassigned are left out of the response."""


class ListPartitionReassignmentsResponse(Message, api_key=46, versions="0", flexible="0+"):
    """The ongoing reassignments."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; for example 41 not the controller or 31 not authorized."""
    error_message: nullable[string]
    """The error message; None on success."""
    topics: array[OngoingTopicReassignment]
    """The topics with at least one ongoing reassignment."""


class OngoingTopicReassignment(Struct, key="name"):
    """A topic with ongoing reassignments."""

    name: string
    """The name of the topic that the partitions belong to."""
    partitions: array[OngoingPartitionReassignment]
    """The partitions that are being reassigned."""


class OngoingPartitionReassignment(Struct, key="partition_index"):
    """A partition that is being reassigned."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    replicas: array[int32]
    """The broker ids of all current replicas, both those being added and those being removed."""
    adding_replicas: array[int32]
    """The replicas that are being added; the reassignment completes once they are in sync."""
    removing_replicas: array[int32]
    """The replicas that are removed when the reassignment completes."""
