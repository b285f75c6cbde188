"""Random sequences of changes of settings, joins, leaves, and faults: all nodes have the same effective values.

Nodes are sessions with the parts of a node that follow settings, on ZooKeeper in memory. An acknowledged change is
kept; after an error, the change was made as a whole or not at all. `make soak` runs more examples than `make test`.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import event, given, settings
from hypothesis import strategies as st

from kwire_cluster.config.audit import read_audit
from kwire_cluster.config.live_config import LiveConfig
from kwire_cluster.config.node_settings import NodeSettings
from kwire_cluster.config.stored_configs import broker_entity, change_config, read_config
from kwire_cluster.controller.controller_election import create_top_level_paths
from kwire_cluster.node.metadata.metadata_cache import MetadataCache
from kwire_cluster.node.settings.config_watcher import ConfigWatcher
from kwire_cluster.zookeeper.errors import SessionExpired, StoreClosed
from tests.cluster.memory_store import InjectedFault, MemoryZooKeeper
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from kwire_cluster.zookeeper.operations import Operation
    from tests.cluster.memory_store import MemoryStore

    Fault: TypeAlias = Callable[[MemoryStore, Sequence[Operation]], InjectedFault]

EXAMPLES = int(os.environ.get("KWIRE_SOAK_EXAMPLES", "50"))
NODES = (1, 2, 3)
NAMES = ("num.partitions", "max.connections", "admin.request.timeout.ms")
FILE = {"max.connections": "9"}
"""Settings in the file of node 3."""

Changes = dict[str, str | None]
Model = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Step:
    """A change, perhaps with a fault at a write, and perhaps a node that leaves or joins before it.

    Attributes:
        through: the node that makes the change; another one if this node has left.
        toggled: the node that leaves, or joins if it has left. The last node does not leave.
    """

    through: int
    broker: int | None
    changes: Changes
    fault: str
    toggled: int | None


steps = st.builds(
    Step,
    st.sampled_from(NODES),
    st.sampled_from([None, None, *NODES]),
    st.dictionaries(st.sampled_from(NAMES), st.none() | st.integers(1, 99).map(str), min_size=1),
    st.sampled_from(["none", "none", "lose request", "lose response", "expire"]),
    st.sampled_from([None, None, *NODES]),
)


class Node:
    """The session of one node, and the settings that it follows."""

    def __init__(self, memory: MemoryZooKeeper, node_id: int) -> None:
        file = FILE if node_id == 3 else {}
        required = {"broker.id": str(node_id), "zookeeper.connect": "localhost"}
        self.store = memory.session()
        self.config = LiveConfig(NodeSettings.from_properties({**required, **file}))
        self.watcher = ConfigWatcher(self.store, MetadataCache(), self.config)

    async def stop(self) -> None:
        await self.watcher.stop()
        await self.store.close()


class History:
    """A cluster, and what is stored for it."""

    def __init__(self) -> None:
        self.memory = MemoryZooKeeper()
        self.nodes: dict[int, Node] = {}
        self.model: Model = {}

    async def start(self, node_id: int) -> None:
        node = self.nodes[node_id] = Node(self.memory, node_id)
        await create_top_level_paths(node.store)
        await node.watcher.start()

    async def run(self, step: Step) -> None:
        if step.toggled is not None:
            await self.toggle(step.toggled)
        through = step.through if step.through in self.nodes else min(self.nodes)
        entity = broker_entity(step.broker)
        changed = self.after(entity, step.changes)
        acknowledged = await self.change(self.nodes[through], entity, step)
        event(f"acknowledged: {acknowledged}")
        for node_id, node in list(self.nodes.items()):
            if self.memory.inject_fault is not None or node.store.state in {"expired", "closed"}:
                await node.stop()
                await self.start(node_id)
        self.memory.inject_fault = None
        stored = dict((await read_config(self.nodes[through].store, entity)).config.config)
        before = self.model.get(entity, {})
        assert stored == changed if acknowledged else stored in (before, changed)
        self.model[entity] = stored
        await eventually(self.all_agree)

    async def toggle(self, node_id: int) -> None:
        if node_id not in self.nodes:
            await self.start(node_id)
        elif len(self.nodes) > 1:
            await self.nodes.pop(node_id).stop()

    def after(self, entity: str, changes: Changes) -> dict[str, str]:
        merged = {**self.model.get(entity, {}), **changes}
        return {name: text for name, text in merged.items() if text is not None}

    async def change(self, node: Node, entity: str, step: Step) -> bool:
        """Make a change, and return whether it was acknowledged."""
        self.memory.inject_fault = self.fault(node.store, step.fault) if step.fault != "none" else None
        try:
            await change_config(node.store, entity, step.changes, author="tests", node_id=step.through)
        except (SessionExpired, StoreClosed):
            return False
        return True

    def fault(self, victim: MemoryStore, kind: str) -> Fault:
        left = [kind]

        def inject(store: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
            del operations
            if store is not victim or not left:
                return InjectedFault.NONE
            match left.pop():
                case "expire":
                    self.memory.expire(victim.session_id)
                    return InjectedFault.NONE
                case "lose request":
                    return InjectedFault.LOSE_REQUEST
            return InjectedFault.LOSE_RESPONSE

        return inject

    def all_agree(self) -> bool:
        """Return whether every node has the values of its layers."""
        return all(
            node.config.explain(name).text == self.expected(node_id, name)
            for node_id, node in self.nodes.items()
            for name in NAMES
        )

    def expected(self, node_id: int, name: str) -> str | None:
        layers = [
            FILE if node_id == 3 else {},
            self.model.get(broker_entity(node_id), {}),
            self.model.get(broker_entity(None), {}),
        ]
        default = LiveConfig(NodeSettings()).explain(name).text
        return next((layer[name] for layer in layers if name in layer), default)


@settings(max_examples=EXAMPLES, derandomize="KWIRE_SOAK_EXAMPLES" not in os.environ)
@given(st.lists(steps, min_size=1, max_size=8))
async def test_all_nodes_have_the_same_effective_values_after_any_history(steps: list[Step]) -> None:
    async with asyncio.timeout(60):
        history = History()
        try:
            for node_id in NODES:
                await history.start(node_id)
            for step in steps:
                await history.run(step)
            changes = len(await read_audit(next(iter(history.nodes.values())).store, 1000))
            assert changes <= len(steps)
        finally:
            for node in history.nodes.values():
                await node.stop()
