"""ReassignPartitions, key 1004."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.handlers.batch import each_or_all, replication_results
from kwire.messages.kip4.reassign_partitions import ReassignPartitionsRequest, ReassignPartitionsResponse

if TYPE_CHECKING:
    from kwire.cluster.controller.backend import AdminBackend
    from kwire.cluster.controller.handlers import Asked

__all__ = ["handle"]


async def handle(asked: Asked, backend: AdminBackend) -> ReassignPartitionsResponse:
    """Begin to move partitions."""
    message = asked.message
    assert isinstance(message, ReassignPartitionsRequest)
    outcomes = await each_or_all(backend.reassign_partitions(message.topics), [one.topic for one in message.topics])
    return ReassignPartitionsResponse(topics=replication_results(outcomes))
