"""What the controller costs beside bare kazoo: creating topics, taking over from another one; and its memory.

    python -m benches.controller [--quick]

Rules of this file: bare kazoo is used at its fastest, pipelined, and writes or reads the very same znodes on the same
server. Both sides take turns. Creating ends when three brokers have been told of leaders (by a call: what the wire adds
is measured with the nodes); taking over begins once the session of the one before is gone. What counts is wall time;
ratios are medians over turns.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import tracemalloc
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient

from benches.bare_kazoo import make_room, write_in_transactions
from benches.figure import Figure
from benches.zookeeper import taking_turns
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
from kwire.cluster.zookeeper.brokers import BrokerEndpoint
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
    """Creating, taking over, memory."""
    turns = 3 if quick else 7
    with EmbeddedZooKeeper(heap="512m") as server:
        bare = KazooClient(server.hosts)
        bare.start()
        try:
            return asyncio.run(over(server.hosts, bare, turns))
        finally:
            bare.stop()
            bare.close()


async def over(hosts: str, bare: Any, turns: int) -> list[Figure]:
    """All of it, on one server."""
    store = await connect(hosts)
    try:
        await make_path(store, BrokerRegistration.root)
        for broker in BROKERS:
            registration = BrokerRegistration((BrokerEndpoint("PLAINTEXT", "127.0.0.1", 9092 + broker),))
            await store.create(BrokerRegistration.path(broker), registration.encode(), ephemeral=True)
        return [await creating(store, bare, turns), await taking_over(store, bare, turns), await memory(store)]
    finally:
        await store.close()


async def told(broker_id: int, message: UpdateMetadataRequest) -> UpdateMetadataResponse:
    """A broker that takes what it is told."""
    del broker_id, message
    return UpdateMetadataResponse(error_code=0)


async def creating(store: Store, bare: Any, turns: int) -> Figure:
    """500 topics of 20 partitions, in batches of 250 one after another, until every broker knows their leaders."""
    controller = Controller(store, BROKERS[0], told)
    await controller.start()
    await controller.wait_active()
    make_room(bare)
    prefix = ""

    def prepare(turn: int) -> None:
        nonlocal prefix
        prefix = f"t{turn}"

    async def ours() -> None:
        batches = []
        for start in range(0, TOPICS, BATCH):
            batch = [
                TopicCreation(topic_name=f"{prefix}-{number}", partitions=PARTITIONS, replication_factor=3)
                for number in range(start, start + BATCH)
            ]
            batches.append(asyncio.ensure_future(controller.create_topics(batch)))
        for outcomes in batches:
            assert all(outcome.error is None for outcome in await outcomes)
        while any(controller.pending_updates.values()):  # noqa: ASYNC110 - told by three tasks, in a few turns of the loop
            await asyncio.sleep(0)

    def bare_kazoo() -> None:
        write_in_transactions(bare, [f"{prefix}-{number}" for number in range(TOPICS)], PARTITIONS)

    ratio, detail = await taking_turns(ours, bare_kazoo, turns, prepare)
    for name in (await controller.list_topics()).alive[TOPICS:]:
        await controller.delete_topics([name])
    await controller.drain()
    await controller.drain()
    await controller.stop()
    name = f"controller: {TOPICS} topics of {PARTITIONS} partitions created, time beside bare kazoo"
    return Figure(name, ratio, "x", 1.5, 1.15, False, detail)


async def taking_over(store: Store, bare: Any, turns: int) -> Figure:
    """From the beginning of the election until a new controller knows 10,000 partitions and has settled them."""
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

    async def ours() -> None:
        controller = Controller(store, BROKERS[len(controllers) % 3], told)
        controllers.append(controller)
        await controller.start()
        await controller.wait_active()

    async def ours_alone() -> None:
        if controllers:
            await controllers[-1].stop()
        await ours()

    def bare_kazoo() -> None:
        bare.get_children(TopicRegistration.root)
        for one in [bare.get_async(path) for path in paths]:
            assert one.get()

    ratio, detail = await taking_turns(ours_alone, bare_kazoo, turns, lambda _: None)
    await controllers[-1].stop()
    name = f"controller: taking over {TOPICS * PARTITIONS:,} partitions, time beside bare kazoo reading them"
    return Figure(name, ratio, "x", 1.5, 1.15, False, detail)


async def memory(store: Store) -> Figure:
    """The state as it is read from ZooKeeper, everything it holds counted."""
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


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    for figure in run(parser.parse_args().quick):
        print(figure)


if __name__ == "__main__":
    main()
