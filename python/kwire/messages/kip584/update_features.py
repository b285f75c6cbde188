"""UpdateFeatures as in the draft of KIP-584, with int16 levels. The older revision with int64 levels is not declared.

Kafka shipped it with key 57, one feature in each update, and a throttle time.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, nullable, string


class UpdateFeaturesRequest(Request["UpdateFeaturesResponse"], api_key=48, versions="0", flexible="0+", dialect="kip4"):
    """Finalizes feature levels, either all of them or none."""

    timeout_ms: int32 = 60000
    """The time in milliseconds that the client waits; after error 7 the result is unknown."""
    feature_updates: array[FeatureUpdate]
    """The changes. The draft names this array FeatureUpdate."""


class FeatureUpdate(Struct):
    """Features to change with one permission."""

    allow_downgrade: bool
    """True if levels may be lowered and features deleted; does not require it."""
    features: array[Feature]
    """The features to change. The draft names this array Feature."""


class Feature(Struct):
    """A feature and its new level."""

    name: string
    """The feature name, for example `group_coordinator`; error 42 if empty, unsupported, or listed twice."""
    max_version_level: int16
    """The new finalized level; below 1 to delete the finalized feature."""


class UpdateFeaturesResponse(Message, api_key=48, versions="0", flexible="0+", dialect="kip4"):
    """The result of the update. The draft does not define its layout; kwire does."""

    error_code: int16
    """0 if all features were changed; otherwise the first error, and nothing was changed."""
    error_message: nullable[string] = None
    """The error message; None on success."""
    results: array[FeatureResult] = ()
    """The features that failed; empty on success and if the whole request failed."""


class FeatureResult(Struct):
    """The error of a feature."""

    feature: string
    """The feature name, as in the request."""
    error_code: int16
    """An `ErrorCode`, usually 42."""
    error_message: nullable[string] = None
    """The error message; None if there is nothing to add to the error code."""
