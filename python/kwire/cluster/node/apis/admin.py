"""Admin, key 1006: run a registered tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.errors import AdminError
from kwire.cluster.node import controlled_shutdown
from kwire.cluster.node.tools import ALTER, DESCRIBE, Requirement
from kwire.cluster.security.acl_authorizer import AclOperation, Permission
from kwire.messages.kip4.admin import AdminResponse

if TYPE_CHECKING:
    from kwire.cluster.node.request_context import RequestContext
    from kwire.messages.kip4.admin import AdminRequest

CLUSTER_ACTION = Permission(AclOperation.CLUSTER_ACTION, "Cluster")
"""For the tool `controlled-shutdown`."""
PERMISSIONS = (DESCRIBE, ALTER, CLUSTER_ACTION)
"""Which of them is required depends on the tool; a tool may require another one."""


async def handle(request: AdminRequest, context: RequestContext) -> AdminResponse:
    """Run a tool; `controlled-shutdown`, which brokers send to the controller, goes to the backend."""
    is_shutdown = request.tool == controlled_shutdown.TOOL
    tools = context.node.tools
    needed = Requirement(CLUSTER_ACTION) if is_shutdown else tools.requirement(request.tool, request.arguments)
    try:
        context.require(*needed)
    except AdminError as error:
        return AdminResponse(error_code=error.code, error_description=error.reason, exit_status=1, output=b"")
    if is_shutdown:
        return await controlled_shutdown.move_leaders(request.arguments, context.backend)
    return await tools.run(request.tool, request.arguments)
