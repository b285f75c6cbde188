"""Reading the cluster's state from ZooKeeper: all of it for a new controller, or what changed.

Rules of this file: reads are pipelined, and what has come is decoded while the rest is on its way. Watches are set by
the same reads. A node that nobody can read is reported with path and key, and left out; the rest works. The state of a
partition that cannot be read leaves that partition alone, a registration that cannot be read the whole topic.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kwire.cluster.controller.state import NO_NODE, NO_STATE, UNREADABLE, Broker, Move, Partition, Topic
from kwire.cluster.controller.topic_names import LONGEST_NAME, can_be_a_topic
from kwire.cluster.zookeeper.brokers import BrokerRegistration
from kwire.cluster.zookeeper.configs import EntityConfig
from kwire.cluster.zookeeper.errors import NoNode, ZnodeError
from kwire.cluster.zookeeper.topics import PartitionState, TopicRegistration

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kwire.cluster.zookeeper.operations import Node
    from kwire.cluster.zookeeper.store import Store, Watch

__all__ = ["LoadedTopics", "Loader", "subtree"]

LARGEST_ID = 2**31 - 1
"""Of a broker, in the protocol."""
AT_ONCE = 500
"""Nodes that are asked for in one go; the next are asked for before these are decoded."""

Item = TypeVar("Item")


class LoadedTopics(NamedTuple):
    """``topics``: those that could be read; ``unreadable``: the names of others; ``gone``: of those not there."""

    topics: list[Topic]
    unreadable: list[str]
    gone: list[str]


class Loader:
    """``watch``: sees what is read change; ``report``: is told of nodes that cannot be read."""

    def __init__(self, store: Store, watch: Watch, report: Callable[[ZnodeError], None]) -> None:
        self._store = store
        self._watch = watch
        self._report = report

    async def brokers(self) -> Mapping[int, Broker]:
        """The live ones by id."""
        names = await self._store.children(BrokerRegistration.root, self._watch)
        paths = [f"{BrokerRegistration.root}/{name}" for name in names]
        brokers = {}
        for name, path, node in zip(names, paths, await self._store.get_many(paths, self._watch), strict=True):
            if node is None:  # it died meanwhile, and the watch will say so
                continue
            try:
                if not (name.isascii() and name.isdigit() and int(name) <= LARGEST_ID):
                    raise ZnodeError(path, "", f"{name[:60]!r} is no broker's id")
                brokers[int(name)] = Broker(int(name), BrokerRegistration.decode(node.data, path), node.stat.czxid)
            except ZnodeError as error:
                self._report(error)
        return MappingProxyType(brokers)

    async def topic_names(self) -> list[str]:
        """Of all topics."""
        return await self._store.children(TopicRegistration.root, self._watch)

    async def topics(self, names: Sequence[str]) -> LoadedTopics:
        """These topics with their partitions' states and settings."""
        loaded = LoadedTopics([], [], [])
        registrations = self._asked([TopicRegistration.path(name) for name in names], self._watch)
        configs = self._asked([EntityConfig.path("topics", name) for name in names])
        half: list[tuple[Topic, asyncio.Future[list[Node | None]], list[str]]] = []
        for part, registered, configured in zip(_parts(names), registrations, configs, strict=True):
            for name, node, config in zip(part, await registered, await configured, strict=True):
                topic = self._registered(name, node, loaded)
                if topic is None:
                    continue
                topic = self._configured(topic, config)
                paths = [PartitionState.path(name, partition.id) for partition in topic.partitions]
                half.append((topic, self._store.get_many(paths), paths))
        for topic, states, paths in half:
            loaded.topics.append(await self._with_states(topic, await states, paths))
        return loaded

    def _asked(self, paths: list[str], watch: Watch | None = None) -> list[asyncio.Future[list[Node | None]]]:
        return [self._store.get_many(part, watch) for part in _parts(paths)]

    def _registered(self, name: str, node: Node | None, loaded: LoadedTopics) -> Topic | None:
        if node is None:
            loaded.gone.append(name)
            return None
        try:
            if not can_be_a_topic(name):
                reason = f"a topic's name has at most {LONGEST_NAME} characters, this one {len(name):,}"
                raise ZnodeError(TopicRegistration.path(name), "", reason)
            read = TopicRegistration.decode(node.data, TopicRegistration.path(name))
        except ZnodeError as error:
            self._report(error)
            loaded.unreadable.append(name)
            return None
        moving = read.adding_replicas.keys() | read.removing_replicas.keys()
        moves = {
            index: Move(read.adding_replicas.get(index, ()), read.removing_replicas.get(index, ()))
            for index in sorted(moving)
        }
        partitions = tuple(Partition(index, replicas) for index, replicas in sorted(read.partitions.items()))
        topic = Topic(name, read.topic_id, partitions, version=node.stat.version, unknown=read.unknown)
        return replace(topic, moves=MappingProxyType(moves)) if moves else topic

    def _configured(self, topic: Topic, node: Node | None) -> Topic:
        if node is None:
            return topic
        path = EntityConfig.path("topics", topic.name)
        try:
            read = EntityConfig.decode(node.data, path)
        except ZnodeError as error:
            self._report(error)
            return replace(topic, config_version=node.stat.version)
        return replace(topic, config=read.config, config_unknown=read.unknown, config_version=node.stat.version)

    async def _with_states(self, topic: Topic, nodes: Sequence[Node | None], paths: Sequence[str]) -> Topic:
        partitions = []
        complete = True
        for partition, node, path in zip(topic.partitions, nodes, paths, strict=True):
            if node is None:
                complete = False
                partitions.append(partition)
                continue
            try:
                state = PartitionState.decode(node.data, path)
            except ZnodeError as error:
                self._report(error)
                partitions.append(partition._replace(version=UNREADABLE))
            else:
                partitions.append(Partition(partition.id, partition.replicas, state, node.stat.version))
        if not complete:
            return await self._with_bare_nodes(topic, partitions)
        return replace(topic, partitions=tuple(partitions), has_partitions_node=bool(partitions))

    async def _with_bare_nodes(self, topic: Topic, partitions: list[Partition]) -> Topic:
        """Which nodes of partitions are there without a state below them."""
        try:
            there = await self._store.children(f"{TopicRegistration.path(topic.name)}/partitions")
        except NoNode:
            return replace(topic, partitions=tuple(partitions), has_partitions_node=False)
        bare = {int(name) for name in there if name.isascii() and name.isdigit()}
        return replace(
            topic,
            partitions=tuple(
                one._replace(version=NO_STATE) if one.version == NO_NODE and one.id in bare else one
                for one in partitions
            ),
            has_partitions_node=True,
        )


def _parts(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE))


async def subtree(store: Store, path: str) -> list[str]:
    """All nodes below a node, those above before those below them."""
    found: list[str] = []
    level: Iterable[str] = [path]
    while level:
        asked = [(above, store.children(above)) for above in level]
        next_level = []
        for above, pending in asked:
            try:
                names = await pending
            except NoNode:
                continue
            next_level += [f"{above}/{name}" for name in names]
        found += next_level
        level = next_level
    return found
