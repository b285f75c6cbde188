"""Random sequences of updates, joins, leaves, failovers, and damages of features.

After every step, no finalized range is outside a live broker's support, no acknowledged update is lost, no update is
applied in part, and all brokers know the same features. Brokers are sessions with the parts of a node that follow
features, on ZooKeeper in memory; a broker that finds itself incompatible leaves, as a node does. `make soak` runs more
examples than `make test`.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis import event, given, settings
from hypothesis import strategies as st

from kwire_cluster.config.value_types import FeatureSupport
from kwire_cluster.controller.controller_election import create_top_level_paths
from kwire_cluster.controller.errors import CommandError, NotController
from kwire_cluster.controller.feature_rules import FeatureChange, incompatibilities
from kwire_cluster.node.settings.finalized_features import FeatureCache, FeatureWatcher, IncompatibleFeatures
from kwire_cluster.zookeeper import FeaturesZnode, SupportedVersionRange
from kwire_cluster.zookeeper.protocol_version import ProtocolVersion
from tests.cluster.controller.clusters import SETTINGS, Cluster
from tests.cluster.memory_store import InjectedFault
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cluster.controller.controller import Controller
    from kwire_cluster.zookeeper.operations import Operation
    from tests.cluster.memory_store import MemoryStore

EXAMPLES = int(os.environ.get("KWIRE_SOAK_EXAMPLES", "50"))
NAMES = ("f", "g")
BROKERS = (1, 2, 3)

Supported = dict[str, FeatureSupport]


@dataclass(frozen=True)
class Join:
    """A broker joins with these supported features, or one that runs leaves."""

    broker: int
    supported: Supported
    enabled: bool


@dataclass(frozen=True)
class Update:
    """An update, with a fault at the first write."""

    changes: list[FeatureChange]
    fault: InjectedFault | None


@dataclass(frozen=True)
class Damage:
    """Another client deletes `/features` while the controller is dead, and perhaps creates it again without levels."""

    is_created_again: bool


ranges = st.tuples(st.integers(1, 3), st.integers(1, 3)).map(lambda ends: FeatureSupport(min(ends), max(ends)))
lowest_safe = st.sampled_from([0, 0, 0, 2])
wide = st.builds(FeatureSupport, st.just(1), st.integers(2, 3), lowest_safe)
both = st.fixed_dictionaries({"f": wide, "g": wide})
supported = both | st.dictionaries(st.sampled_from(NAMES), ranges)
joins = st.builds(Join, st.sampled_from(BROKERS), supported, st.sampled_from([True, True, False]))
first_joins = st.builds(Join, st.sampled_from(BROKERS), both, st.just(True))
changes = st.lists(
    st.builds(FeatureChange, st.sampled_from(NAMES), st.integers(0, 4), st.booleans()), min_size=1, max_size=2
)
valid_changes = st.tuples(
    *(st.builds(FeatureChange, st.just(name), st.integers(0, 2), st.just(True)) for name in NAMES)
).map(list)
"""One change of each feature, which is valid unless it changes nothing."""
updates = st.builds(
    Update,
    changes | valid_changes,
    st.sampled_from([None, None, None, InjectedFault.LOSE_REQUEST, InjectedFault.LOSE_RESPONSE]),
)


damages = st.builds(Damage, st.booleans())


def max_levels(znode: FeaturesZnode) -> dict[str, int]:
    return {name: levels.max_version_level for name, levels in znode.features.items()}


class History:
    """A cluster, and what its brokers know about features."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.caches: dict[int, FeatureCache] = {}
        self.watchers: dict[int, FeatureWatcher] = {}
        self.epoch = -1
        self.levels: dict[str, int] | None = None
        """The finalized levels that must be stored; None if an update was possibly applied."""
        self.was_enabled = False
        self.flags: set[bool] = set()
        """Flags of feature versioning on the brokers that were live since the last check."""
        self.enabled: dict[int, bool] = {}

    async def join(self, step: Join) -> None:
        if step.broker in self.watchers:
            await self.leave(step.broker)
            return
        cache = FeatureCache(step.supported, lambda: None)
        store = self.cluster.memory.session()
        await create_top_level_paths(store)
        watcher = FeatureWatcher(store, cache)
        try:
            await watcher.start()
        except IncompatibleFeatures:
            await watcher.stop()
            await store.close()
            return
        supported = step.supported.items()
        features = {name: SupportedVersionRange(levels.min_version, levels.max_version) for name, levels in supported}
        version = ProtocolVersion.parse("3.9" if step.enabled else "2.6")
        controller = replace(SETTINGS, supported_features=step.supported, protocol_version=version)
        await self.cluster.start(step.broker, features=features, settings=controller)
        self.caches[step.broker], self.watchers[step.broker] = cache, watcher
        self.enabled[step.broker] = step.enabled
        self.flags.add(step.enabled)
        await self.settle()

    async def leave(self, broker: int) -> None:
        await self.watchers.pop(broker).stop()
        del self.caches[broker]
        await self.cluster.kill(broker)
        await self.settle()

    async def damage(self, step: Damage) -> None:
        if not self.watchers:
            return
        controller = (await self.cluster.wait_elected()).broker_id
        znode, _ = self.stored()
        # All of this happens before another broker can be elected: nothing is awaited.
        self.cluster.memory.expire(self.cluster.brokers[controller].store.session_id)
        self.cluster.tool.delete(FeaturesZnode.path())
        if step.is_created_again:
            self.cluster.tool.create(FeaturesZnode.path(), FeaturesZnode(znode.enabled).encode())
            self.levels = {}
        await self.leave(controller)

    async def settle(self) -> None:
        """Let brokers that have become incompatible leave, and compare all others with ZooKeeper."""
        while self.watchers:
            await self.cluster.wait_idle()
            await eventually(self.all_have_read)
            incompatible = [broker for broker, cache in self.caches.items() if cache.error is not None]
            if not incompatible:
                break
            await self.watchers.pop(incompatible[0]).stop()
            del self.caches[incompatible[0]]
            await self.cluster.kill(incompatible[0])
        if self.watchers:
            self.check()

    def stored(self) -> tuple[FeaturesZnode, int]:
        found = self.cluster.memory.tree.get(FeaturesZnode.path())
        return FeaturesZnode.decode(found.data), found.version

    def all_have_read(self) -> bool:
        return all(cache.current == self.stored() for cache in self.caches.values())

    def check(self) -> None:
        znode, epoch = self.stored()
        assert not znode.warnings
        assert epoch >= self.epoch, "KIP-584: the epoch is monotonically increasing"
        self.epoch = epoch
        # A controller that enables or disables feature versioning deletes the levels (KIP-584).
        if self.levels is not None and self.flags == {self.was_enabled}:
            assert max_levels(znode) == self.levels
        self.levels, self.was_enabled = max_levels(znode), znode.enabled
        self.flags = {self.enabled[broker] for broker in self.watchers}
        for cache in self.caches.values():
            assert not incompatibilities(znode, cache.supported)

    async def update(self, step: Update) -> None:
        if not self.watchers:
            return
        controller = await self.cluster.wait_elected()
        before, epoch = self.stored()
        acknowledged = await self.send(controller, step)
        event(f"update of {len(step.changes)} features acknowledged: {acknowledged}")
        requested = max_levels(before) | {change.name: change.max_version_level for change in step.changes}
        updated = {name: level for name, level in requested.items() if level >= 1}
        self.levels = {True: updated, False: max_levels(before), None: None}[acknowledged]
        await self.settle()
        if not self.watchers:
            return
        after, now = self.stored()
        if acknowledged is not True and after == before:
            assert now == epoch
            return
        assert acknowledged is not False, "a rejected update has changed features"
        assert now > epoch
        assert max_levels(after) == updated

    async def send(self, controller: Controller, step: Update) -> bool | None:
        """Send an update, and return whether it was acknowledged; None if that is unknown."""
        faults = [step.fault] if step.fault is not None else []

        def inject(store: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
            del store, operations
            return faults.pop() if faults else InjectedFault.NONE

        self.cluster.memory.inject_fault = inject
        try:
            return not (await controller.update_features(step.changes)).errors
        except NotController:
            return None
        except CommandError:
            return False
        finally:
            self.cluster.memory.inject_fault = None

    async def stop(self) -> None:
        for watcher in self.watchers.values():
            await watcher.stop()
        await self.cluster.stop()


@settings(max_examples=EXAMPLES, derandomize="KWIRE_SOAK_EXAMPLES" not in os.environ)
@given(first_joins, st.lists(joins | updates | damages, min_size=2, max_size=12))
async def test_finalized_features_fit_all_live_brokers_after_any_history(
    first: Join, steps: list[Join | Update | Damage]
) -> None:
    async with asyncio.timeout(60):
        history = History()
        try:
            for step in (first, *steps):
                match step:
                    case Join():
                        await history.join(step)
                    case Update():
                        await history.update(step)
                    case Damage():
                        await history.damage(step)
        finally:
            await history.stop()
