"""A cluster for tests: ZooKeeper in memory, brokers, and controllers on some of them.

A broker is a session with a registration and a metadata cache. `MemoryZooKeeper.inject_fault` makes its session fail.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from kwire.messages.kafka.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from kwire.messages.kip4.create_topic_v2 import TopicCreation
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.structures import ConfigEntry, PartitionReplicas, TopicReassignment
from kwire_cluster.config.live_config import LiveConfig
from kwire_cluster.config.node_settings import NodeSettings
from kwire_cluster.controller.controller import Controller
from kwire_cluster.controller.errors import NotController
from kwire_cluster.controller.feature_commands import NO_FEATURES
from kwire_cluster.node.metadata.metadata_cache import MetadataCache
from kwire_cluster.zookeeper.brokers import BrokerRegistration, RegisteredEndpoint, SupportedVersionRange
from kwire_cluster.zookeeper.store import make_path
from kwire_cluster.zookeeper.topics import PartitionState, TopicRegistration
from tests.cluster.memory_store import MemoryZooKeeper
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Iterable, Mapping

    from kwire_cluster.controller.backend import Outcome
    from kwire_cluster.zookeeper.features import VersionedFeatures
    from tests.cluster.memory_store import MemoryStore

SETTINGS = NodeSettings(retry_backoff_ms=1, retry_backoff_max_ms=10, send_timeout_ms=1000)


@dataclass
class LiveBroker:
    """A broker: its session, its controller if any, and the metadata it received."""

    id: int
    store: MemoryStore
    controller: Controller | None = None
    metadata: MetadataCache = field(default_factory=MetadataCache)
    messages: list[UpdateMetadataRequest] = field(default_factory=list)


class Cluster:
    """Brokers with one `MemoryZooKeeper`."""

    def __init__(self, settings: NodeSettings = SETTINGS) -> None:
        self.memory = MemoryZooKeeper()
        self.settings = settings
        self.brokers: dict[int, LiveBroker] = {}
        self.unreachable: set[int] = set()
        self.blocked: set[int] = set()
        """Brokers that process no metadata until `unblocked` is set."""
        self.unblocked = asyncio.Event()
        self.tool: MemoryStore = self.memory.session()

    async def send(self, broker_id: int, message: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Deliver UpdateMetadata to a broker."""
        if broker_id in self.blocked:
            await self.unblocked.wait()
        broker = self.brokers.get(broker_id)
        if broker is None or broker_id in self.unreachable:
            raise ConnectionRefusedError(broker_id)
        broker.messages.append(message)
        return UpdateMetadataResponse(error_code=broker.metadata.update(message))

    async def start(
        self,
        broker_id: int,
        *,
        rack: str | None = None,
        features: Mapping[str, SupportedVersionRange] | None = None,
        settings: NodeSettings | None = None,
        known_features: VersionedFeatures = NO_FEATURES,
        runs_controller: bool = True,
    ) -> LiveBroker:
        """Start a broker: register it and start its controller."""
        store = self.memory.session()
        broker = self.brokers[broker_id] = LiveBroker(broker_id, store)
        await self.register(broker_id, rack=rack, features=features)
        if runs_controller:
            broker.controller = Controller(
                store,
                broker_id,
                self.send,
                LiveConfig(settings or self.settings),
                random.Random(broker_id),
                broker.metadata.topic_id,
                lambda: known_features,
            )
            await broker.controller.start()
        return broker

    async def register(
        self, broker_id: int, *, rack: str | None = None, features: Mapping[str, SupportedVersionRange] | None = None
    ) -> None:
        """Create the registration of a broker in its session."""
        store = self.brokers[broker_id].store
        await make_path(store, BrokerRegistration.root)
        endpoint = RegisteredEndpoint("PLAINTEXT", f"h{broker_id}", 9092)
        registration = BrokerRegistration((endpoint,), rack=rack, features=features or {})
        await store.create(BrokerRegistration.path(broker_id), registration.encode(), ephemeral=True)

    async def kill(self, broker_id: int) -> None:
        """Expire the session of a broker, as after kill -9."""
        broker = self.brokers.pop(broker_id)
        self.memory.expire(broker.store.session_id)
        if broker.controller is not None:
            await broker.controller.stop()

    async def stop(self) -> None:
        """Stop all brokers."""
        self.memory.inject_fault = None
        if not self.memory.running:
            self.memory.start()
        for broker in self.brokers.values():
            if broker.controller is not None:
                await broker.controller.stop()
            await broker.store.close()
        await self.tool.close()

    @property
    def active(self) -> Controller:
        """The active controller."""
        (active,) = [one.controller for one in self.brokers.values() if one.controller and one.controller.cluster]
        return active

    async def wait_elected(self) -> Controller:
        """Wait for a controller that has loaded the cluster state."""

        def is_elected() -> bool:
            return sum(bool(one.controller and one.controller.cluster) for one in self.brokers.values()) == 1

        await eventually(is_elected)
        return self.active

    async def wait_idle(self) -> Controller:
        """Wait until the controller has nothing to do and all brokers have the current metadata."""
        while True:
            controller = await self.wait_elected()
            try:
                await controller.drain()
            except NotController:  # another controller is being elected
                continue
            if not self.unreachable:
                await eventually(partial(has_sent_updates, controller))
            if self.unreachable or not self._is_idle(controller):
                await asyncio.sleep(0)
            else:
                return controller

    def _is_idle(self, controller: Controller) -> bool:
        has_work = controller.queue_size or any(controller.pending_updates.values())
        return controller.is_active and not has_work and not self.memory.has_pending_deliveries

    # Data in ZooKeeper

    def exists(self, path: str) -> bool:
        return self.memory.tree.exists(path)

    def registration(self, topic: str) -> TopicRegistration:
        return TopicRegistration.decode(self.memory.tree.get(TopicRegistration.path(topic)).data)

    def state(self, topic: str, partition: int) -> PartitionState:
        return PartitionState.decode(self.memory.tree.get(PartitionState.path(topic, partition)).data)

    def topics(self) -> list[str]:
        return sorted(self.memory.tree.get(TopicRegistration.root).children)

    def write(self, path: str, data: bytes) -> None:
        """Create or overwrite a znode, as a tool does."""
        if self.exists(path):
            self.tool.set(path, data)
        else:
            self.tool.create(path, data)

    def check_agreement(self) -> None:
        """Check that the state of the controller and the metadata of every broker match ZooKeeper."""
        cluster = self.active.cluster
        assert cluster is not None
        assert sorted(topic.name for topic in cluster.topics) == self.topics()
        for topic in cluster.topics:
            registration = self.registration(topic.name)
            assert topic.topic_id == registration.topic_id
            assert {one.id: one.replicas for one in topic.partitions} == dict(registration.partitions)
            assert topic.version == self.memory.tree.get(TopicRegistration.path(topic.name)).version
            for partition in topic.partitions:
                path = PartitionState.path(topic.name, partition.id)
                assert self.exists(path) == (partition.version >= 0)
                if partition.version >= 0:
                    assert partition.state == self.state(topic.name, partition.id)
                    assert partition.version == self.memory.tree.get(path).version
        for broker in self.brokers.values():
            assert sorted(broker.metadata.brokers) == sorted(cluster.brokers)
            cached = {
                (name, index): (state.leader, tuple(state.isr), tuple(state.replicas))
                for name, topic in broker.metadata.topics.items()
                for index, state in topic.partitions.items()
            }
            known = {
                (topic.name, one.id): (one.leader, one.isr, one.replicas)
                for topic in cluster.topics
                for one in topic.partitions
            }
            assert cached == known, f"broker {broker.id}"


def has_sent_updates(controller: Controller) -> bool:
    """Return whether all brokers have the metadata of a controller, or it is not active any more."""
    return not any(controller.pending_updates.values()) or not controller.is_active


@asynccontextmanager
async def cluster_of(
    *broker_ids: int, controllers: Iterable[int] | None = None, settings: NodeSettings = SETTINGS
) -> AsyncGenerator[Cluster]:
    """Start brokers, with a controller on the first one or on those in `controllers`."""
    cluster = Cluster(settings)
    try:
        for broker_id in broker_ids:
            chosen = broker_ids[:1] if controllers is None else controllers
            await cluster.start(broker_id, runs_controller=broker_id in chosen)
        await cluster.wait_elected()
        await cluster.wait_idle()
        yield cluster
    finally:
        await cluster.stop()


def creation(name: str, *replicas: tuple[int, ...], **config: str) -> TopicCreation:
    """Return a creation with this assignment. Underscores in config names stand for dots."""
    return TopicCreation(
        topic_name=name,
        replica_assignment=assignment(*replicas),
        config_entries=tuple(
            ConfigEntry(config_key=key.replace("_", "."), config_value=value) for key, value in config.items()
        ),
    )


def assignment(*replicas: tuple[int, ...], first: int = 0) -> tuple[PartitionReplicas, ...]:
    """Return the replicas of consecutive partitions."""
    return tuple(PartitionReplicas(partition_id=index, replica_ids=ids) for index, ids in enumerate(replicas, first))


def reassignment(topic: str, **partitions: tuple[int, ...]) -> TopicReassignment:
    """Return a reassignment such as `reassignment("a", p0=(1, 2))`."""
    replicas = {int(name[1:]): ids for name, ids in partitions.items()}
    listed = tuple(PartitionReplicas(partition_id=index, replica_ids=ids) for index, ids in replicas.items())
    return TopicReassignment(topic=topic, partitions=listed)


async def codes(outcomes: Awaitable[list[Outcome]]) -> dict[str, int]:
    """Return the error code of each topic."""
    return {one.topic: one.error.code if one.error else ErrorCode.NO_ERROR for one in await outcomes}
