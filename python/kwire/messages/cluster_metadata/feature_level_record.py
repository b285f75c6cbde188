"""FeatureLevelRecord: a finalized feature level (KIP-778)."""

from __future__ import annotations

from kwire.declare import Message, int16, string


class FeatureLevelRecord(Message, record_type=12, versions="0", flexible="0+"):
    """The level of a feature, such as `metadata.version`, is set."""

    name: string
    """The feature, for example `metadata.version`."""
    feature_level: int16
    """The finalized level; 0 disables the feature."""
