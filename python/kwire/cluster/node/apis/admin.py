"""Admin, key 1006: run a registered tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.node import controlled_shutdown, full_metadata

if TYPE_CHECKING:
    from kwire.cluster.node.request_context import RequestContext
    from kwire.messages.kip4.admin import AdminRequest, AdminResponse


async def handle(request: AdminRequest, context: RequestContext) -> AdminResponse:
    """Run a tool; `controlled-shutdown` and `full-metadata`, which brokers send, go to the backend."""
    if request.tool == full_metadata.TOOL:
        return await full_metadata.send_full_metadata(request.arguments, context.backend)
    if request.tool == controlled_shutdown.TOOL:
        return await controlled_shutdown.move_leaders(request.arguments, context.backend)
    return await context.node.tools.run(request.tool, request.arguments)
