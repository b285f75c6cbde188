"""ReassignPartitions, key 1004."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.messages.kip4.reassign_partitions import ReassignPartitionsRequest, ReassignPartitionsResponse
from kwire_cluster.node.requests.topic_responses import replication_results, result_of_each

if TYPE_CHECKING:
    from kwire_cluster.controller.backend import Outcome
    from kwire_cluster.node.requests.request_context import RequestContext

ALTER = Permission(AclOperation.ALTER, "Cluster")
PERMISSIONS = (ALTER,)


async def handle(request: ReassignPartitionsRequest, context: RequestContext) -> ReassignPartitionsResponse:
    """Start the reassignment of partitions."""
    names = [one.topic for one in request.topics]
    outcomes = await result_of_each(_reassign(request, context), names)
    return ReassignPartitionsResponse(topics=replication_results(outcomes))


async def _reassign(request: ReassignPartitionsRequest, context: RequestContext) -> list[Outcome]:
    context.require(ALTER)
    return await context.backend.reassign_partitions(request.topics, author=context.author)
