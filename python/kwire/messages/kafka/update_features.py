"""UpdateFeatures (key 57): change the finalized feature levels of a cluster (KIP-584, Kafka 2.7).

Versions:
    1  types of downgrades; validate only (KIP-778, Kafka 3.3)
    2  all or nothing, without results for each feature (KIP-1022, Kafka 4.0)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class UpdateFeaturesRequest(Request["UpdateFeaturesResponse"], api_key=57, versions="0-2", flexible="0+"):
    """Changes finalized levels. The controller checks that every broker supports them."""

    timeout_ms: int32 = 60000
    """The time in milliseconds that the controller may take; after error 7 the result is unknown."""
    feature_updates: array[FeatureUpdateKey]
    """The features to change, each at most once. Other features keep their levels."""
    validate_only: bool = field(since=1, default=False)
    """True to validate the request without changing anything (KIP-778)."""


class FeatureUpdateKey(Struct):
    """A feature and its new level."""

    feature: string
    """The feature name, for example `metadata.version`."""
    max_version_level: int16
    """The new finalized level; below 1 to delete the finalized feature."""
    allow_downgrade: bool = field(until=0, default=False)
    """True if the level may be lowered or deleted; otherwise only a higher level is accepted."""
    upgrade_type: int8 = field(since=1, default=1)
    """1 upgrade only; 2 safe downgrade, without loss of metadata; 3 unsafe downgrade, which can lose metadata
    (KIP-778)."""


class UpdateFeaturesResponse(Message, api_key=57, versions="0-2", flexible="0+"):
    """The result of the update."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; for example 41 not the controller or 31 not authorized."""
    error_message: nullable[string]
    """The error message; None on success."""
    results: array[UpdatableFeatureResult] = field(until=1, default=(), ignorable=True)
    """The result for each feature. Removed in version 2, where the first failure cancels the whole update."""


class UpdatableFeatureResult(Struct):
    """The result for one feature."""

    feature: string
    """The feature name, as in the request."""
    error_code: int16
    """0; 95 unsupported by a broker, or a downgrade that is not allowed (42 with ZooKeeper)."""
    error_message: nullable[string]
    """The error message; None on success."""
