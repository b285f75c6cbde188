"""Benchmark of the controller against bare kazoo: topic creation, failover, and memory.

    python -m benches.controller [--quick]

kazoo is used in its fastest way: pipelined, on the same znodes of the same server. Both sides take turns. A creation
ends when three brokers have received the leaders, by a function call; `benches.node` includes the network. A failover
starts after the session of the previous controller has ended. The measure is wall time, as the median over all turns.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient

from benches.bare_kazoo import create_parents, write_in_transactions
from benches.figure import Figure
from benches.program import print_figures
from benches.zookeeper import compare
from kwire.cluster.controller.controller import Controller
from kwire.cluster.controller.state_loader import StateLoader
from kwire.cluster.controller.topic_map import TopicMap
from kwire.cluster.zookeeper import (
    BrokerRegistration,
    EmbeddedZooKeeper,
    EntityConfig,
    PartitionState,
    TopicRegistration,
    connect,
)
from kwire.cluster.zookeeper.brokers import RegisteredEndpoint
from kwire.cluster.zookeeper.store import make_path
from kwire.messages.kafka.update_metadata import UpdateMetadataResponse
from kwire.messages.kip4.create_topic_v2 import TopicCreation

if TYPE_CHECKING:
    from kwire.cluster.zookeeper import Store
    from kwire.messages.kafka.update_metadata import UpdateMetadataRequest

TOPICS = 500
PARTITIONS = 20
BATCH = 250
BROKERS = (1, 2, 3)


def run(quick: bool) -> list[Figure]:
    """Measure creation, failover, and memory."""
    turns = 3 if quick else 7
    with EmbeddedZooKeeper() as server:
        bare = KazooClient(server.hosts)
        bare.start()
        try:
            return asyncio.run(measure_all(server.hosts, bare, turns))
        finally:
            bare.stop()
            bare.close()


async def measure_all(hosts: str, bare: Any, turns: int) -> list[Figure]:
    """Run all measurements on one server."""
    store = await connect(hosts)
    try:
        await make_path(store, BrokerRegistration.root)
        for broker in BROKERS:
            registration = BrokerRegistration((RegisteredEndpoint("PLAINTEXT", "127.0.0.1", 9092 + broker),))
            await store.create(BrokerRegistration.path(broker), registration.encode(), ephemeral=True)
        return [
            await measure_creation(store, bare, turns),
            await measure_failover(store, bare, turns),
            await measure_memory(store),
        ]
    finally:
        await store.close()


async def accept_metadata(broker_id: int, message: UpdateMetadataRequest) -> UpdateMetadataResponse:
    """Accept the metadata, as a broker does."""
    del broker_id, message
    return UpdateMetadataResponse(error_code=0)


async def measure_creation(store: Store, bare: Any, turns: int) -> Figure:
    """Create 500 topics of 20 partitions in batches of 250, until every broker has received their leaders."""
    controller = Controller(store, BROKERS[0], accept_metadata)
    await controller.start()
    await controller.wait_active()
    create_parents(bare)
    prefix = ""

    def prepare(turn: int) -> None:
        nonlocal prefix
        prefix = f"t{turn}"

    async def create_topics() -> None:
        batches = []
        for start in range(0, TOPICS, BATCH):
            batch = [
                TopicCreation(topic_name=f"{prefix}-{number}", partitions=PARTITIONS, replication_factor=3)
                for number in range(start, start + BATCH)
            ]
            batches.append(asyncio.ensure_future(controller.create_topics(batch)))
        for outcomes in batches:
            assert all(outcome.error is None for outcome in await outcomes)
        while any(controller.pending_updates.values()):
            await asyncio.sleep(0)

    def bare_kazoo() -> None:
        write_in_transactions(bare, [f"{prefix}-{number}" for number in range(TOPICS)], PARTITIONS)

    ratio, detail = await compare(create_topics, bare_kazoo, turns, prepare)
    for name in (await controller.list_topics()).alive[TOPICS:]:
        await controller.delete_topics([name])
    await controller.drain()
    await controller.drain()
    await controller.stop()
    name = f"controller: {TOPICS} topics of {PARTITIONS} partitions created, time beside bare kazoo"
    return Figure(name, ratio, "x", 1.5, 1.15, False, detail)


async def measure_failover(store: Store, bare: Any, turns: int) -> Figure:
    """Elect a controller and wait until it has loaded 10,000 partitions and elected their leaders."""
    names = await store.children(TopicRegistration.root)
    assert len(names) == TOPICS
    paths = [
        path
        for name in names
        for path in (
            TopicRegistration.path(name),
            EntityConfig.path("topics", name),
            *(PartitionState.path(name, partition) for partition in range(PARTITIONS)),
        )
    ]
    controllers: list[Controller] = []

    async def start() -> None:
        controller = Controller(store, BROKERS[len(controllers) % 3], accept_metadata)
        controllers.append(controller)
        await controller.start()
        await controller.wait_active()

    async def stop_and_start() -> None:
        if controllers:
            await controllers[-1].stop()
        await start()

    def bare_kazoo() -> None:
        bare.get_children(TopicRegistration.root)
        for one in [bare.get_async(path) for path in paths]:
            assert one.get()

    ratio, detail = await compare(stop_and_start, bare_kazoo, turns, lambda _: None)
    await controllers[-1].stop()
    name = f"controller: taking over {TOPICS * PARTITIONS:,} partitions, time beside bare kazoo reading them"
    return Figure(name, ratio, "x", 1.5, 1.15, False, detail)


async def measure_memory(store: Store) -> Figure:
    """Measure the memory of the cluster state as loaded from ZooKeeper, including all objects it refers to."""
    names = await store.children(TopicRegistration.root)
    loader = StateLoader(store, lambda _: None, lambda _: None)
    await loader.topics(names[:5])
    gc.collect()
    tracemalloc.start()
    state = TopicMap().updated((await loader.topics(names)).topics)
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    each = size / state.partition_count
    detail = f"{len(names)} topics, {state.partition_count:,} partitions"
    return Figure("controller: memory of the state", each, " bytes a partition", 400, 250, False, detail)


if __name__ == "__main__":
    print_figures(run, "controller", "Measure the controller.", "measure fewer turns")
