"""``/features``: what the whole cluster has agreed to do (KIP-584).

Rules of this file: the path is ``/features``; ``/feature``, upon which real Kafka acts, is nowhere built. Levels are at
least 1. A lowest level of 0 that stands in a node is read as 1 and told, because the KIP's own example has one; a range
whose lowest is above its highest is told and left out. The node's version is the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire.cluster.zookeeper.json_object import (
    NO_UNKNOWN_KEYS,
    JsonObject,
    UnknownKeys,
    dump,
    json_of_objects,
    read_only,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.cluster.zookeeper.errors import ZnodeError

__all__ = ["FeaturesZnode", "FinalizedVersionRange"]

_MAX_LEVEL = 0x7FFF


class FinalizedVersionRange(NamedTuple):
    """The levels of a feature that are finalized."""

    min_version_level: int
    max_version_level: int
    unknown: UnknownKeys = NO_UNKNOWN_KEYS


@dataclass(frozen=True, slots=True)
class FeaturesZnode:
    """The node's content. ``enabled`` False: feature versioning is switched off, and ``features`` counts for nothing.

    ``warnings``: what was found wrong in a node and mended or left out; it is not written. Two nodes that differ in
    it only are equal.
    """

    enabled: bool
    features: Mapping[str, FinalizedVersionRange] = field(default_factory=dict)
    unknown: UnknownKeys = NO_UNKNOWN_KEYS
    warnings: tuple[ZnodeError, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", read_only(self.features))

    @staticmethod
    def path() -> str:
        """Where it is."""
        return "/features"

    def encode(self) -> bytes:
        """Version 0. ValueError for levels that no node may have."""
        for name, levels in self.features.items():
            if not name or not 1 <= levels.min_version_level <= levels.max_version_level <= _MAX_LEVEL:
                raise ValueError(f"feature {name!r}: {levels[:2]} is no range of levels from 1 to {_MAX_LEVEL}")
        features = json_of_objects(
            {
                name: (
                    {"min_version_level": levels.min_version_level, "max_version_level": levels.max_version_level},
                    levels.unknown,
                )
                for name, levels in self.features.items()
            }
        )
        return dump({"version": 0, "status": int(self.enabled)}, (("features", features), *self.unknown))

    @classmethod
    def decode(cls, data: bytes, path: str = "/features") -> FeaturesZnode:
        """Errors: ZnodeError. Version and status are demanded; a disabled node may do without ``features``."""
        node = JsonObject.parse(data, path)
        version = node.integer("version")
        if version != 0:
            raise node.fault("version", f"{version}: expected 0")
        status = node.integer("status")
        if status not in {0, 1}:
            raise node.fault("status", f"{status}: expected 0 (disabled) or 1 (enabled)")
        features: dict[str, FinalizedVersionRange] = {}
        warnings: list[ZnodeError] = []
        if status == 1 or "features" in node:
            told = node.object("features")
            for name in told.keys():  # noqa: SIM118 - reading takes the keys out
                levels = _levels(told, name, warnings)
                if levels is not None:
                    features[name] = levels
        return cls(status == 1, features, node.unknown(), tuple(warnings))


def _levels(told: JsonObject, name: str, warnings: list[ZnodeError]) -> FinalizedVersionRange | None:
    one = told.object(name)
    lowest = one.integer("min_version_level", bits=16)
    highest = one.integer("max_version_level", bits=16)
    if not name:
        warnings.append(told.fault(name, "a feature must have a name: left out"))
        return None
    if lowest == 0:
        warnings.append(one.fault("min_version_level", "0 is below the least level: read as 1"))
        lowest = 1
    if not 1 <= lowest <= highest:
        warnings.append(told.fault(name, f"{lowest} to {highest} is no range of levels: left out"))
        return None
    return FinalizedVersionRange(lowest, highest, one.unknown())
