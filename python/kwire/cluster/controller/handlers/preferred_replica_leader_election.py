"""PreferredReplicaLeaderElection, key 1003: for a request about all topics that fails, one entry without a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.handlers.batch import each_or_all, replication_results
from kwire.messages.kip4.preferred_replica_leader_election import (
    PreferredReplicaLeaderElectionRequest,
    PreferredReplicaLeaderElectionResponse,
)

if TYPE_CHECKING:
    from kwire.cluster.controller.backend import AdminBackend
    from kwire.cluster.controller.handlers import Asked

__all__ = ["handle"]


async def handle(asked: Asked, backend: AdminBackend) -> PreferredReplicaLeaderElectionResponse:
    """Begin an election of preferred leaders."""
    message = asked.message
    assert isinstance(message, PreferredReplicaLeaderElectionRequest)
    names = [one.topic for one in message.topics] or [""]
    outcomes = await each_or_all(backend.elect_preferred_leaders(message.topics), names)
    return PreferredReplicaLeaderElectionResponse(topics=replication_results(outcomes))
