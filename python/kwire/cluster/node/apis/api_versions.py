"""ApiVersions, key 18: every API that has a module in this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.node.apis import served_requests
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip584.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.cluster.node.request_context import RequestContext
    from kwire.declare import Message


def handle(request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    """List the served APIs."""
    del request, context
    return ApiVersionsResponse(error_code=ErrorCode.NO_ERROR, api_keys=_version_ranges(served_requests()))


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
