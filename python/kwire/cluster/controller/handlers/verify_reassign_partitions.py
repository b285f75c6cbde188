"""VerifyReassignPartitions, key 1005: when a request about all moves fails, one entry without a name says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.backend import TopicReassignmentStatus
from kwire.cluster.controller.errors import AdminError
from kwire.cluster.controller.handlers.batch import code
from kwire.messages.kip4.verify_reassign_partitions import (
    PartitionStatus,
    TopicStatus,
    VerifyReassignPartitionsRequest,
    VerifyReassignPartitionsResponse,
)

if TYPE_CHECKING:
    from kwire.cluster.controller.backend import AdminBackend
    from kwire.cluster.controller.handlers import Asked

__all__ = ["handle"]


async def handle(asked: Asked, backend: AdminBackend) -> VerifyReassignPartitionsResponse:
    """Tell how far moves are."""
    message = asked.message
    assert isinstance(message, VerifyReassignPartitionsRequest)
    try:
        told = await backend.verify_reassignments(message.topics)
    except AdminError as error:
        told = [
            TopicReassignmentStatus(name, {}, error)
            for name in dict.fromkeys(one.topic for one in message.topics) or [""]
        ]
    return VerifyReassignPartitionsResponse(
        topics=tuple(
            TopicStatus(
                topic=one.topic,
                error_code=code(one.error),
                partitions=tuple(
                    PartitionStatus(partition_id=index, status=status) for index, status in one.statuses.items()
                ),
            )
            for one in told
        )
    )
