"""PreferredReplicaLeaderElection, key 1003."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.messages.kip4.preferred_replica_leader_election import (
    PreferredReplicaLeaderElectionRequest,
    PreferredReplicaLeaderElectionResponse,
)
from kwire_cluster.node.requests.topic_responses import replication_results, result_of_each

if TYPE_CHECKING:
    from kwire_cluster.controller.backend import Outcome
    from kwire_cluster.node.requests.request_context import RequestContext

ALTER = Permission(AclOperation.ALTER, "Cluster")
PERMISSIONS = (ALTER,)


async def handle(
    request: PreferredReplicaLeaderElectionRequest, context: RequestContext
) -> PreferredReplicaLeaderElectionResponse:
    """Start an election of preferred leaders.

    If a request for all topics fails, the response has one entry without a topic name.
    """
    names = [one.topic for one in request.topics] or [""]
    outcomes = await result_of_each(_elect(request, context), names)
    return PreferredReplicaLeaderElectionResponse(topics=replication_results(outcomes))


async def _elect(request: PreferredReplicaLeaderElectionRequest, context: RequestContext) -> list[Outcome]:
    context.require(ALTER)
    return await context.backend.elect_preferred_leaders(request.topics, author=context.author)
