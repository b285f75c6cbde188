"""UpdateFeatures as the draft of KIP-584 has it, levels being int16. Its older revision, with int64, is not declared.

Kafka shipped it under key 57, one feature an update and with a throttle time.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, nullable, string


class UpdateFeaturesRequest(Request["UpdateFeaturesResponse"], api_key=48, versions="0", flexible="0+", dialect="kip4"):
    """Asks the controller to finalize version levels: all of them, or none when one is refused."""

    timeout_ms: int32 = 60000
    """Milliseconds that the caller waits. The outcome of a change that took longer is unknown (code 7)."""
    feature_updates: array[FeatureUpdate]
    """The changes. The draft calls this array FeatureUpdate."""


class FeatureUpdate(Struct):
    """Features that change under one permission."""

    allow_downgrade: bool
    """Whether levels may go down and features be deleted; it permits, it does not demand."""
    features: array[Feature]
    """The features to change. The draft calls this array Feature."""


class Feature(Struct):
    """A feature and the level it shall have."""

    name: string
    """Such as ``group_coordinator``; empty, unsupported, or standing twice is error 42."""
    max_version_level: int16
    """The level that shall be in force in the whole cluster; below 1 it means: delete the finalized feature."""


class UpdateFeaturesResponse(Message, api_key=48, versions="0", flexible="0+", dialect="kip4"):
    """Whether the levels are in force. The draft does not show its layout: this one is decision D14."""

    error_code: int16
    """0 when all was changed; else nothing was, and this is the first failure."""
    error_message: nullable[string] = None
    """Why, for a person; None on success."""
    results: array[FeatureResult] = ()
    """Every feature that failed; empty on success and when the request failed as a whole."""


class FeatureResult(Struct):
    """Why one feature could not be changed."""

    feature: string
    """Which feature, by the name that the request gave."""
    error_code: int16
    """What was wrong with the change: ``ErrorCode``, mostly 42."""
    error_message: nullable[string] = None
    """Why, for a person; None when there is nothing to add to the code."""
