"""AlterPartitionReassignments (key 45): moves partitions to other brokers, or calls a move off (KIP-455, Kafka 2.4).

Only starts the moves: ListPartitionReassignments tells which are still under way.

Versions:
    1  can insist that the number of replicas stays (KIP-860, Kafka 4.1)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string


class AlterPartitionReassignmentsRequest(
    Request["AlterPartitionReassignmentsResponse"], api_key=45, versions="0-1", flexible="0+"
):
    """Moves some partitions, each for itself."""

    timeout_ms: int32 = 60000
    """Milliseconds to wait until the controller has recorded the moves; says nothing about how long they take."""
    allow_replication_factor_change: bool = field(since=1, default=True)
    """Whether a partition may end up with more or fewer copies than it has; if not, that is error 38."""
    topics: array[ReassignableTopic]
    """What to move, grouped by topic."""


class ReassignableTopic(Struct):
    """The moves within one topic."""

    name: string
    """The topic to which the partitions belong."""
    partitions: array[ReassignablePartition]
    """The partitions to move, or whose move to call off."""


class ReassignablePartition(Struct):
    """One partition and where it shall live."""

    partition_index: int32
    """The number of the partition within its topic."""
    replicas: nullable[array[int32]] = None
    """The brokers to hold it from now on, the first as preferred leader; None calls the running move off."""


class AlterPartitionReassignmentsResponse(Message, api_key=45, versions="0-1", flexible="0+"):
    """Which moves were started or called off."""

    throttle_time_ms: int32
    """Milliseconds the client has to hold back because of a quota, 0 for none."""
    allow_replication_factor_change: bool = field(since=1, default=True, ignorable=True)
    """Repeats what the request allowed, so that a client sees that the broker minded it."""
    error_code: int16
    """Why the whole request failed: 7 timed out, 31 not permitted, 41 not the controller; 0 when partitions decide."""
    error_message: nullable[string]
    """That reason in words; None, from older brokers empty, when there is nothing to add."""
    responses: array[ReassignableTopicResponse]
    """One entry a topic of the request; empty when the request failed as a whole."""


class ReassignableTopicResponse(Struct):
    """What became of the moves within one topic."""

    name: string
    """The topic to which the partitions belong."""
    partitions: array[ReassignablePartitionResponse]
    """One entry a partition of the request."""


class ReassignablePartitionResponse(Struct):
    """Whether the move of one partition was started or called off."""

    partition_index: int32
    """The number of the partition within its topic."""
    error_code: int16
    """0, 3 no such partition, 38 would change the number of copies, 39 bad brokers, 85 no move to call off."""
    error_message: nullable[string]
    """What exactly was wrong, in words; None when there is nothing to add to the code."""
