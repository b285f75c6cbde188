"""Znodes between us and a real Kafka 3.9.1: what it wrote we read, and what we write it obeys."""

from __future__ import annotations

import asyncio
import socket
import uuid
from typing import TYPE_CHECKING

from kwire import frame
from kwire.cluster.zookeeper import (
    ActiveController,
    BrokerEndpoint,
    BrokerRegistration,
    ClusterId,
    ConfigChangeNotification,
    ControllerEpoch,
    Create,
    DeletionMarker,
    EntityConfig,
    PartitionReassignment,
    PartitionState,
    PreferredReplicaElection,
    ReassignPartitions,
    SetData,
    TopicPartition,
    TopicRegistration,
    connect,
)
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.cluster.zookeeper import Store
    from kwire.testing.kafka import Kafka39


def metadata(port: int) -> MetadataResponse:
    """All topics, as the broker tells them."""
    request = frame.encode_request(MetadataRequest(topics=None), version=12, correlation_id=1)
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(request)
        splitter = frame.Splitter()
        while chunk := connection.recv(1 << 16):
            for payload in splitter.feed(chunk):
                return frame.decode_response(payload, MetadataResponse, version=12).message
    raise ConnectionError("the broker closed the connection")


async def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not await asyncio.to_thread(condition):  # noqa: ASYNC110 - a broker calls nobody back
            await asyncio.sleep(0.02)


def partitions(port: int, topic: str) -> dict[int, int]:
    """The leader of each partition that has one."""
    return {
        partition.partition_index: partition.leader_id
        for one in metadata(port).topics
        if one.name == topic
        for partition in one.partitions
        if partition.error_code == 0
    }


async def until_gone(store: Store, path: str) -> None:
    async with asyncio.timeout(20):
        changed = asyncio.Event()
        while await store.exists(path, lambda _: changed.set()) is not None:
            await changed.wait()
            changed.clear()


def test_we_read_what_a_real_broker_wrote(kafka39: Kafka39) -> None:
    async def scene() -> None:
        store = await connect(kafka39.zookeeper)
        [broker] = kafka39.brokers
        registration = BrokerRegistration.decode((await store.get("/brokers/ids/1")).data)
        assert registration.endpoints == (BrokerEndpoint("PLAINTEXT", "127.0.0.1", broker.port),)
        assert (registration.version, registration.unknown, registration.rack) == (5, (), None)
        node = await store.get(ActiveController.path())
        controller = ActiveController.decode(node.data)
        assert (controller.broker_id, controller.is_migrating, controller.unknown) == (1, False, ())
        assert controller.encode() == node.data
        assert ControllerEpoch.decode((await store.get(ControllerEpoch.path())).data).epoch >= 1
        told = await asyncio.to_thread(metadata, broker.port)
        assert ClusterId.decode((await store.get(ClusterId.path())).data).id == told.cluster_id
        await store.close()

    asyncio.run(scene())


def test_a_real_controller_obeys_what_we_write(kafka39: Kafka39) -> None:
    """A topic's life by znodes alone: made, grown, reassigned, led by the preferred, deleted."""

    async def scene() -> None:
        store = await connect(kafka39.zookeeper)
        port = kafka39.brokers[0].port
        name, topic_id = "made-of-znodes", uuid.uuid4()
        topic = TopicRegistration({0: (1,), 1: (1,)}, topic_id)

        await store.multi(
            [
                Create(EntityConfig.path("topics", name), EntityConfig({"retention.ms": "5000"}).encode()),
                Create(TopicRegistration.path(name), topic.encode()),
            ]
        )
        await until(lambda: partitions(port, name) == {0: 1, 1: 1})
        [told] = [one for one in metadata(port).topics if one.name == name]
        assert told.topic_id == topic_id
        node = await store.get(TopicRegistration.path(name))
        assert (TopicRegistration.decode(node.data), node.stat.version) == (topic, 0)  # it had nothing to mend
        state = PartitionState.decode((await store.get(PartitionState.path(name, 1))).data)
        assert (state.leader, state.isr, state.leader_epoch) == (1, (1,), 0)

        grown = TopicRegistration({0: (1,), 1: (1,), 2: (1,)}, topic_id)
        await store.set(TopicRegistration.path(name), grown.encode(), node.stat.version)
        await until(lambda: partitions(port, name) == {0: 1, 1: 1, 2: 1})

        reassignment = ReassignPartitions((PartitionReassignment(name, 0, (1,)),))
        await store.create(ReassignPartitions.path(), reassignment.encode())
        await until_gone(store, ReassignPartitions.path())
        await store.create(
            PreferredReplicaElection.path(), PreferredReplicaElection((TopicPartition(name, 0),)).encode()
        )
        await until_gone(store, PreferredReplicaElection.path())

        await store.multi(
            [
                SetData(EntityConfig.path("topics", name), EntityConfig({"retention.ms": "111000"}).encode()),
                Create(
                    ConfigChangeNotification.path(),
                    ConfigChangeNotification(f"topics/{name}").encode(),
                    sequential=True,
                ),
            ]
        )
        log = kafka39.folder / "broker-1" / "log"
        await until(
            lambda: f"entityPath: topics/{name} with config: HashMap(retention.ms -> 111000)" in log.read_text()
        )

        await store.create(DeletionMarker.path(name), DeletionMarker(name).encode())
        await until_gone(store, DeletionMarker.path(name))
        assert await store.exists(TopicRegistration.path(name)) is None
        assert partitions(port, name) == {}
        await store.close()

    asyncio.run(scene())
