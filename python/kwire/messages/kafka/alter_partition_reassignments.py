"""AlterPartitionReassignments (key 45): start or cancel reassignments of partitions (KIP-455, Kafka 2.4).

The response does not wait for the data to move. ListPartitionReassignments lists the ongoing reassignments.

Versions:
    1  can require an unchanged replication factor (KIP-860, Kafka 4.1)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string


class AlterPartitionReassignmentsRequest(
    Request["AlterPartitionReassignmentsResponse"], api_key=45, versions="0-1", flexible="0+"
):
    """Reassigns partitions, each partition on its own."""

    timeout_ms: int32 = 60000
    """The time in milliseconds to wait until the controller has recorded the reassignments, not until the data has
    moved."""
    allow_replication_factor_change: bool = field(since=1, default=True)
    """True if a reassignment may change the number of replicas; if not, it fails with error 38."""
    topics: array[ReassignableTopic]
    """The topics with partitions to reassign."""


class ReassignableTopic(Struct):
    """A topic with partitions to reassign."""

    name: string
    """The name of the topic that the partitions belong to."""
    partitions: array[ReassignablePartition]
    """The partitions to reassign, or to cancel the reassignment of."""


class ReassignablePartition(Struct):
    """A partition and its new replicas."""

    partition_index: int32
    """The index of the partition within its topic."""
    replicas: nullable[array[int32]] = None
    """The brokers to place the replicas on, the preferred leader first; None to cancel the ongoing reassignment."""


class AlterPartitionReassignmentsResponse(Message, api_key=45, versions="0-1", flexible="0+"):
    """The result for each partition."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    allow_replication_factor_change: bool = field(since=1, default=True, ignorable=True)
    """The value from the request; false from brokers that ignore it."""
    error_code: int16
    """The error of the whole request: 7 timed out, 31 not authorized, 41 not the controller; 0 otherwise."""
    error_message: nullable[string]
    """The message of that error; None or empty if there is nothing to add to the error code."""
    responses: array[ReassignableTopicResponse]
    """The result for each topic; empty if the whole request failed."""


class ReassignableTopicResponse(Struct):
    """The results for the partitions of a topic."""

    name: string
    """The name of the topic that the partitions belong to."""
    partitions: array[ReassignablePartitionResponse]
    """The result for each partition of the request."""


class ReassignablePartitionResponse(Struct):
    """The result for one partition."""

    partition_index: int32
    """The index of the partition within its topic."""
    error_code: int16
    """0; 3 unknown partition; 38 the replication factor would change; 39 invalid brokers; 85 no reassignment to
    cancel."""
    error_message: nullable[string]
    """The error message; None if there is nothing to add to the error code."""
