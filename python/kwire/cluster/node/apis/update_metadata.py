"""UpdateMetadata, key 6: what the controller sends to every node."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire.cluster.node.request_context import RequestContext
    from kwire.messages.kafka.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse


async def handle(request: UpdateMetadataRequest, context: RequestContext) -> UpdateMetadataResponse:
    """Apply an update from the controller."""
    return await context.node.metadata_updates.apply(request)
