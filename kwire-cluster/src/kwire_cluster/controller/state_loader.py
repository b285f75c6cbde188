"""Loading of the cluster state from ZooKeeper: the whole state for a new controller, single topics after a change.

Reads are pipelined: one part is decoded while the next is being read. The same reads set the watches. A znode that is
malformed or that this session must not read is reported and left out. A partition state affects only its partition, a
registration its topic.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kwire_cluster.controller.cluster_state import Broker
from kwire_cluster.controller.topic_names import MAX_NAME_LENGTH, is_possible_topic_name
from kwire_cluster.controller.topic_state import (
    MALFORMED,
    NO_STATE_ZNODE,
    NO_ZNODE,
    OngoingReassignment,
    Partition,
    Topic,
)
from kwire_cluster.zookeeper.brokers import BrokerRegistration
from kwire_cluster.zookeeper.configs import EntityConfig
from kwire_cluster.zookeeper.errors import NoNode, NotAuthorized, ZnodeError
from kwire_cluster.zookeeper.operations import Znode
from kwire_cluster.zookeeper.store import children_of
from kwire_cluster.zookeeper.topics import PartitionState, TopicRegistration

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kwire_cluster.zookeeper.store import ReadResult, Store, Watch

MAX_BROKER_ID = 2**31 - 1
CHUNK_SIZE = 500
"""Znodes read together; the next chunk is requested before this one is decoded."""

Decoded = TypeVar("Decoded")
Item = TypeVar("Item")


class LoadedTopics(NamedTuple):
    """The result of reading topics.

    Attributes:
        topics: the topics.
        malformed: names of topics with a registration that cannot be read or decoded.
        missing: names of topics that do not exist.
        unauthorized: names of topics with znodes that this session must not read. No watch reports when it may.
    """

    topics: list[Topic]
    malformed: list[str]
    missing: list[str]
    unauthorized: set[str]


class StateLoader:
    """Reads the cluster state.

    Args:
        store: the session to read with.
        watch: set on the znodes that are read.
        report: called with the error of every znode that is left out.
    """

    def __init__(self, store: Store, watch: Watch, report: Callable[[ZnodeError | NotAuthorized], None]) -> None:
        self._store = store
        self._watch = watch
        self._report = report

    async def children(self, path: str) -> list[str]:
        """Read the names of the children of a top-level znode. See `children_of`."""
        return await children_of(self._store, path, self._watch)

    def decoded(self, path: str, znode: ReadResult, decode: Callable[[bytes, str], Decoded]) -> Decoded | None:
        """Decode a znode. Return None if it does not exist, or cannot be used, which is reported."""
        try:
            if isinstance(znode, NotAuthorized):
                raise znode
            return None if znode is None else decode(znode.data, path)
        except (ZnodeError, NotAuthorized) as error:
            self._report(error)
            return None

    async def brokers(self) -> Mapping[int, Broker]:
        """Read the live brokers.

        Raises:
            NotAuthorized: this session cannot list them.
        """
        return await self.brokers_named(await self.children(BrokerRegistration.root))

    async def brokers_named(self, names: Iterable[str]) -> Mapping[int, Broker]:
        """Read the registrations of the brokers that are live among some."""
        names = list(names)
        paths = [f"{BrokerRegistration.root}/{name}" for name in names]
        brokers = {}
        for name, path, znode in zip(names, paths, await self._store.get_many(paths, self._watch), strict=True):
            is_valid = name.isascii() and name.isdigit() and int(name) <= MAX_BROKER_ID
            if not is_valid:
                self._report(ZnodeError(path, "", f"invalid broker id {name[:60]!r}"))
                continue
            registration = self.decoded(path, znode, BrokerRegistration.decode)
            if registration is not None and isinstance(znode, Znode):  # else it failed in the meantime
                brokers[int(name)] = Broker(int(name), registration, znode.stat.czxid)
        return MappingProxyType(brokers)

    async def list_topics(self) -> list[str]:
        """Read the names of all topics."""
        return await self.children(TopicRegistration.root)

    async def topics(self, names: Sequence[str]) -> LoadedTopics:
        """Read topics with their configs and partition states."""
        loaded = LoadedTopics([], [], [], set())
        registrations = self._read([TopicRegistration.path(name) for name in names], self._watch)
        configs = self._read([EntityConfig.path("topics", name) for name in names])
        without_states: list[tuple[Topic, asyncio.Future[list[ReadResult]], list[str]]] = []
        for chunk, registered, configured in zip(_chunks(names), registrations, configs, strict=True):
            for name, znode, config in zip(chunk, await registered, await configured, strict=True):
                topic = self._decode_registration(name, znode, loaded)
                if topic is None:
                    continue
                topic = self._add_config(topic, config, loaded)
                paths = [PartitionState.path(name, partition.id) for partition in topic.partitions]
                without_states.append((topic, self._store.get_many(paths), paths))
        for topic, states, paths in without_states:
            loaded.topics.append(await self._add_states(topic, await states, paths, loaded))
        return loaded

    def _read(self, paths: list[str], watch: Watch | None = None) -> list[asyncio.Future[list[ReadResult]]]:
        return [self._store.get_many(chunk, watch) for chunk in _chunks(paths)]

    def _decode_registration(self, name: str, znode: ReadResult, loaded: LoadedTopics) -> Topic | None:
        if znode is None:
            loaded.missing.append(name)
            return None
        if isinstance(znode, NotAuthorized):
            self._report(znode)
            loaded.malformed.append(name)
            loaded.unauthorized.add(name)
            return None
        path = TopicRegistration.path(name)
        try:
            if not is_possible_topic_name(name):
                reason = f"the topic name has {len(name):,} characters: at most {MAX_NAME_LENGTH} are allowed"
                raise ZnodeError(path, "", reason)
            registration = TopicRegistration.decode(znode.data, path)
        except ZnodeError as error:
            self._report(error)
            loaded.malformed.append(name)
            return None
        reassigned = registration.adding_replicas.keys() | registration.removing_replicas.keys()
        reassignments = {
            index: OngoingReassignment(
                registration.adding_replicas.get(index, ()), registration.removing_replicas.get(index, ())
            )
            for index in sorted(reassigned)
        }
        partitions = tuple(Partition(index, replicas) for index, replicas in sorted(registration.partitions.items()))
        topic = Topic(name, registration.topic_id, partitions, version=znode.stat.version, unknown=registration.unknown)
        return replace(topic, reassignments=MappingProxyType(reassignments)) if reassignments else topic

    def _add_config(self, topic: Topic, znode: ReadResult, loaded: LoadedTopics) -> Topic:
        if znode is None:
            return topic
        if isinstance(znode, NotAuthorized):
            self._report(znode)
            loaded.unauthorized.add(topic.name)
            return replace(topic, config_version=MALFORMED)
        path = EntityConfig.path("topics", topic.name)
        version = znode.stat.version
        try:
            entity = EntityConfig.decode(znode.data, path)
        except ZnodeError as error:
            self._report(error)
            return replace(topic, config_version=version)
        return replace(topic, config=entity.config, config_unknown=entity.unknown, config_version=version)

    async def _add_states(
        self, topic: Topic, znodes: Sequence[ReadResult], paths: Sequence[str], loaded: LoadedTopics
    ) -> Topic:
        pairs = zip(topic.partitions, znodes, paths, strict=True)
        partitions = [self._add_state(partition, znode, path) for partition, znode, path in pairs]
        unreadable = [place for place, partition in enumerate(partitions) if partition.version == MALFORMED]
        # Read these again with watches, which report a repair.
        again = await self._store.get_many([paths[place] for place in unreadable], self._watch)
        for place, znode in zip(unreadable, again, strict=True):
            partitions[place] = self._add_state(topic.partitions[place], znode, paths[place])
            if isinstance(znode, NotAuthorized):
                loaded.unauthorized.add(topic.name)
        if any(partition.version == NO_ZNODE for partition in partitions):
            return await self._add_missing_states(topic, partitions, loaded)
        return replace(topic, partitions=tuple(partitions), has_partitions_znode=bool(partitions))

    def _add_state(self, partition: Partition, znode: ReadResult, path: str) -> Partition:
        if znode is None:
            return partition
        state = self.decoded(path, znode, PartitionState.decode)
        if state is None or not isinstance(znode, Znode):
            return partition._replace(version=MALFORMED)
        return Partition(partition.id, partition.replicas, state, znode.stat.version)

    async def _add_missing_states(self, topic: Topic, partitions: list[Partition], loaded: LoadedTopics) -> Topic:
        """Tell partitions without any znode apart from partitions with a parent znode but no state."""
        try:
            names = await self._store.children(f"{TopicRegistration.path(topic.name)}/partitions")
        except NoNode:
            return replace(topic, partitions=tuple(partitions), has_partitions_znode=False)
        except NotAuthorized as error:
            self._report(error)
            loaded.unauthorized.add(topic.name)
            unusable = (one if one.version >= 0 else one._replace(version=MALFORMED) for one in partitions)
            return replace(topic, partitions=tuple(unusable), has_partitions_znode=True)
        existing = {int(name) for name in names if name.isascii() and name.isdigit()}
        return replace(
            topic,
            partitions=tuple(
                partition._replace(version=NO_STATE_ZNODE)
                if partition.version == NO_ZNODE and partition.id in existing
                else partition
                for partition in partitions
            ),
            has_partitions_znode=True,
        )


def _chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + CHUNK_SIZE] for start in range(0, len(items), CHUNK_SIZE))


async def list_descendants(store: Store, path: str) -> list[str]:
    """Return the paths of all znodes below a znode, parents before their children."""
    descendants: list[str] = []
    level: Iterable[str] = [path]
    while level:
        pending = [(parent, store.children(parent)) for parent in level]
        next_level = []
        for parent, children in pending:
            try:
                names = await children
            except NoNode:
                continue
            next_level += [f"{parent}/{name}" for name in names]
        descendants += next_level
        level = next_level
    return descendants
