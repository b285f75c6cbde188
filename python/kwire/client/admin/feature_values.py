"""Features of a cluster (KIP-584): levels that brokers support, finalized levels, and updates."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class SupportedFeature(NamedTuple):
    """The levels of a feature that a broker supports."""

    name: str
    min_version: int
    max_version: int


class FinalizedFeature(NamedTuple):
    """The finalized levels of a feature, for the whole cluster."""

    name: str
    min_version_level: int
    max_version_level: int


class FeatureUpdate(NamedTuple):
    """A new level of a feature (KIP-584).

    Attributes:
        name: the feature.
        max_version_level: the new level; below 1 to delete the feature, or on Kafka to disable it.
        allow_downgrade: True if the level may be lowered or deleted. It permits that and does not demand it.
        unsafe: True to lower the level even if metadata is lost (KIP-778). A node makes no difference: it never goes
            below the lowest safe level.
    """

    name: str
    max_version_level: int
    allow_downgrade: bool = False
    unsafe: bool = False


class FeatureMetadata(NamedTuple):
    """Features as one broker reports them.

    Attributes:
        finalized_features: the finalized features by name.
        epoch: their epoch, which increases with every change; -1 if features are disabled or have no epoch.
        supported_features: the features that the broker supports, by name.
        host: the host of the broker.
        port: its port.
        attempts: number of times that an update was sent; 1 if nothing was updated.
    """

    finalized_features: Mapping[str, FinalizedFeature]
    epoch: int
    supported_features: Mapping[str, SupportedFeature]
    host: str
    port: int
    attempts: int = 1

    def level(self, name: str) -> int:
        """Return the finalized level of a feature; 0 without one."""
        finalized = self.finalized_features.get(name)
        return 0 if finalized is None else finalized.max_version_level


class SafeLevel(NamedTuple):
    """The lowest level of a feature to which the cluster goes without a loss of metadata.

    Attributes:
        level: the level; 0 if the feature can be disabled.
        reason: the obstacle to a lower level; None for level 0.
    """

    level: int
    reason: str | None
