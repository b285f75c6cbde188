"""A node applies UpdateMetadata requests with the configs of new topics, from a ZooKeeper server that may lag."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from kwire.messages.kafka.update_metadata import UpdateMetadataRequest, UpdateMetadataTopicState
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.structures import ConfigEntry
from kwire_cluster.config.live_config import LiveConfig
from kwire_cluster.config.node_settings import NodeSettings
from kwire_cluster.node.metadata.metadata_cache import MetadataCache
from kwire_cluster.node.metadata.metadata_updates import MetadataUpdates
from kwire_cluster.node.settings.config_watcher import ConfigWatcher
from kwire_cluster.zookeeper import ActiveController, ConfigChangeNotification, ControllerEpoch, EntityConfig
from kwire_cluster.zookeeper.store import make_path
from tests.cluster.memory_store import MemoryStore, MemoryZooKeeper
from tests.eventually import eventually

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Iterable

    from kwire_cluster.zookeeper.store import ReadResult, Watch


class LaggingStore(MemoryStore):
    """A session with a server that has not received the latest writes, until `sync`."""

    lagging = False

    def sync(self, path: str = "/") -> asyncio.Future[None]:
        self.lagging = False
        return super().sync(path)

    def get_many(self, paths: Iterable[str], watch: Watch | None = None) -> asyncio.Future[list[ReadResult]]:
        paths = [f"{path}-not-received" for path in paths] if self.lagging else paths
        return super().get_many(paths, watch)

    def children(self, path: str, watch: Watch | None = None) -> asyncio.Future[list[str]]:
        return super().children("/" if self.lagging else path, watch)


class Replica:
    """The part of a node that applies updates."""

    def __init__(self, zookeeper: MemoryZooKeeper) -> None:
        session = zookeeper.session()
        self.writer = zookeeper.session()
        self.store = LaggingStore(zookeeper, session.session_id, ())
        self.metadata = MetadataCache()
        config: Any = LiveConfig(NodeSettings(id=1, zookeeper="unused"))
        self.configs = ConfigWatcher(self.store, self.metadata, config)
        self.updates = MetadataUpdates(self.metadata)
        ended: Any = SimpleNamespace(store=self.store, configs=self.configs, broker_epoch=5, has_ended=False)
        self.updates.begin_session(ended)

    async def apply(self, *topics: str, broker_epoch: int = -1) -> int:
        states = tuple(
            UpdateMetadataTopicState(topic_name=name, topic_id=UUID(int=7), partition_states=()) for name in topics
        )
        request = UpdateMetadataRequest(
            controller_id=1, controller_epoch=1, broker_epoch=broker_epoch, type=2, topic_states=states, live_brokers=()
        )
        return (await self.updates.apply(request)).error_code

    async def write_config(self, topic: str, retention: str) -> None:
        config = EntityConfig({"retention.ms": retention})
        await self.writer.create(EntityConfig.path("topics", topic), config.encode())


@pytest.fixture
async def replica() -> AsyncIterator[Replica]:
    replica = Replica(MemoryZooKeeper())
    for path in ("/config/topics", ConfigChangeNotification.root):
        await make_path(replica.writer, path)
    await replica.writer.create(ActiveController.path(), ActiveController(1, 0).encode())
    await replica.writer.create(ControllerEpoch.path(), ControllerEpoch(1).encode())
    await replica.configs.start()
    assert await replica.apply() == ErrorCode.NO_ERROR
    yield replica
    await replica.configs.stop()


@pytest.mark.parametrize("count", [1, 9])
async def test_configs_of_new_topics_are_read_from_a_server_that_has_caught_up(count: int, replica: Replica) -> None:
    """The controller reads from another server, and creating a topic writes no notification of its configs."""
    names = [f"topic-{number}" for number in range(count)]
    for name in names:
        await replica.write_config(name, "5000")
    replica.store.lagging = True
    assert await replica.apply(*names) == ErrorCode.NO_ERROR
    for name in names:
        assert replica.metadata.configs[name] == (ConfigEntry(config_key="retention.ms", config_value="5000"),)


async def test_update_with_new_topics_does_not_wait_for_a_connection(replica: Replica) -> None:
    replica.store.disconnect()
    await eventually(lambda: replica.store.state == "suspended")
    assert await replica.apply("topic") == ErrorCode.REQUEST_TIMED_OUT
