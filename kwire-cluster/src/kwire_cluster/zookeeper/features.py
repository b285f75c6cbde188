"""Znode of the finalized features (KIP-584).

The path is `/features`, never `/feature`, upon which Kafka brokers act. Version levels start at 1. A minimum level of 0
is read as 1 with a warning, because the example of the KIP has it. A range with a minimum above its maximum has no
effect, but it is kept with a warning, so that it is repaired only on request. The version of the znode is the epoch.

ZooKeeper counts versions from 0 again after the znode was deleted. kwire therefore keeps the last
features and their epoch in a second znode, which Kafka does not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cluster.zookeeper.errors import NoNode
from kwire_cluster.zookeeper.json_object import (
    NO_UNKNOWN_KEYS,
    JsonObject,
    UnknownKeys,
    encode_json,
    encode_object,
    freeze,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cluster.zookeeper.errors import ZnodeError
    from kwire_cluster.zookeeper.store import Store, Watch

MAX_LEVEL = 0x7FFF
LAST_FEATURES = "/config/last_features"
"""The znode with the last finalized features and their epoch."""


class FinalizedVersionRange(NamedTuple):
    """The finalized version levels of a feature."""

    min_version_level: int
    max_version_level: int
    unknown: UnknownKeys = NO_UNKNOWN_KEYS


@dataclass(frozen=True, slots=True)
class FeaturesZnode:
    """`/features`: the finalized features.

    Attributes:
        enabled: true if feature versioning is enabled; otherwise `features` has no effect.
        features: the finalized features.
        unknown: unknown keys.
        invalid: features with invalid ranges, which have no effect and are written back.
        warnings: errors in the data that were corrected or left without effect. They are not written and not compared.
    """

    enabled: bool
    features: Mapping[str, FinalizedVersionRange] = field(default_factory=dict)
    unknown: UnknownKeys = NO_UNKNOWN_KEYS
    invalid: UnknownKeys = NO_UNKNOWN_KEYS
    warnings: tuple[ZnodeError, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", freeze(self.features))

    @staticmethod
    def path() -> str:
        """Return the path."""
        return "/features"

    def encode(self) -> bytes:
        """Encode as version 0, or raise ValueError for invalid levels."""
        for name, levels in self.features.items():
            if not name or not 1 <= levels.min_version_level <= levels.max_version_level <= MAX_LEVEL:
                raise ValueError(
                    f"feature {name!r}: invalid levels {levels[:2]}, expected a range from 1 to {MAX_LEVEL}"
                )
        entries = tuple((name, _encode_levels(levels)) for name, levels in self.features.items())
        features = encode_object({}, (*entries, *self.invalid))
        return encode_json({"version": 0, "status": int(self.enabled)}, (("features", features), *self.unknown))

    @classmethod
    def decode(cls, data: bytes, path: str = "/features") -> FeaturesZnode:
        """Decode the data, or raise ZnodeError. `features` is optional if feature versioning is disabled."""
        document = JsonObject.decode(data, path)
        version = document.integer("version")
        if version != 0:
            raise document.error("version", f"expected 0, found {version}")
        status = document.integer("status")
        if status not in {0, 1}:
            raise document.error("status", f"expected 0 (disabled) or 1 (enabled), found {status}")
        features: dict[str, FinalizedVersionRange] = {}
        invalid: list[tuple[str, str]] = []
        warnings: list[ZnodeError] = []
        if status == 1 or "features" in document:
            values = document.object("features")
            for name in values.names():
                text = values.text(name)
                levels = _decode_levels(values, name, warnings)
                if levels is None:
                    invalid.append((name, text))
                else:
                    features[name] = levels
        return cls(status == 1, features, document.unknown(), tuple(invalid), tuple(warnings))


class VersionedFeatures(NamedTuple):
    """The finalized features, None if `/features` does not exist, and their epoch, then -1."""

    znode: FeaturesZnode | None
    epoch: int

    def encode(self) -> bytes:
        """Encode the data of `LAST_FEATURES`."""
        features = "null" if self.znode is None else self.znode.encode().decode()
        return encode_json({"version": 1, "epoch": self.epoch}, (("features", features),))

    @classmethod
    def decode(cls, data: bytes, path: str = LAST_FEATURES) -> VersionedFeatures:
        """Decode the data of `LAST_FEATURES`, or raise ZnodeError."""
        document = JsonObject.decode(data, path)
        return cls(FeaturesZnode.decode(document.text("features").encode(), path), document.integer("epoch"))


async def read_features(store: Store, watch: Watch) -> VersionedFeatures:
    """Read the finalized features, and watch them, whether they exist or not.

    Raises:
        ZnodeError: the znode is malformed.
        StoreError: it cannot be read.
    """
    path = FeaturesZnode.path()
    while await store.exists(path, watch) is not None:
        try:
            znode = await store.get(path)
        except NoNode:
            continue
        return VersionedFeatures(FeaturesZnode.decode(znode.data, path), znode.stat.version)
    return VersionedFeatures(None, -1)


def _encode_levels(levels: FinalizedVersionRange) -> str:
    values = {"min_version_level": levels.min_version_level, "max_version_level": levels.max_version_level}
    return encode_object(values, levels.unknown)


def _decode_levels(features: JsonObject, name: str, warnings: list[ZnodeError]) -> FinalizedVersionRange | None:
    one = features.object(name)
    lowest = one.integer("min_version_level", bits=16)
    highest = one.integer("max_version_level", bits=16)
    if not name:
        warnings.append(features.error(name, "a feature without a name has no effect"))
        return None
    if lowest == 0:
        warnings.append(one.error("min_version_level", "0 is below the lowest level and is read as 1"))
        lowest = 1
    if not 1 <= lowest <= highest:
        warnings.append(features.error(name, f"the range from {lowest} to {highest} is invalid and has no effect"))
        return None
    return FinalizedVersionRange(lowest, highest, one.unknown())
