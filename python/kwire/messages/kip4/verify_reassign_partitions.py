"""VerifyReassignPartitions: the progress of a reassignment (KIP-4).

The drafts define this request but not its layout. kwire defines this layout and uses API key 1005.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int8, int16, int32, string
from kwire.messages.kip4.structures import TopicReassignment


class VerifyReassignPartitionsRequest(
    Request["VerifyReassignPartitionsResponse"], api_key=1005, versions="0", dialect="kip4"
):
    """Compares the cluster with the targets of a reassignment."""

    topics: array[TopicReassignment]
    """The targets, as in the request that started the reassignment; empty for every running reassignment."""


class VerifyReassignPartitionsResponse(Message, api_key=1005, versions="0", dialect="kip4"):
    """The progress of each partition."""

    topics: array[TopicStatus]
    """The progress of each reassignment, grouped by topic."""


class TopicStatus(Struct, key="topic"):
    """The progress of a topic."""

    topic: string
    """The name of the topic, from the request or from a running reassignment."""
    error_code: int16
    """An `ErrorCode`; 0 on success."""
    partitions: array[PartitionStatus]
    """The progress of each partition."""


class PartitionStatus(Struct, key="partition_id"):
    """The progress of a partition."""

    partition_id: int32
    """The index of the partition within its topic, starting at 0."""
    status: int8
    """0 in progress, 1 completed, -1 failed: not running and not at its target."""
