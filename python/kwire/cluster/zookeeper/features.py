"""Znode of the finalized features (KIP-584).

The path is `/features`, never `/feature`, upon which Kafka brokers act. Version levels start at 1. A minimum level of 0
is read as 1 with a warning, because the example of the KIP has it. A range with a minimum above its maximum is left out
with a warning. The version of the znode is the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire.cluster.zookeeper.json_object import (
    NO_UNKNOWN_KEYS,
    JsonObject,
    UnknownKeys,
    encode_json,
    encode_objects,
    freeze,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.cluster.zookeeper.errors import ZnodeError

__all__ = ["FeaturesZnode", "FinalizedVersionRange"]

_MAX_LEVEL = 0x7FFF


class FinalizedVersionRange(NamedTuple):
    """The finalized version levels of a feature."""

    min_version_level: int
    max_version_level: int
    unknown: UnknownKeys = NO_UNKNOWN_KEYS


@dataclass(frozen=True, slots=True)
class FeaturesZnode:
    """`/features`: the finalized features.

    Attributes:
        enabled: whether feature versioning is enabled; otherwise `features` has no effect.
        features: the finalized features.
        unknown: unknown keys.
        warnings: errors in the data that were corrected or left out. They are not written and not compared.
    """

    enabled: bool
    features: Mapping[str, FinalizedVersionRange] = field(default_factory=dict)
    unknown: UnknownKeys = NO_UNKNOWN_KEYS
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
            if not name or not 1 <= levels.min_version_level <= levels.max_version_level <= _MAX_LEVEL:
                raise ValueError(
                    f"feature {name!r}: invalid levels {levels[:2]}, expected a range from 1 to {_MAX_LEVEL}"
                )
        features = encode_objects(
            {
                name: (
                    {"min_version_level": levels.min_version_level, "max_version_level": levels.max_version_level},
                    levels.unknown,
                )
                for name, levels in self.features.items()
            }
        )
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
        warnings: list[ZnodeError] = []
        if status == 1 or "features" in document:
            values = document.object("features")
            for name in values.keys():  # noqa: SIM118  # reading takes the keys out
                levels = _levels(values, name, warnings)
                if levels is not None:
                    features[name] = levels
        return cls(status == 1, features, document.unknown(), tuple(warnings))


def _levels(features: JsonObject, name: str, warnings: list[ZnodeError]) -> FinalizedVersionRange | None:
    one = features.object(name)
    lowest = one.integer("min_version_level", bits=16)
    highest = one.integer("max_version_level", bits=16)
    if not name:
        warnings.append(features.error(name, "feature without a name ignored"))
        return None
    if lowest == 0:
        warnings.append(one.error("min_version_level", "0 is below the lowest level and is read as 1"))
        lowest = 1
    if not 1 <= lowest <= highest:
        warnings.append(features.error(name, f"invalid range of levels ignored: {lowest} to {highest}"))
        return None
    return FinalizedVersionRange(lowest, highest, one.unknown())
