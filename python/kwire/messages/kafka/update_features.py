"""UpdateFeatures (key 57): raise or lower the feature levels of the whole cluster (KIP-584, Kafka 2.7).

Versions:
    1  kinds of downgrade; can be tried without effect (KIP-778, Kafka 3.3)
    2  all or nothing, without results for single features (KIP-1022, Kafka 4.0)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class UpdateFeaturesRequest(Request["UpdateFeaturesResponse"], api_key=57, versions="0-2", flexible="0+"):
    """Asks the controller to change finalized levels, after checking that every broker can live with them."""

    timeout_ms: int32 = 60000
    """Milliseconds the controller may take; 7 in the answer leaves open whether the change was made."""
    feature_updates: array[FeatureUpdateKey]
    """Each feature at most once; one that is not listed keeps its level."""
    validate_only: bool = field(since=1, default=False)
    """True: check everything, change nothing (KIP-778)."""


class FeatureUpdateKey(Struct):
    """The level that one feature shall have."""

    feature: string
    """The feature's name, such as ``metadata.version``."""
    max_version_level: int16
    """The new level; below 1 the feature is switched off and its finalized level forgotten."""
    allow_downgrade: bool = field(until=0, default=False)
    """True lets the level fall or go; without it only a higher level is accepted."""
    upgrade_type: int8 = field(since=1, default=1)
    """1 upgrade only; 2 downgrade if nothing is lost by it; 3 downgrade even if metadata is lost (KIP-778)."""


class UpdateFeaturesResponse(Message, api_key=57, versions="0-2", flexible="0+"):
    """Whether the levels were changed."""

    throttle_time_ms: int32
    """Milliseconds the client has to wait by itself because of a quota; 0 for none."""
    error_code: int16
    """0, or why the request failed whole, such as 41 (not the controller) or 31 (not allowed)."""
    error_message: nullable[string]
    """The reason for a person to read; None on success."""
    results: array[UpdatableFeatureResult] = field(until=1, default=(), ignorable=True)
    """One entry a feature. Gone in version 2, where the first failure undoes everything and stands at the top."""


class UpdatableFeatureResult(Struct):
    """What became of one feature."""

    feature: string
    """The name from the request."""
    error_code: int16
    """0 changed; 95 a level that some broker lacks, or one that falls without leave (42 with ZooKeeper)."""
    error_message: nullable[string]
    """The reason for a person to read; None on success."""
