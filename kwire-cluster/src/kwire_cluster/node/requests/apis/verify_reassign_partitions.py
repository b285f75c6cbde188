"""VerifyReassignPartitions, key 1005."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.messages.kip4.verify_reassign_partitions import (
    PartitionStatus,
    TopicStatus,
    VerifyReassignPartitionsRequest,
    VerifyReassignPartitionsResponse,
)
from kwire_cluster.controller.backend import TopicReassignmentStatus
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.node.requests.topic_responses import error_code

if TYPE_CHECKING:
    from kwire_cluster.node.requests.request_context import RequestContext

DESCRIBE = Permission(AclOperation.DESCRIBE, "Cluster")
PERMISSIONS = (DESCRIBE,)


async def handle(request: VerifyReassignPartitionsRequest, context: RequestContext) -> VerifyReassignPartitionsResponse:
    """Report the progress of reassignments.

    If a request for all reassignments fails, the response has one entry without a topic name.
    """
    try:
        context.require(DESCRIBE)
        progress = await context.backend.verify_reassignments(request.topics)
    except CommandError as error:
        names = dict.fromkeys(one.topic for one in request.topics) or [""]
        progress = [TopicReassignmentStatus(name, {}, error) for name in names]
    return VerifyReassignPartitionsResponse(topics=tuple(map(_topic_status, progress)))


def _topic_status(reassignment: TopicReassignmentStatus) -> TopicStatus:
    return TopicStatus(
        topic=reassignment.topic,
        error_code=error_code(reassignment.error),
        partitions=tuple(
            PartitionStatus(partition_id=index, status=status) for index, status in reassignment.statuses.items()
        ),
    )
