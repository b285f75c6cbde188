"""Admin, key 1006: run a registered tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.authorization.requirement import Requirement
from kwire.messages.kip4.admin import AdminResponse
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.node import controlled_shutdown, dry_run, full_metadata
from kwire_cluster.node.tools import ALTER, DESCRIBE, PlannedRun, ToolPlan

if TYPE_CHECKING:
    from kwire.messages.kip4.admin import AdminRequest
    from kwire_cluster.node.requests.request_context import RequestContext

CLUSTER_ACTION = Permission(AclOperation.CLUSTER_ACTION, "Cluster")
"""For the tools that brokers send, `controlled-shutdown` and `full-metadata`."""
PERMISSIONS = (DESCRIBE, ALTER, CLUSTER_ACTION)
"""The tool decides which of them it requires; it can require another permission as well."""


async def handle(request: AdminRequest, context: RequestContext) -> AdminResponse:
    """Run a tool; `controlled-shutdown` and `full-metadata`, which brokers send, and dry runs go to the backend."""
    if request.tool == dry_run.TOOL:  # the request in it is authorized as it would be by itself
        return await dry_run.answer_without_effect(request.arguments, context)
    tools = context.node.tools
    is_of_brokers = request.tool in {controlled_shutdown.TOOL, full_metadata.TOOL}
    planned = (
        PlannedRun(request.tool, request.arguments, ToolPlan((Requirement(CLUSTER_ACTION),)))
        if is_of_brokers
        else tools.plan(request.tool, request.arguments)
    )
    try:
        for requirement in planned.requirements:
            context.require(*requirement)
    except CommandError as error:
        return AdminResponse(error_code=error.code, error_description=error.reason, exit_status=1, output=b"")
    if request.tool == full_metadata.TOOL:
        return await full_metadata.send_full_metadata(request.arguments, context.backend)
    if request.tool == controlled_shutdown.TOOL:
        return await controlled_shutdown.move_leaders(request.arguments, context.backend)
    return await tools.run(planned, context)
