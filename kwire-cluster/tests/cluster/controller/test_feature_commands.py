"""Finalized features of a controller on ZooKeeper in memory: start, changes by others, updates, and faults."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kwire_cluster.config.audit import read_audit
from kwire_cluster.config.value_types import FeatureSupport
from kwire_cluster.controller.errors import CommandError, NotController
from kwire_cluster.controller.feature_commands import NO_FEATURES
from kwire_cluster.controller.feature_rules import FeatureChange
from kwire_cluster.zookeeper import FeaturesZnode, FinalizedVersionRange, SupportedVersionRange
from kwire_cluster.zookeeper.features import LAST_FEATURES, VersionedFeatures
from kwire_cluster.zookeeper.protocol_version import ProtocolVersion
from tests.cluster.controller.clusters import SETTINGS, cluster_of
from tests.cluster.memory_store import InjectedFault
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cluster.controller.controller import Controller
    from kwire_cluster.zookeeper.operations import Operation
    from tests.cluster.controller.clusters import Cluster
    from tests.cluster.memory_store import MemoryStore

PATH = FeaturesZnode.path()
ENABLED = replace(SETTINGS, supported_features={"f": FeatureSupport(1, 3), "g": FeatureSupport(1, 4)})
DISABLED = replace(ENABLED, protocol_version=ProtocolVersion.parse("2.6"))
RANGES = {"f": SupportedVersionRange(1, 3), "g": SupportedVersionRange(1, 4)}


def znode(cluster: Cluster) -> tuple[FeaturesZnode, int]:
    """Return the finalized features and their epoch."""
    found = cluster.memory.tree.get(PATH)
    return FeaturesZnode.decode(found.data), found.version


def levels(cluster: Cluster) -> dict[str, int]:
    return {name: levels.max_version_level for name, levels in znode(cluster)[0].features.items()}


async def test_new_cluster_has_finalized_features_before_requests_are_served() -> None:
    async with cluster_of(1, settings=ENABLED) as cluster:
        everything = {"f": FinalizedVersionRange(1, 3), "g": FinalizedVersionRange(1, 4)}
        assert znode(cluster) == (FeaturesZnode(True, everything), 0)


async def test_protocol_upgrade_enables_features_and_a_downgrade_clears_them() -> None:
    """KIP-584: the operator finalizes features after the upgrade."""
    async with cluster_of(1, settings=DISABLED) as cluster:
        assert znode(cluster) == (FeaturesZnode(False), 0)
        await cluster.kill(1)
        await cluster.start(2, settings=ENABLED, features=RANGES)
        controller = await cluster.wait_elected()
        assert znode(cluster) == (FeaturesZnode(True), 1)
        await controller.update_features([FeatureChange("f", 2, False)])
        await cluster.kill(2)
        await cluster.start(3, settings=DISABLED)
        await cluster.wait_elected()
        assert znode(cluster) == (FeaturesZnode(False), 3)


async def test_disabled_features_cannot_be_updated() -> None:
    async with cluster_of(1, settings=DISABLED) as cluster:
        with pytest.raises(CommandError, match=r"Feature versioning system is disabled\.") as failed:
            await cluster.active.update_features([FeatureChange("f", 1, False)])
        assert failed.value.code == 42


async def upgraded(cluster: Cluster, **finalized: int) -> Controller:
    """Replace the broker of a cluster without features by one that supports some, and finalize these levels."""
    await cluster.kill(1)
    await cluster.start(2, settings=ENABLED, features=RANGES)
    controller = await cluster.wait_elected()
    await controller.update_features([FeatureChange(name, level, False) for name, level in finalized.items()])
    return controller


async def test_update_returns_the_new_epoch() -> None:
    """KIP-584: 'The monotonically increasing epoch for the finalized features.'"""
    async with cluster_of(1, settings=DISABLED) as cluster:
        controller = await upgraded(cluster, f=1)
        assert await controller.update_features([FeatureChange("f", 3, False), FeatureChange("g", 1, False)]) == (3, {})
        assert znode(cluster)[1] == 3
        assert levels(cluster) == {"f": 3, "g": 1}


async def audited(cluster: Cluster) -> list[tuple[str, dict[str, tuple[str | None, str | None]]]]:
    """Return the author and the changes of each audit entry about features."""
    entries = await read_audit(cluster.tool, 100, "features")
    return [(entry.author, dict(entry.changes)) for entry in entries]


async def test_update_leaves_one_entry_in_the_audit_with_its_author() -> None:
    async with cluster_of(1, settings=DISABLED) as cluster:
        controller = await upgraded(cluster, f=1)
        changes = [FeatureChange("f", 0, True), FeatureChange("g", 4, False)]
        await controller.update_features(changes, author="User:alice app 127.0.0.1:5")
        assert await audited(cluster) == [
            ("unknown", {"f": (None, "1")}),
            ("User:alice app 127.0.0.1:5", {"f": ("1", None), "g": (None, "4")}),
        ]


async def test_update_that_changes_nothing_leaves_no_entry_in_the_audit() -> None:
    async with cluster_of(1, settings=DISABLED) as cluster:
        controller = await upgraded(cluster, f=1)
        before = await audited(cluster)
        await controller.update_features([FeatureChange("f", 2, False), FeatureChange("g", 9, False)])
        await controller.update_features([FeatureChange("f", 1, False)])
        assert await audited(cluster) == before


async def test_update_is_applied_as_a_whole_or_not_at_all() -> None:
    """KIP-584: 'the top level error (if any) or the error from the FeatureUpdate(s) that failed (if any) is raised
    to the caller'.
    """
    async with cluster_of(1, settings=DISABLED) as cluster:
        controller = await upgraded(cluster, f=1)
        before = znode(cluster)
        outcome = await controller.update_features([FeatureChange("f", 2, False), FeatureChange("g", 9, False)])
        assert (outcome.epoch, list(outcome.errors)) == (2, ["g"])
        assert znode(cluster) == before


async def test_level_must_be_supported_by_brokers_that_have_just_registered() -> None:
    async with cluster_of(1, settings=DISABLED) as cluster:
        controller = await upgraded(cluster, f=1)
        await cluster.start(3, features={"f": SupportedVersionRange(1, 1)}, runs_controller=False)
        outcome = await controller.update_features([FeatureChange("f", 2, False)])
        assert outcome.errors["f"].reason == "level 2 of feature f is not supported by broker 3"


async def test_update_without_features_is_rejected() -> None:
    async with cluster_of(1, settings=ENABLED) as cluster:
        with pytest.raises(CommandError, match="the request names no feature"):
            await cluster.active.update_features([])


async def test_other_controllers_reject_updates() -> None:
    async with cluster_of(1, 2, settings=ENABLED, controllers=(1, 2)) as cluster:
        other = cluster.brokers[2].controller
        assert other is not None
        with pytest.raises(NotController):
            await other.update_features([FeatureChange("f", 1, False)])


class TestChangesByOthers:
    """Tools write `/features` as well."""

    async def test_range_with_its_minimum_above_its_maximum_is_kept_until_it_is_repaired(self) -> None:
        async with cluster_of(1, settings=DISABLED) as cluster:
            controller = await upgraded(cluster, g=1)
            bad = b'{"version":0,"status":1,"features":{"f":{"min_version_level":3,"max_version_level":2}}}'
            cluster.write(PATH, bad)
            await controller.drain()
            await cluster.wait_idle()
            await controller.update_features([FeatureChange("g", 2, False)])
            assert b'"f":{"min_version_level":3,"max_version_level":2}' in cluster.memory.tree.get(PATH).data
            await controller.update_features([FeatureChange("f", 2, False)])
            assert levels(cluster) == {"g": 2, "f": 2}

    async def test_malformed_features_concern_updates_only_and_heal(self) -> None:
        async with cluster_of(1, settings=ENABLED) as cluster:
            good = cluster.memory.tree.get(PATH).data
            cluster.write(PATH, b"not JSON")
            controller = await cluster.wait_idle()
            with pytest.raises(CommandError, match="/features cannot be read") as failed:
                await controller.update_features([FeatureChange("f", 0, True)])
            assert failed.value.code == 96
            assert await controller.list_topics() == ([], [])
            cluster.write(PATH, good)
            await cluster.wait_idle()
            assert (await controller.update_features([FeatureChange("f", 0, True)])).errors == {}

    async def test_controller_starts_with_malformed_features(self) -> None:
        async with cluster_of(1, settings=ENABLED) as cluster:
            cluster.write(PATH, b"[]")
            await cluster.kill(1)
            await cluster.start(2, settings=ENABLED)
            assert await (await cluster.wait_elected()).list_topics() == ([], [])

    async def test_deleted_features_return_at_a_later_epoch(self) -> None:
        async with cluster_of(1, settings=DISABLED) as cluster:
            controller = await upgraded(cluster, f=1)
            epoch = znode(cluster)[1]
            cluster.tool.delete(PATH)
            await eventually(lambda: cluster.exists(PATH) and znode(cluster)[1] > epoch)
            await controller.drain()
            assert (await controller.update_features([FeatureChange("f", 2, True)])).errors == {}

    @pytest.mark.parametrize("damaged", ["intact", "deleted", "malformed"])
    async def test_next_controller_continues_the_epoch_and_the_features(self, damaged: str) -> None:
        """`/features` is deleted while there is no controller. A copy, or what the new controller's broker knows, has
        the last features; without both of them it is a new cluster.
        """
        async with cluster_of(1, settings=DISABLED) as cluster:
            controller = await upgraded(cluster, f=1, g=2)
            await controller.update_features([FeatureChange("g", 0, True)])
            before, epoch = znode(cluster)
            await cluster.kill(2)
            if damaged != "intact":
                cluster.tool.delete(LAST_FEATURES)
            if damaged == "malformed":
                cluster.tool.create(LAST_FEATURES, b"{")
            cluster.tool.delete(PATH)
            known = VersionedFeatures(before, epoch)
            await cluster.start(
                3, settings=ENABLED, features=RANGES, known_features=NO_FEATURES if damaged == "intact" else known
            )
            controller = await cluster.wait_elected()
            assert znode(cluster) == (before, epoch + 1)
            assert await controller.update_features([FeatureChange("f", 2, False)]) == (epoch + 2, {})
            assert VersionedFeatures.decode(cluster.memory.tree.get(LAST_FEATURES).data) == znode(cluster)

    async def test_features_are_not_updated_while_their_copy_is_protected(self) -> None:
        async with cluster_of(1, settings=DISABLED) as cluster:
            cluster.memory.forbidden.add(LAST_FEATURES)
            await cluster.kill(1)
            await cluster.start(2, settings=ENABLED, features=RANGES)
            controller = await cluster.wait_elected()
            with pytest.raises(CommandError, match="/features cannot be read"):
                await controller.update_features([FeatureChange("f", 2, False)])
            assert await controller.list_topics() == ([], [])

    async def test_features_that_were_created_again_stay_at_a_later_epoch(self) -> None:
        async with cluster_of(1, settings=DISABLED) as cluster:
            await upgraded(cluster, f=1)
            epoch = znode(cluster)[1]
            await cluster.kill(2)
            restored = FeaturesZnode(True, {"g": FinalizedVersionRange(1, 2)})
            cluster.tool.delete(PATH)
            cluster.tool.create(PATH, restored.encode())
            await cluster.start(3, settings=ENABLED, features=RANGES)
            await cluster.wait_elected()
            assert znode(cluster) == (restored, epoch + 1)

    async def test_long_history_is_continued(self) -> None:
        """Closing the gap takes more writes than a transaction of ZooKeeper may have."""
        async with cluster_of(1, settings=ENABLED) as cluster:
            await cluster.kill(1)
            features, _ = znode(cluster)
            cluster.tool.delete(PATH)
            cluster.tool.set(LAST_FEATURES, VersionedFeatures(features, 1234).encode())
            await cluster.start(2, settings=ENABLED, features=RANGES)
            await cluster.wait_elected()
            assert znode(cluster) == (features, 1235)

    async def test_update_after_a_lost_race_changes_nothing_and_succeeds_later(self) -> None:
        async with cluster_of(1, settings=DISABLED) as cluster:
            controller = await upgraded(cluster, f=1)

            def write_first(store: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
                del store, operations
                cluster.memory.inject_fault = None
                cluster.write(PATH, FeaturesZnode(True).encode())
                return InjectedFault.NONE

            cluster.memory.inject_fault = write_first
            with pytest.raises(CommandError, match="the finalized features are unchanged") as failed:
                await controller.update_features([FeatureChange("f", 2, False)])
            assert failed.value.code == 96
            assert levels(cluster) == {}
            await controller.drain()
            await controller.update_features([FeatureChange("f", 2, False)])
            assert levels(cluster) == {"f": 2}
            assert [changes for _, changes in await audited(cluster)] == [{"f": (None, "1")}, {"f": (None, "2")}]


@pytest.mark.parametrize("fault", [InjectedFault.LOSE_REQUEST, InjectedFault.LOSE_RESPONSE])
async def test_lost_connection_during_the_write_is_repaired(fault: InjectedFault) -> None:
    async with cluster_of(1, settings=DISABLED) as cluster:
        controller = await upgraded(cluster, f=1)
        faults = [fault]
        cluster.memory.inject_fault = lambda *_: faults.pop() if faults else InjectedFault.NONE
        assert await controller.update_features([FeatureChange("f", 2, False)]) == (3, {})
        assert levels(cluster) == {"f": 2}
        assert [changes for _, changes in await audited(cluster)] == [{"f": (None, "1")}, {"f": ("1", "2")}]
