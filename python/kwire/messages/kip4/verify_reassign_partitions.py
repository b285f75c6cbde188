"""VerifyReassignPartitions: how far a reassignment is (KIP-4).

The drafts name this request but show no layout; this one is decision D7. Key 1005 is decision D3.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int8, int16, int32, string
from kwire.messages.kip4.structures import TopicReassignment


class VerifyReassignPartitionsRequest(
    Request["VerifyReassignPartitionsResponse"], api_key=1005, versions="0", dialect="kip4"
):
    """Asks the controller to hold the cluster against a reassignment."""

    topics: array[TopicReassignment]
    """The targets, as in the request that began the move; empty means every reassignment that runs now."""


class VerifyReassignPartitionsResponse(Message, api_key=1005, versions="0", dialect="kip4"):
    """How far each partition is."""

    topics: array[TopicStatus]
    """One entry a topic."""


class TopicStatus(Struct, key="topic"):
    """How far one topic is."""

    topic: string
    """A topic of the request, or of a running reassignment when the request was for all."""
    error_code: int16
    """0, or why nothing can be said about it: ``ErrorCode``."""
    partitions: array[PartitionStatus]
    """The partitions asked about."""


class PartitionStatus(Struct, key="partition_id"):
    """How far one partition is."""

    partition_id: int32
    """Number of the partition within its topic, from 0."""
    status: int8
    """0 still moving, 1 arrived, -1 failed: it does not move and is not at its target."""
