"""ClusterMetadata, key 1000: the live brokers and the controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest, ClusterMetadataResponse
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from kwire_cluster.node.requests.request_context import RequestContext

PERMISSIONS = ()


def handle(request: ClusterMetadataRequest, context: RequestContext) -> ClusterMetadataResponse:
    """Describe the cluster from the metadata cache."""
    del request
    brokers = context.metadata.brokers
    return ClusterMetadataResponse(
        error_code=ErrorCode.NO_ERROR,
        brokers=tuple(brokers.values()),
        controller=context.node.controller,
        cluster_id=context.node.cluster_id,
    )
