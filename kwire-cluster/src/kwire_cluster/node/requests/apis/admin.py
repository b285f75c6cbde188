"""Admin, key 1006: run a registered tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.authorization.requirement import Requirement
from kwire.messages.kip4.admin import AdminResponse
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.node import controller_tools, dry_run
from kwire_cluster.node.tools import ALTER, DESCRIBE

if TYPE_CHECKING:
    from kwire.messages.kip4.admin import AdminRequest
    from kwire_cluster.node.requests.request_context import RequestContext

CLUSTER_ACTION = Permission(AclOperation.CLUSTER_ACTION, "Cluster")
"""For the tools that brokers send (`controller_tools`)."""
PERMISSIONS = (DESCRIBE, ALTER, CLUSTER_ACTION)
"""The tool decides which of them it requires; it can require another permission as well."""


async def handle(request: AdminRequest, context: RequestContext) -> AdminResponse:
    """Run a tool. The tools of brokers, and dry runs, go to the backend."""
    if request.tool == dry_run.TOOL:  # the request in it is authorized as it would be by itself
        return await dry_run.answer_without_effect(request.arguments, context)
    tools = context.node.tools
    is_of_brokers = request.tool in controller_tools.ARGUMENTS
    plan = None if is_of_brokers else tools.plan(request.tool, request.arguments)
    default = Requirement(CLUSTER_ACTION if is_of_brokers else ALTER)
    try:
        for requirement in (default,) if plan is None else plan.requirements:
            context.require(*requirement)
    except CommandError as error:
        return AdminResponse(error_code=error.code, error_description=error.reason, exit_status=1, output=b"")
    if is_of_brokers:
        return await controller_tools.answer(request.tool, request.arguments, context.backend)
    return await tools.run(request.tool, request.arguments, plan, context)
