"""Features of live nodes (KIP-584): ApiVersions, UpdateFeatures, and nodes that are incompatible with their cluster."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kwire.messages.kip584.api_versions import ApiVersionsRequest, FinalizedFeature
from kwire.messages.kip584.update_features import Feature, FeatureUpdate, UpdateFeaturesRequest
from kwire_cluster.config.node_settings import NodeSettings
from kwire_cluster.config.setting import SettingError
from kwire_cluster.config.value_types import FeatureSupport
from kwire_cluster.node.node import Node
from kwire_cluster.node.settings.finalized_features import IncompatibleFeatures
from kwire_cluster.zookeeper import BrokerRegistration, FeaturesZnode, FinalizedVersionRange, SupportedVersionRange
from kwire_cluster.zookeeper.errors import NoNode
from kwire_cluster.zookeeper.protocol_version import ProtocolVersion
from tests.cluster.node.nodes import new_root, node_tools, nodes, send, session, settings
from tests.eventually import eventually
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from kwire_cluster.zookeeper import Store
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

NEW = {"f": FeatureSupport(1, 3), "g": FeatureSupport(1, 4, 2)}
OLD = {"f": FeatureSupport(1, 2)}
BEFORE_MIGRATION = ProtocolVersion.parse("2.6")
PATH = FeaturesZnode.path()


def request(*features: tuple[str, int], downgrade: bool = False, timeout_ms: int = 20_000) -> UpdateFeaturesRequest:
    named = tuple(Feature(name=name, max_version_level=level) for name, level in features)
    return UpdateFeaturesRequest(
        timeout_ms=timeout_ms, feature_updates=(FeatureUpdate(allow_downgrade=downgrade, features=named),)
    )


async def features_of(node: Node) -> tuple[int, dict[str, tuple[int, int]]]:
    """Return the epoch and the finalized levels that a node reports."""
    response = await send(node, ApiVersionsRequest(), version=3)
    return response.finalized_features_epoch, {
        finalized_feature.name: (finalized_feature.min_version_level, finalized_feature.max_version_level)
        for finalized_feature in response.finalized_features
    }


async def disable_features(zookeeper: str) -> None:
    """Leave what a cluster had before its upgrade."""
    async with session(zookeeper) as store:
        await store.create(PATH, FeaturesZnode(False).encode())


async def test_new_cluster_reports_its_features(server: EmbeddedZooKeeper) -> None:
    """KIP-584: 'Features supported by the broker.', 'List of cluster-wide finalized features.'"""
    async with nodes(await new_root(server), 1, 2, supported_features=NEW) as started:
        for node in started:
            response = await send(node, ApiVersionsRequest(), version=3)
            assert [
                (supported_feature.name, supported_feature.min_version, supported_feature.max_version)
                for supported_feature in response.supported_features
            ] == [
                ("f", 1, 3),
                ("g", 1, 4),
            ]
            assert response.finalized_features_epoch == 0
            assert response.finalized_features == (
                FinalizedFeature(name="f", max_version_level=3, min_version_level=1),
                FinalizedFeature(name="g", max_version_level=4, min_version_level=1),
            )


async def test_registration_has_the_supported_features(server: EmbeddedZooKeeper) -> None:
    """KIP-584: the version is 'bumped by 1', and `features` is a 'new key'."""
    root = await new_root(server)
    async with nodes(root, 1, supported_features=NEW), session(root) as store:
        registration = BrokerRegistration.decode((await store.get(BrokerRegistration.path(1))).data)
        assert registration.version == 5
        assert registration.features == {"f": SupportedVersionRange(1, 3), "g": SupportedVersionRange(1, 4)}


async def test_disabled_features_are_not_reported(server: EmbeddedZooKeeper) -> None:
    """KIP-584: 'the finalized features stored in the /features ZK node is not relevant'."""
    root = await new_root(server)
    async with nodes(root, 1, supported_features=NEW, protocol_version=BEFORE_MIGRATION) as [node]:
        response = await send(node, ApiVersionsRequest(), version=3)
        assert len(response.supported_features) == 2
        assert (response.finalized_features_epoch, response.finalized_features) == (-1, ())
        rejected = await send(node, request(("f", 1)))
        assert (rejected.error_code, rejected.error_message) == (42, "Feature versioning system is disabled.")


async def test_update_is_visible_on_the_controller_at_once_and_soon_on_all_nodes(server: EmbeddedZooKeeper) -> None:
    """KIP-584: 'the request was 100% successful, and no top level or individual FeatureUpdate errors were seen'."""
    root = await new_root(server)
    await disable_features(root)
    async with nodes(root, 1, 2, 3, supported_features=NEW) as started:
        response = await send(started[0], request(("f", 2), ("g", 4)))
        assert (response.error_code, response.error_message, response.results) == (0, None, ())
        expected = 2, {"f": (1, 2), "g": (1, 4)}
        assert await features_of(started[0]) == expected

        async def all_report_it() -> bool:
            return all([await features_of(node) == expected for node in started])

        reported: bool = await eventually(all_report_it)
        assert reported


async def test_failing_features_are_named_and_nothing_is_changed(server: EmbeddedZooKeeper) -> None:
    """KIP-584: 'despite this allowDowngrade flag being set, certain downgrades may be rejected by the controller if
    it is deemed unsafe to downgrade the max version level of some specific feature'.
    """
    async with nodes(await new_root(server), 1, supported_features=NEW) as [node]:
        before = await features_of(node)
        response = await send(node, request(("f", 2), ("g", 1), ("other", 1), downgrade=True))
        reason = "feature g cannot go below level 2, its lowest safe level"
        assert (response.error_code, response.error_message) == (42, reason)
        assert [(result.feature, result.error_code) for result in response.results] == [("g", 42), ("other", 42)]
        assert await features_of(node) == before


async def test_other_nodes_answer_41(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2, supported_features=NEW) as [_, other]:
        response = await send(other, request(("f", 2), downgrade=True))
        assert response.error_code == 41
        assert "is not serving a controller's role" in response.error_message


async def test_update_that_does_not_fit_its_time_answers_7(server: EmbeddedZooKeeper) -> None:
    """KIP-584: 'How long to wait in milliseconds before timing out the request.'"""
    async with nodes(await new_root(server), 1, supported_features=NEW) as [node]:
        response = await send(node, request(("f", 2), downgrade=True, timeout_ms=0))
        assert response.error_code == 7


async def test_second_update_meanwhile_answers_1013(server: EmbeddedZooKeeper) -> None:
    """KIP-584: 'if a feature update was in progress already, the controller could return a suitable error'."""
    async with nodes(await new_root(server), 1, supported_features=NEW) as [node]:
        responses = await asyncio.gather(*(send(node, request(("f", 2), downgrade=True)) for _ in range(5)))
        codes = sorted(response.error_code for response in responses)
        assert codes[0] == 0
        assert set(codes[1:]) <= {42, 1013}
        assert 1013 in codes


async def test_features_that_cannot_be_written_answer_96(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(root, 1, supported_features=NEW) as [node], session(root) as store:
        await store.set(PATH, b'{"version":7}')
        response: Any = None

        async def is_read() -> bool:
            nonlocal response
            response = await send(node, request(("f", 2), downgrade=True))
            assert response.error_code == 96
            return "/features cannot be read" in response.error_message

        failed: bool = await eventually(is_read)
        assert failed
        assert (await store.get(PATH)).data == b'{"version":7}'
        assert (await features_of(node))[0] == 0  # everything else is served


def is_controller(node: Node) -> bool:
    return node.status()["is_controller"] is True


async def is_registered(store: Store, node_id: int) -> bool:
    try:
        await store.get(BrokerRegistration.path(node_id))
    except NoNode:
        return False
    return True


async def test_incompatible_node_refuses_to_start_and_does_not_register(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(root, 1, supported_features=NEW), session(root) as store:
        node = Node(settings(root, 2, supported_features=OLD), node_tools())
        with pytest.raises(IncompatibleFeatures) as failed:
            await node.start()
        assert str(failed.value) == (
            "this node does not support the finalized features of the cluster, epoch 0: feature f is finalized at 1 to"
            " 3, and supported from 1 to 2; feature g is finalized, and not supported: run a release that supports"
            " them, or downgrade them first"
        )
        assert not await is_registered(store, 2)


async def test_node_stops_in_order_when_a_change_makes_it_incompatible(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    await disable_features(root)
    async with nodes(root, 1, 2, supported_features=NEW) as [first, second], session(root) as store:
        znode = FeaturesZnode(True, {"f": FinalizedVersionRange(1, 9)})
        await store.set(PATH, znode.encode())  # an update would have been refused
        for node in (first, second):
            with pytest.raises(IncompatibleFeatures, match="feature f is finalized at 1 to 9"):
                async with asyncio.timeout(60):
                    await node.wait_ended()
        assert not await is_registered(store, 1)
        assert not await is_registered(store, 2)


async def test_disabled_features_do_not_keep_a_node_from_starting(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with session(root) as store:
        await store.create(PATH, FeaturesZnode(False, {"other": FinalizedVersionRange(1, 9)}).encode())
    async with nodes(root, 1, supported_features=OLD, protocol_version=BEFORE_MIGRATION) as [node]:
        assert await features_of(node) == (-1, {})


async def test_rolling_upgrade_of_the_protocol_then_finalizing_and_downgrading(server: EmbeddedZooKeeper) -> None:
    """KIP-584, "Cluster upgrade" and "Cluster downgrade": three nodes are restarted one by one with each release."""
    root = await new_root(server)
    running: dict[int, Node] = {}

    async def roll(features: dict[str, FeatureSupport], protocol: str) -> Node:
        """Restart every node, the controller last, and return the new controller."""
        for node_id in sorted(
            (1, 2, 3), key=lambda candidate: candidate in running and is_controller(running[candidate])
        ):
            if node_id in running:
                await running.pop(node_id).stop(grace=0.5)
            version = ProtocolVersion.parse(protocol)
            node = Node(settings(root, node_id, supported_features=features, protocol_version=version), node_tools())
            await node.start()
            running[node_id] = node
            await eventually(lambda: all(len(node.metadata.brokers) == len(running) for node in running.values()))
        await eventually(lambda: any(map(is_controller, running.values())))
        return next(filter(is_controller, running.values()))

    async def reports(epoch: int, levels: dict[str, tuple[int, int]]) -> None:
        async def all_report() -> bool:
            return all([await features_of(node) == (epoch, levels) for node in running.values()])

        reported: bool = await eventually(all_report)
        assert reported

    try:
        await roll({}, "2.6")  # a release without features
        await reports(-1, {})
        await roll(NEW, "2.6")  # the new release with the old protocol
        await reports(-1, {})
        controller = await roll(NEW, "2.7")  # the new protocol: enabled, and nothing is finalized
        await reports(1, {})
        assert (await send(controller, request(("f", 3), ("g", 3)))).error_code == 0
        await reports(2, {"f": (1, 3), "g": (1, 3)})
        refused = await send(controller, request(("f", 2)))
        assert "requires that downgrades are allowed" in refused.error_message
        unsafe = await send(controller, request(("g", 1), downgrade=True))
        assert "its lowest safe level" in unsafe.error_message
        assert (await send(controller, request(("f", 2), downgrade=True))).error_code == 0
        await reports(3, {"f": (1, 2), "g": (1, 3)})
        await roll(NEW, "2.6-IV0")  # back to the old protocol: disabled and cleared
        await reports(-1, {})
        async with session(root) as store:
            assert FeaturesZnode.decode((await store.get(PATH)).data) == FeaturesZnode(False)
    finally:
        for node in running.values():
            await node.stop(grace=0.5)


def properties(**others: str) -> dict[str, str]:
    return {
        "broker.id": "1",
        "zookeeper.connect": "localhost",
        **{name.replace("_", "."): text for name, text in others.items()},
    }


def test_features_are_settings_of_a_node() -> None:
    """KIP-584: 'max supported version of this feature (>=1 and >= min_version)'."""
    parsed = NodeSettings.from_properties(
        properties(supported_features="group_coordinator:1-3, transaction_coordinator:1-4:2")
    )
    assert parsed.supported_features == {
        "group_coordinator": FeatureSupport(1, 3),
        "transaction_coordinator": FeatureSupport(1, 4, 2),
    }
    assert parsed.features_enabled


@for_rows(("protocol", "enabled"), [("2.6", False), ("2.7-IV0", True), ("2.7", True), ("3.9", True), ("0.10.2", False)])
def test_protocol_decides_whether_features_are_enabled(protocol: str, enabled: bool) -> None:
    """KIP-584: the status is enabled 'only when the broker IBP config is greater than or equal to
    migration_ibp_version', and disabled 'only when the broker IBP config is less than' it.
    """
    parsed = NodeSettings.from_properties(properties(inter_broker_protocol_version=protocol))
    assert parsed.features_enabled == enabled


@for_rows(
    ("text", "reason"),
    [
        ("f", "expected name:min-max or name:min-max:safe, found 'f'"),
        ("f:0-1", "'f:0-1': expected 1 <= min <= safe <= max <= 32767"),
        ("f:2-1", "'f:2-1': expected 1 <= min <= safe <= max <= 32767"),
        ("f:1-2:3", "'f:1-2:3': expected 1 <= min <= safe <= max <= 32767"),
        ("f:1-40000", "'f:1-40000': expected 1 <= min <= safe <= max <= 32767"),
        ("f:1-2,f:1-3", "feature f is named twice"),
    ],
)
def test_invalid_features_are_rejected(text: str, reason: str) -> None:
    """KIP-584: 'represents the min supported version (>=1) of this feature'."""
    with pytest.raises(SettingError) as failed:
        NodeSettings.from_properties(properties(supported_features=text))
    assert failed.value.reason == reason
