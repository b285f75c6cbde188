"""Znodes shared with a real Kafka 3.9.1: kwire reads what it wrote, and its controller executes what kwire writes."""

from __future__ import annotations

import asyncio
import socket
import uuid
from typing import TYPE_CHECKING

from kwire import frame
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire_cluster.zookeeper import (
    ActiveController,
    BrokerRegistration,
    ClusterId,
    ConfigChangeNotification,
    ControllerEpoch,
    Create,
    DeletionMarker,
    EntityConfig,
    ListedPartition,
    PartitionReassignment,
    PartitionState,
    PreferredReplicaElection,
    ReassignPartitions,
    RegisteredEndpoint,
    SetData,
    TopicRegistration,
    connect,
)
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire_cluster.zookeeper import Store
    from tests.real_kafka import Kafka39


def metadata(port: int) -> MetadataResponse:
    """Return the metadata of all topics from a broker."""
    request = frame.encode_request(MetadataRequest(topics=None), version=12, correlation_id=1)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request)
        splitter = frame.Splitter()
        while chunk := connection.recv(1 << 16):
            for payload in splitter.feed(chunk):
                return frame.decode_response(payload, MetadataResponse, version=12).message
    raise ConnectionError("the broker closed the connection")


def leaders(port: int, topic: str) -> dict[int, int]:
    """Return the leader of each partition that has one."""
    return {
        partition.partition_index: partition.leader_id
        for one in metadata(port).topics
        if one.name == topic
        for partition in one.partitions
        if partition.error_code == 0
    }


async def wait_until_deleted(store: Store, path: str) -> None:
    async with asyncio.timeout(60):
        changed = asyncio.Event()
        while await store.exists(path, lambda _: changed.set()) is not None:
            await changed.wait()
            changed.clear()


async def test_znodes_of_a_real_broker_are_decoded(kafka39: Kafka39) -> None:
    store = await connect(kafka39.zookeeper)
    [broker] = kafka39.brokers
    registration = BrokerRegistration.decode((await store.get("/brokers/ids/1")).data)
    assert registration.endpoints == (RegisteredEndpoint("PLAINTEXT", "127.0.0.1", broker.port),)
    assert (registration.version, registration.unknown, registration.rack) == (5, (), None)
    znode = await store.get(ActiveController.path())
    controller = ActiveController.decode(znode.data)
    assert (controller.broker_id, controller.is_migrating, controller.unknown) == (1, False, ())
    assert controller.encode() == znode.data
    assert ControllerEpoch.decode((await store.get(ControllerEpoch.path())).data).epoch >= 1
    response = await asyncio.to_thread(metadata, broker.port)
    assert ClusterId.decode((await store.get(ClusterId.path())).data).id == response.cluster_id
    await store.close()


async def test_real_controller_executes_written_znodes(kafka39: Kafka39) -> None:
    """Create, extend, reassign, and delete a topic, and elect its preferred leader, through znodes alone."""
    store = await connect(kafka39.zookeeper)
    port = kafka39.brokers[0].port
    name, topic_id = "created-by-znodes", uuid.uuid4()
    topic = TopicRegistration({0: (1,), 1: (1,)}, topic_id)

    await store.multi(
        [
            Create(EntityConfig.path("topics", name), EntityConfig({"retention.ms": "5000"}).encode()),
            Create(TopicRegistration.path(name), topic.encode()),
        ]
    )
    await eventually(lambda: leaders(port, name) == {0: 1, 1: 1})
    [listed] = [topic for topic in metadata(port).topics if topic.name == name]
    assert listed.topic_id == topic_id
    znode = await store.get(TopicRegistration.path(name))
    assert (TopicRegistration.decode(znode.data), znode.stat.version) == (
        topic,
        0,
    )  # unchanged
    state = PartitionState.decode((await store.get(PartitionState.path(name, 1))).data)
    assert (state.leader, state.isr, state.leader_epoch) == (1, (1,), 0)

    extended = TopicRegistration({0: (1,), 1: (1,), 2: (1,)}, topic_id)
    await store.set(TopicRegistration.path(name), extended.encode(), znode.stat.version)
    await eventually(lambda: leaders(port, name) == {0: 1, 1: 1, 2: 1})

    reassignment = ReassignPartitions((PartitionReassignment(name, 0, (1,)),))
    await store.create(ReassignPartitions.path(), reassignment.encode())
    await wait_until_deleted(store, ReassignPartitions.path())
    await store.create(PreferredReplicaElection.path(), PreferredReplicaElection((ListedPartition(name, 0),)).encode())
    await wait_until_deleted(store, PreferredReplicaElection.path())

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
    logged = f"entityPath: topics/{name} with config: HashMap(retention.ms -> 111000)"
    await eventually(lambda: logged in log.read_text(), logged)

    await store.create(DeletionMarker.path(name), DeletionMarker(name).encode())
    await wait_until_deleted(store, DeletionMarker.path(name))
    assert await store.exists(TopicRegistration.path(name)) is None
    assert leaders(port, name) == {}
    await store.close()
