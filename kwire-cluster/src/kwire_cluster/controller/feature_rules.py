"""The rules of feature versioning (KIP-584), as pure functions.

A finalized range is what the whole cluster uses; a supported range is what the code of one broker can do. Finalized
features count only while feature versioning is enabled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.zookeeper.features import FeaturesZnode, FinalizedVersionRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire_cluster.config.value_types import FeatureSupport
    from kwire_cluster.zookeeper.brokers import SupportedVersionRange


class FeatureChange(NamedTuple):
    """A requested change of a feature.

    Attributes:
        name: the feature.
        max_version_level: the new finalized level; below 1 to delete the finalized feature.
        allow_downgrade: true if the level may be lowered and the feature deleted; does not require it.
    """

    name: str
    max_version_level: int
    allow_downgrade: bool


class UpdatePlan(NamedTuple):
    """The result of an update: the znode to write, or the errors by feature, in the order of the request."""

    after: FeaturesZnode
    errors: Mapping[str, CommandError]


def bootstrap(
    current: FeaturesZnode | None, supported: Mapping[str, FeatureSupport], *, enabled: bool
) -> FeaturesZnode:
    """Return the finalized features with which a controller starts; `current` itself if nothing changes.

    A new cluster starts with all features. A cluster that was upgraded starts with none, so that its operator chooses
    when. Source: KIP-584, "Feature ZK node".

    Args:
        current: the features in ZooKeeper, None if there are none.
        supported: the features that the controller supports.
        enabled: true if the protocol version is recent enough for feature versioning.
    """
    if current is None:
        levels = {
            name: FinalizedVersionRange(versions.min_version, versions.max_version)
            for name, versions in supported.items()
        }
        return FeaturesZnode(enabled, levels if enabled else {})
    if current.enabled == enabled:
        return current
    return FeaturesZnode(enabled, {}, current.unknown)


def incompatibilities(
    finalized: FeaturesZnode | None, supported: Mapping[str, FeatureSupport | SupportedVersionRange]
) -> list[str]:
    """Return why a broker with these supported features cannot be part of the cluster; empty if it can.

    A finalized feature is incompatible with a broker that does not know it or does not support its whole range.
    """
    if finalized is None or not finalized.enabled:
        return []
    reasons = []
    for name, levels in sorted(finalized.features.items()):
        supported_range = supported.get(name)
        if supported_range is None:
            reasons.append(f"feature {name} is finalized, and not supported")
        elif (
            not supported_range.min_version
            <= levels.min_version_level
            <= levels.max_version_level
            <= supported_range.max_version
        ):
            reasons.append(
                f"feature {name} is finalized at {levels.min_version_level} to {levels.max_version_level}, and"
                f" supported from {supported_range.min_version} to {supported_range.max_version}"
            )
    return reasons


def plan_update(
    current: FeaturesZnode,
    changes: Sequence[FeatureChange],
    supported: Mapping[str, FeatureSupport],
    brokers: Mapping[int, Mapping[str, SupportedVersionRange]],
) -> UpdatePlan:
    """Validate an update, which is applied as a whole or not at all.

    Args:
        current: the finalized features; versioning is enabled.
        changes: the requested changes.
        supported: the features that the controller supports.
        brokers: the features that each live broker supports.
    """
    features = dict(current.features)
    errors: dict[str, CommandError] = {}
    seen: set[str] = set()
    for change in changes:
        name, level = change.name, change.max_version_level
        repeated = name in seen
        seen.add(name)
        reason = (
            f"feature {name} is named twice"
            if repeated
            else _rejection(
                change, current, supported.get(name), {id: features.get(name) for id, features in brokers.items()}
            )
        )
        if reason is not None:
            errors.setdefault(name, CommandError(ErrorCode.INVALID_REQUEST, reason))
        elif level < 1:
            features.pop(name, None)
        else:
            existing = current.features.get(name)
            features[name] = (
                existing._replace(max_version_level=level)
                if existing is not None
                else FinalizedVersionRange(supported[name].min_version, level)
            )
    invalid = tuple((name, text) for name, text in current.invalid if name not in seen)
    return UpdatePlan(replace(current, features=features, invalid=invalid, warnings=()), errors)


def _rejection(
    change: FeatureChange,
    current: FeaturesZnode,
    supported: FeatureSupport | None,
    brokers: Mapping[int, SupportedVersionRange | None],
) -> str | None:
    """Return why a change is invalid, None if it is valid."""
    name, level, existing = change.name, change.max_version_level, current.features.get(change.name)
    is_known = existing is not None or any(name == invalid for invalid, _ in current.invalid)
    if not name:
        return "a feature has no name"
    if supported is None and not is_known:
        return f"feature {name} is not supported by the controller"
    if existing is not None and level < existing.max_version_level:
        if supported is not None and 0 != supported.lowest_safe > level:
            return f"feature {name} cannot go below level {supported.lowest_safe}, its lowest safe level"
        if not change.allow_downgrade:
            verb = "deleting" if level < 1 else "downgrading"
            return f"{verb} feature {name} from level {existing.max_version_level} requires that downgrades are allowed"
    if level < 1:
        if not is_known:
            return f"feature {name} is not finalized and cannot be deleted"
        return None if change.allow_downgrade else f"deleting feature {name} requires that downgrades are allowed"
    if existing is not None and level == existing.max_version_level:
        return f"feature {name} is at level {level} already"
    if existing is not None and level < existing.min_version_level:
        return f"feature {name} cannot go below its finalized minimum level {existing.min_version_level}"
    if supported is None:
        return f"feature {name} is not supported by the controller"
    return _unsupported(name, level, brokers)


def _unsupported(name: str, level: int, brokers: Mapping[int, SupportedVersionRange | None]) -> str | None:
    """Return which live brokers do not support a level."""
    lacking = sorted(
        id
        for id, supported_range in brokers.items()
        if supported_range is None or not supported_range.min_version <= level <= supported_range.max_version
    )
    if not lacking:
        return None
    return f"level {level} of feature {name} is not supported by {_listed(lacking)}"


def _listed(brokers: Iterable[int]) -> str:
    ids = [str(id) for id in brokers]
    return f"broker {ids[0]}" if len(ids) == 1 else f"brokers {', '.join(ids)}"
