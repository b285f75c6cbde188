"""ApiVersions, key 18: every API that has a module in this package, and the features of the node and of the cluster.

Supported features are listed even if feature versioning is disabled; finalized features and their epoch are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip584.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeature,
    SupportedFeature,
)
from kwire_cluster.node.requests.apis import served_requests

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.declare import Message
    from kwire_cluster.node.requests.request_context import RequestContext

PERMISSIONS = ()


def handle(request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    """List the served APIs and the features."""
    del request
    features = context.node.features
    znode, epoch = features.current
    finalized = znode.features if znode is not None and znode.enabled else {}
    return ApiVersionsResponse(
        error_code=ErrorCode.NO_ERROR,
        api_keys=_version_ranges(served_requests()),
        supported_features=tuple(
            SupportedFeature(name=name, min_version=levels.min_version, max_version=levels.max_version)
            for name, levels in sorted(features.supported.items())
        ),
        finalized_features_epoch=epoch if features.is_enabled else -1,
        finalized_features=tuple(
            FinalizedFeature(
                name=name, max_version_level=levels.max_version_level, min_version_level=levels.min_version_level
            )
            for name, levels in sorted(finalized.items())
        ),
    )


def unsupported_version() -> ApiVersionsResponse:
    """Return the response, in version 0, to an ApiVersions request of an unknown version: the known versions."""
    requests = [cls for cls in served_requests() if cls.api_key == ApiVersionsRequest.api_key]
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=_version_ranges(requests))


def _version_ranges(requests: Iterable[type[Message]]) -> tuple[ApiVersion, ...]:
    """Return the versions of each key. The classes of one key declare adjacent ranges."""
    ranges: dict[int, list[int]] = {}
    for cls in requests:
        ranges.setdefault(cls.api_key, []).extend((min(cls.versions), max(cls.versions)))
    return tuple(
        ApiVersion(api_key=key, min_version=min(versions), max_version=max(versions))
        for key, versions in sorted(ranges.items())
    )
