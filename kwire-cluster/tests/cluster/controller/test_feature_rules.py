"""The rules of feature versioning. KIP-584 is quoted where it gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from kwire_cluster.config.value_types import FeatureSupport
from kwire_cluster.controller.feature_rules import (
    FeatureChange,
    bootstrap,
    incompatibilities,
    plan_update,
)
from kwire_cluster.zookeeper import FeaturesZnode, FinalizedVersionRange, SupportedVersionRange
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

SUPPORTED = {"group_coordinator": FeatureSupport(1, 3), "transaction_coordinator": FeatureSupport(1, 4, 2)}
BROKERS = {
    1: {"group_coordinator": SupportedVersionRange(1, 3), "transaction_coordinator": SupportedVersionRange(1, 4)},
    2: {"group_coordinator": SupportedVersionRange(1, 2), "transaction_coordinator": SupportedVersionRange(1, 4)},
}


def finalized(**levels: tuple[int, int]) -> FeaturesZnode:
    return FeaturesZnode(True, {name: FinalizedVersionRange(*bounds) for name, bounds in levels.items()})


class TestBootstrap:
    """The content of `/features` before and after the start of a controller."""

    def test_new_cluster_starts_with_all_features(self) -> None:
        """KIP-584: 'the controller will create a /features ZK node (with enabled status) containing the entire list of
        supported features as its finalized features'.
        """
        znode = bootstrap(None, SUPPORTED, enabled=True)
        assert znode == finalized(group_coordinator=(1, 3), transaction_coordinator=(1, 4))

    def test_enabling_finalizes_nothing(self) -> None:
        """KIP-584: 'it won't upgrade all features immediately. Instead it will just switch the /features ZK node status
        to enabled status'.
        """
        assert bootstrap(FeaturesZnode(False), SUPPORTED, enabled=True) == finalized()

    def test_enabled_features_stay(self) -> None:
        current = finalized(group_coordinator=(1, 2))
        assert bootstrap(current, SUPPORTED, enabled=True) is current

    def test_older_protocol_creates_them_disabled(self) -> None:
        """KIP-584: 'it will react by creating a /features ZK node with disabled status and empty features'."""
        assert bootstrap(None, SUPPORTED, enabled=False) == FeaturesZnode(False)

    def test_older_protocol_disables_and_clears_them(self) -> None:
        """KIP-584: 'it will switch the /features ZK node status to disabled with empty features'."""
        assert bootstrap(finalized(group_coordinator=(1, 2)), SUPPORTED, enabled=False) == FeaturesZnode(False)

    def test_disabled_features_stay(self) -> None:
        current = FeaturesZnode(False, {"left": FinalizedVersionRange(1, 1)})
        assert bootstrap(current, SUPPORTED, enabled=False) is current


class TestCompatibility:
    @for_rows("levels", [(1, 3), (1, 1), (2, 3), (3, 3)])
    def test_range_within_the_supported_one_is_compatible(self, levels: tuple[int, int]) -> None:
        assert incompatibilities(finalized(group_coordinator=levels), SUPPORTED) == []

    def test_more_supported_features_are_compatible(self) -> None:
        assert incompatibilities(finalized(), SUPPORTED) == []
        assert incompatibilities(None, SUPPORTED) == []

    def test_range_outside_is_incompatible(self) -> None:
        [reason] = incompatibilities(finalized(group_coordinator=(1, 4)), SUPPORTED)
        assert reason == "feature group_coordinator is finalized at 1 to 4, and supported from 1 to 3"

    def test_minimum_below_the_supported_one_is_incompatible(self) -> None:
        assert incompatibilities(finalized(f=(1, 3)), {"f": FeatureSupport(2, 3)})

    def test_unknown_feature_is_incompatible(self) -> None:
        [reason] = incompatibilities(finalized(other=(1, 1)), SUPPORTED)
        assert reason == "feature other is finalized, and not supported"

    def test_disabled_features_do_not_count(self) -> None:
        assert incompatibilities(FeaturesZnode(False, {"other": FinalizedVersionRange(1, 9)}), SUPPORTED) == []


CURRENT = finalized(group_coordinator=(1, 1), transaction_coordinator=(2, 3))


@for_rows(
    ("change", "level"),
    [
        (FeatureChange("group_coordinator", 2, False), 2),
        (FeatureChange("group_coordinator", 2, True), 2),  # the flag permits a downgrade, and demands none
        (FeatureChange("transaction_coordinator", 2, True), 2),
        (FeatureChange("transaction_coordinator", 4, False), 4),
    ],
)
def test_level_can_change_within_what_all_brokers_support(change: FeatureChange, level: int) -> None:
    """KIP-584: 'When >= 1, it's the new value to-be-updated for the finalized feature', and with the flag it 'is
    allowed to be downgraded/deleted'.
    """
    plan = plan_update(CURRENT, [change], SUPPORTED, BROKERS)
    before = CURRENT.features[change.name]
    assert not plan.errors
    assert plan.after.features == {**CURRENT.features, change.name: before._replace(max_version_level=level)}


def test_new_feature_starts_at_the_minimum_that_the_controller_supports() -> None:
    plan = plan_update(finalized(), [FeatureChange("group_coordinator", 2, False)], SUPPORTED, BROKERS)
    assert plan.after == finalized(group_coordinator=(1, 2))


@for_rows("level", [0, -1, -32768])
def test_level_below_1_deletes_the_feature(level: int) -> None:
    """KIP-584: 'A value < 1, is special, and can be used to request the deletion of the feature.'."""
    plan = plan_update(CURRENT, [FeatureChange("group_coordinator", level, True)], SUPPORTED, BROKERS)
    assert not plan.errors
    assert "group_coordinator" not in plan.after.features


@for_rows(
    ("change", "reason"),
    [
        (FeatureChange("", 1, False), "a feature has no name"),
        (FeatureChange("other", 1, False), "feature other is not supported by the controller"),
        (FeatureChange("other", 0, True), "feature other is not supported by the controller"),
        (FeatureChange("group_coordinator", 1, False), "feature group_coordinator is at level 1 already"),
        (
            FeatureChange("group_coordinator", 3, False),
            "level 3 of feature group_coordinator is not supported by broker 2",
        ),
        (
            FeatureChange("group_coordinator", 4, False),
            "level 4 of feature group_coordinator is not supported by brokers 1, 2",
        ),
        (
            FeatureChange("group_coordinator", 0, False),
            "deleting feature group_coordinator from level 1 requires that downgrades are allowed",
        ),
        (
            FeatureChange("transaction_coordinator", 2, False),
            "downgrading feature transaction_coordinator from level 3 requires that downgrades are allowed",
        ),
        (
            FeatureChange("transaction_coordinator", 1, True),
            "feature transaction_coordinator cannot go below level 2, its lowest safe level",
        ),
        (
            FeatureChange("transaction_coordinator", 0, True),
            "feature transaction_coordinator cannot go below level 2, its lowest safe level",
        ),
    ],
)
def test_invalid_changes_are_rejected(change: FeatureChange, reason: str) -> None:
    plan = plan_update(CURRENT, [change], SUPPORTED, BROKERS)
    assert {name: (error.code, error.reason) for name, error in plan.errors.items()} == {change.name: (42, reason)}


def test_level_below_the_finalized_minimum_is_rejected() -> None:
    """The minimum cannot be changed by an update."""
    plan = plan_update(
        finalized(group_coordinator=(2, 3)), [FeatureChange("group_coordinator", 1, True)], SUPPORTED, BROKERS
    )
    assert plan.errors["group_coordinator"].reason == (
        "feature group_coordinator cannot go below its finalized minimum level 2"
    )


def test_broker_that_lacks_a_feature_is_incompatible_with_each_level() -> None:
    plan = plan_update(finalized(), [FeatureChange("group_coordinator", 1, False)], SUPPORTED, {**BROKERS, 3: {}})
    assert plan.errors["group_coordinator"].reason == (
        "level 1 of feature group_coordinator is not supported by broker 3"
    )


def test_feature_that_is_not_finalized_cannot_be_deleted() -> None:
    plan = plan_update(finalized(), [FeatureChange("group_coordinator", 0, True)], SUPPORTED, BROKERS)
    assert plan.errors["group_coordinator"].reason == (
        "feature group_coordinator is not finalized and cannot be deleted"
    )


def test_feature_named_twice_is_rejected() -> None:
    changes = [FeatureChange("group_coordinator", 2, False), FeatureChange("group_coordinator", 2, True)]
    plan = plan_update(CURRENT, changes, SUPPORTED, BROKERS)
    assert plan.errors["group_coordinator"].reason == "feature group_coordinator is named twice"


def test_all_failing_features_are_named() -> None:
    changes = [
        FeatureChange("other", 1, False),
        FeatureChange("transaction_coordinator", 4, False),
        FeatureChange("group_coordinator", 3, False),
    ]
    assert list(plan_update(CURRENT, changes, SUPPORTED, BROKERS).errors) == ["other", "group_coordinator"]


def test_finalized_feature_without_support_can_be_deleted() -> None:
    plan = plan_update(finalized(left=(1, 1)), [FeatureChange("left", 0, True)], SUPPORTED, BROKERS)
    assert plan.after == finalized()


@for_rows(
    ("change", "features"),
    [
        (FeatureChange("group_coordinator", 0, True), {}),
        (FeatureChange("group_coordinator", 2, False), {"group_coordinator": FinalizedVersionRange(1, 2)}),
    ],
)
def test_invalid_range_is_repaired_by_an_update_of_the_feature(
    change: FeatureChange, features: Mapping[str, FinalizedVersionRange]
) -> None:
    broken = '{"min_version_level":3,"max_version_level":2}'
    current = FeaturesZnode(True, {}, invalid=(("group_coordinator", broken), ("kept", broken)))
    plan = plan_update(current, [change], SUPPORTED, BROKERS)
    assert not plan.errors
    assert plan.after.features == features
    assert plan.after.invalid == (("kept", broken),)


names = st.sampled_from(["a", "b", "c"])
ranges = st.tuples(st.integers(1, 4), st.integers(1, 4)).map(lambda ends: (min(ends), max(ends)))
supported_by_brokers = st.dictionaries(
    st.integers(1, 3),
    st.dictionaries(names, ranges.map(lambda bounds: SupportedVersionRange(*bounds))),
    min_size=1,
)


@given(
    supported_by_brokers,
    st.dictionaries(names, ranges.map(lambda bounds: FinalizedVersionRange(*bounds))),
    st.lists(st.builds(FeatureChange, names, st.integers(-1, 5), st.booleans()), min_size=1),
)
def test_accepted_update_is_compatible_with_each_broker_and_changes_only_what_it_names(
    brokers: dict[int, dict[str, SupportedVersionRange]],
    levels: dict[str, FinalizedVersionRange],
    changes: list[FeatureChange],
) -> None:
    current = FeaturesZnode(True, levels)
    compatible = [broker for broker in brokers.values() if not incompatibilities(current, broker)]
    supported = {
        name: FeatureSupport(levels.min_version, levels.max_version) for name, levels in brokers[min(brokers)].items()
    }
    plan = plan_update(current, changes, supported, brokers)
    if plan.errors:
        return
    plan.after.encode()
    for change in changes:
        now = plan.after.features.get(change.name)
        assert (now.max_version_level if now is not None else 0) == max(change.max_version_level, 0)
        before = levels.get(change.name)
        if before is not None and change.max_version_level < before.max_version_level:
            assert change.allow_downgrade
    changed = {change.name for change in changes}
    assert {name: finalized for name, finalized in plan.after.features.items() if name not in changed} == {
        name: finalized for name, finalized in levels.items() if name not in changed
    }
    assert not [features for features in compatible if _max_levels_outside(plan.after, features)]


def _max_levels_outside(znode: FeaturesZnode, broker: Mapping[str, SupportedVersionRange]) -> list[str]:
    return [
        name
        for name, finalized in znode.features.items()
        if name not in broker or not broker[name].min_version <= finalized.max_version_level <= broker[name].max_version
    ]
