"""ApiVersions with feature versions, as in the draft of KIP-584.

Kafka shipped the three tagged fields with tags 0, 1, and 2, and an int64 epoch. A response with API keys of 1000 or
more comes from a server of the kip4 dialect.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, string


class ApiVersionsRequest(Request["ApiVersionsResponse"], api_key=18, versions="0-3", flexible="3+", dialect="kip4"):
    """Requests the supported APIs. A broker that does not support the version responds in version 0."""

    client_software_name: string = field(since=3, default="", ignorable=True)
    """The name of the client software, for metrics of the broker (KIP-511)."""
    client_software_version: string = field(since=3, default="", ignorable=True)
    """The version of the client software (KIP-511)."""


class ApiVersionsResponse(Message, api_key=18, versions="0-3", flexible="3+", dialect="kip4", header_version=0):
    """The supported APIs and features of a broker. Its response header always has version 0."""

    error_code: int16
    """0, or 35 if the broker does not support the requested version and responds in version 0."""
    api_keys: array[ApiVersion]
    """The supported APIs, in no particular order."""
    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """The time in milliseconds that the broker delayed the response because of a quota, or 0."""
    supported_features: array[SupportedFeature] = field(since=3, tag=10000, default=(), ignorable=True)
    """The features that the software of the broker supports, even if feature versioning is disabled."""
    finalized_features_epoch: int32 = field(since=3, tag=10001, default=-1, ignorable=True)
    """The epoch of the finalized features, which increases with every change; -1 if feature versioning is disabled. The
    draft defines no default; 0 is the epoch of a new cluster and must be written, so kwire uses -1."""
    finalized_features: array[FinalizedFeature] = field(since=3, tag=10002, default=(), ignorable=True)
    """The finalized features of the cluster at that epoch. Clients ignore them if they know a later epoch."""


class ApiVersion(Struct, key="api_key"):
    """The supported versions of an API."""

    api_key: int16
    """The number of the API, for example 18 for ApiVersions."""
    min_version: int16
    """The lowest supported version of the API."""
    max_version: int16
    """The highest supported version of the API."""


class SupportedFeature(Struct, key="name"):
    """A feature that the software of the broker supports."""

    name: string
    """The feature name, for example `group_coordinator`."""
    min_version: int16
    """The lowest supported level, at least 1."""
    max_version: int16
    """The highest supported level of the feature."""


class FinalizedFeature(Struct, key="name"):
    """A feature that is finalized for the whole cluster."""

    name: string
    """The feature name, for example `metadata.version`."""
    max_version_level: int16
    """The finalized level. Unlike in `SupportedFeature`, it comes before the minimum."""
    min_version_level: int16
    """The lowest finalized level, at least 1."""
