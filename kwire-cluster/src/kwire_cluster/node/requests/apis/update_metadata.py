"""UpdateMetadata, key 6: what the controller sends to every node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.messages.kafka.update_metadata import UpdateMetadataResponse
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from kwire.messages.kafka.update_metadata import UpdateMetadataRequest
    from kwire_cluster.node.requests.request_context import RequestContext

CLUSTER_ACTION = Permission(AclOperation.CLUSTER_ACTION, "Cluster")
PERMISSIONS = (CLUSTER_ACTION,)


async def handle(request: UpdateMetadataRequest, context: RequestContext) -> UpdateMetadataResponse:
    """Apply an update from the controller."""
    if not context.allows(CLUSTER_ACTION):
        return UpdateMetadataResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return await context.node.metadata_updates.apply(request)
